"""The name of the device that a plug-in brings, as PyTorch's programs set it.

tl's plug-ins register their device under its own name; `rename_privateuse1_backend` says which one programs mean.
"""

from __future__ import annotations

import builtins
import keyword

from tl_core import _C

__all__ = ["privateuse1_backend_name", "rename_privateuse1_backend"]


def rename_privateuse1_backend(backend_name: str) -> None:
    """Names the device of a plug-in as programs name it, once a process.

    `device(backend_name)` is a device from then on, and `device("privateuseone")` is the same one. It holds tensors if
    a plug-in registers a device of that name. `utils.generate_methods_for_privateuse1_backend` gives tensors, modules
    and storages methods of that name.

    Args:
        backend_name: the name under which the plug-in registers its device.

    Raises:
        TypeError: it isn't a str.
        RuntimeError: it isn't an identifier, is another device's, or a different one was given before.

    Example:
        >>> rename_privateuse1_backend("privateuseone")
        >>> tl.device("privateuseone", 1)
        device(type='privateuseone', index=1)
    """
    if not isinstance(backend_name, builtins.str):
        raise TypeError(f"rename_privateuse1_backend(): expected a str, got {type(backend_name).__name__}")
    if not backend_name.isidentifier() or keyword.iskeyword(backend_name):
        raise RuntimeError(
            f"rename_privateuse1_backend(): the name must be an identifier of Python, got {backend_name!r}"
        )
    _C._name_private_device(backend_name)


def privateuse1_backend_name() -> str:
    """The name that was given, or `privateuseone`.

    Example:
        >>> privateuse1_backend_name()
        'privateuseone'
    """
    return _C._private_device_name()
