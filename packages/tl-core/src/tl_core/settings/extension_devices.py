"""The name of the device that a plug-in brings, as PyTorch's programs set it.

tl's plug-ins register their device under its own name; `rename_privateuse1_backend` says which one programs mean.
"""

from __future__ import annotations

import builtins
import keyword

__all__ = ["privateuse1_backend_name", "rename_privateuse1_backend"]

UNNAMED = "privateuseone"
_name = UNNAMED
_TAKEN = frozenset({"cpu", "cuda", "hip", "meta", "mkldnn", "mps", "mtia", "vulkan", "xla", "xpu"})


def rename_privateuse1_backend(backend_name: str) -> None:
    """Says by which name programs call the device of a plug-in, once a process.

    `utils.generate_methods_for_privateuse1_backend` then gives tensors, modules and storages methods of that name.

    Args:
        backend_name: the name under which the plug-in registers its device.

    Raises:
        TypeError: it isn't a str.
        RuntimeError: it isn't an identifier, is another device's, or a different one was given before.
    """
    global _name
    if not isinstance(backend_name, builtins.str):
        raise TypeError(f"rename_privateuse1_backend(): expected a str, got {type(backend_name).__name__}")
    if not backend_name.isidentifier() or keyword.iskeyword(backend_name) or backend_name in _TAKEN:
        raise RuntimeError(
            f"Cannot register privateuse1 backend with in-tree device name: {backend_name!r} is taken or no identifier"
        )
    if _name not in (UNNAMED, backend_name):
        raise RuntimeError(
            f"torch.register_privateuse1_backend() has already been set! Current backend: {_name}, got {backend_name}"
        )
    _name = backend_name


def privateuse1_backend_name() -> str:
    """The name that was given, or `privateuseone`.

    Example:
        >>> privateuse1_backend_name()
        'privateuseone'
    """
    return _name
