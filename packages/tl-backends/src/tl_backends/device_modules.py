"""The module of each kind of device, by the name of the kind."""

from importlib import import_module
from types import ModuleType
from typing import Any

import tl_core
from tl_core.random import DeviceRandom, register_device_random

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

    `manual_seed` and `seed` call the module's `manual_seed_all`, if it has one. `fork_rng` calls its `device_count`,
    `get_rng_state` and `set_rng_state`.

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
    if hasattr(module, "manual_seed_all"):
        register_device_random(kind, _random_of(module))
    return kind


def _random_of(module: Any) -> DeviceRandom:
    # Looked up at each call: a module may lack the functions of `fork_rng`, or get them later.
    return DeviceRandom(
        manual_seed_all=lambda seed: module.manual_seed_all(seed),
        count=lambda: module.device_count(),
        get_state=lambda index: module.get_rng_state(index),
        set_state=lambda state, index: module.set_rng_state(state, index),
    )
