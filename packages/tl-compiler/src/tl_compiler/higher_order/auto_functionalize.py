"""Operators that write to their arguments, as operators that return what would be written."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core.operators.packets import OpOverload
from tl_core.pytree import tree_map_only
from tl_core.subclasses.python_dispatch import disable_current_modes

from ..tracer.proxy_mode import current_mode
from .base import HigherOrderOperator

__all__ = ["AutoFunctionalized", "auto_functionalized", "can_auto_functionalize", "written_names"]

Tensor = tl_core.Tensor


def written_names(op: OpOverload) -> list[str]:
    """The arguments that an operator writes to.

    Args:
        op: the operator.

    Returns:
        Their names, in the order of the schema.

    Example:
        >>> written_names(tl_core.ops.aten.add_.Tensor)
        ['self']
    """
    return [a.name for a in op._schema.arguments if a.is_write]


def can_auto_functionalize(op: Any) -> bool:
    """Whether `auto_functionalized` can call an operator: it writes to tensors, and what it returns is new.

    Args:
        op: the operator.

    Returns:
        The answer; False for what is no operator.

    Example:
        >>> can_auto_functionalize(tl_core.ops.aten.neg.default)
        False
    """
    if not isinstance(op, OpOverload) or op.namespace == "aten" or not op._schema.is_mutable:
        return False
    mutated = [a for a in op._schema.arguments if a.is_write]
    return all("Tensor" in str(a.type) for a in mutated) and all(
        r.alias_info is None and "Tensor[" not in str(r.type) for r in op._schema.returns
    )


class AutoFunctionalized(HigherOrderOperator):
    """Calls an operator with copies of the arguments that it writes to.

    Args:
        _mutable_op: the operator.
        kwargs: its arguments, all by name.

    Returns:
        The operator's results, None where it has none, and then the copies.

    Raises:
        AssertionError: the operator writes to nothing, or returns what it was given.
    """

    def __init__(self) -> None:
        super().__init__("auto_functionalized")

    def __call__(self, _mutable_op: OpOverload, /, **kwargs: Any) -> tuple[Any, ...]:
        if not can_auto_functionalize(_mutable_op):
            raise AssertionError(f"auto_functionalized(): {_mutable_op} can't be called with copies")
        mode = current_mode()
        if mode is None:
            return _with_copies(_mutable_op, kwargs)
        fakes = kwargs if mode.tracing_mode == "real" else tree_map_only(Tensor, mode.values.fake_of, kwargs)
        with disable_current_modes():
            out = _with_copies(_mutable_op, fakes)
        mode.record_call(self, (_mutable_op,), kwargs, out, self.__name__)
        return out


def _with_copies(op: OpOverload, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    mutated = written_names(op)
    copies = {name: tree_map_only(Tensor, _copy, kwargs.get(name)) for name in mutated}
    out = op(**{**kwargs, **copies})
    results = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    return (*results, *copies.values())


def _copy(t: Any) -> Any:
    return t.clone()


auto_functionalized = AutoFunctionalized()
