"""`torch.testing._internal.composite_compliance`: whether an operator gives a view, or writes to its input."""

from __future__ import annotations

from typing import Any

from tl_core.operators.packets import aten

__all__ = ["is_inplace", "is_inplace_view_fn", "is_view_fn"]


def _first_alias(func: Any) -> Any:
    arguments = func._schema.arguments
    return arguments[0].alias_info if arguments else None


def is_view_fn(func: Any) -> bool:
    """Whether the result of an operator shares memory with its input, which isn't written to.

    Args:
        func: an overload.

    Example:
        >>> import tl_core
        >>> is_view_fn(tl_core.ops.aten.select.int), is_view_fn(tl_core.ops.aten.add_.Tensor)
        (True, False)
    """
    alias = _first_alias(func)
    returned = [result.alias_info for result in func._schema.returns]
    return alias is not None and not alias.is_write and any(info is not None for info in returned)


def is_inplace_view_fn(func: Any) -> bool:
    """Whether an operator changes the sizes or strides of its input in place.

    Args:
        func: an overload.

    Example:
        >>> import tl_core
        >>> is_inplace_view_fn(tl_core.ops.aten.t_.default), is_inplace_view_fn(tl_core.ops.aten.add_.Tensor)
        (True, False)
    """
    name = func.overloadpacket.__name__
    if not name.endswith("_") or name.endswith("__"):
        return False
    functional = getattr(aten, name[:-1], None)  # `transpose` of `transpose_`
    return functional is not None and any(getattr(functional, o).is_view for o in functional.overloads())


def is_inplace(func: Any) -> bool:
    """Whether an operator writes to its input, by its name.

    Args:
        func: an overload.

    Example:
        >>> import tl_core
        >>> is_inplace(tl_core.ops.aten.add_.Tensor), is_inplace(tl_core.ops.aten.__and__.Tensor)
        (True, False)
    """
    name = func.overloadpacket.__name__
    if name.startswith("__"):
        return name.startswith("__i") and name != "__invert__"
    return bool(name.endswith("_"))
