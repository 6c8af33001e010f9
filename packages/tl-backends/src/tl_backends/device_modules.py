"""The module of each kind of device, by the name of the kind."""

from importlib import import_module
from types import ModuleType
from typing import Any

import tl_core

_MODULES = ("cpu", "cuda", "mps", "mtia", "xpu")
_registered: dict[str, ModuleType] = {}


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a kind of device, such as `cuda`.

    Args:
        device: a `device` or its name, with or without an index; None for the accelerator, or the CPU if there is none.

    Raises:
        RuntimeError: the argument is no device, or its kind has no module.

    Example:
        >>> get_device_module("cuda:1").__name__
        'tl_backends.cuda'
    """
    if not isinstance(device, tl_core.device | str | None):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    name = "cpu" if device is None else str(device)
    kind = name.partition(":")[0]
    if kind in _registered:
        return _registered[kind]
    if kind not in _MODULES:
        kinds = ", ".join([*_MODULES, *_registered])
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module; those that have one are {kinds}"
        )
    return import_module(f"tl_backends.{kind}")


def register_device_module(device_type: str, module: ModuleType) -> str:
    """Registers the module of a kind of device from a plug-in.

    Args:
        device_type: the kind, with or without an index.
        module: the result of `get_device_module` for this kind.

    Returns:
        The kind.

    Raises:
        RuntimeError: the kind of device is unknown, or has a module already.
    """
    kind: str = tl_core.device(device_type).type
    if kind in _MODULES or kind in _registered:
        module_name = get_device_module(kind).__name__
        raise RuntimeError(f"The runtime module of '{kind}' has already been registered with '{module_name}'")
    _registered[kind] = module
    return kind
