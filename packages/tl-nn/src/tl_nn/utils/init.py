"""Modules without their initialisation."""

from __future__ import annotations

from typing import Any, TypeVar

from ..modules.module import Module

__all__ = ["skip_init"]

_M = TypeVar("_M", bound=Module)


def skip_init(module_cls: type[_M], *args: Any, **kwargs: Any) -> _M:
    """A module with uninitialized parameters and buffers, for programs that fill them.

    Args:
        module_cls (type): A module's class that takes the keyword `device`.
        *args, **kwargs: Arguments of the constructor.

    Raises:
        RuntimeError: If it isn't a module's class, or doesn't take `device`.

    Example:
        >>> import tl_nn
        >>> tl_nn.utils.skip_init(tl_nn.Linear, 5, 1).weight.shape
        torch.Size([1, 5])
    """
    from inspect import signature

    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
