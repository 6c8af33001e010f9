"""Modules of devices that plug-ins bring, under their names in `tl`."""

import sys
from types import ModuleType

from tl_backends import device_modules


def register_device_module(device_type: str, module: ModuleType) -> None:
    """Makes a module that of a kind of device: `tl.KIND`, which can be imported as well.

    Args:
        device_type: the kind of a device that a plug-in has brought, with or without an index.
        module: its module.

    Raises:
        RuntimeError: there is no such kind of device, or it has a module.

    Example:
        >>> import types
        >>> register_device_module("cuda", types.ModuleType("another"))
        Traceback (most recent call last):
            ...
        RuntimeError: The runtime module of 'cuda' has already been registered with 'tl_backends.cuda'
    """
    kind = device_modules.register_device_module(device_type, module)
    setattr(sys.modules["tl"], kind, module)
    sys.modules[f"tl.{kind}"] = module
