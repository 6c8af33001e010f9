"""`out_dtype`: an operator whose arguments are converted first, so that it computes in a wider type."""

from __future__ import annotations

import functools
from typing import Any

import tl_core
from tl_core.operators.packets import OpOverload, aten
from tl_core.pytree import tree_leaves, tree_map_only

from ..tracer.proxy_mode import current_mode
from ..tracer.whole_calls import recorded_whole
from .base import HigherOrderOperator
from .transformed import call_in_trace

__all__ = ["OutDtype", "out_dtype"]

Tensor = tl_core.Tensor
_ALLOWED = (
    "linear.default",
    "mm.default",
    "conv2d.default",
    "convolution.default",
    "mul.Tensor",
    "div.Tensor",
)


class OutDtype(HigherOrderOperator):
    """Calls an operator with its tensors in a type that holds theirs and the result's.

    Args:
        op: `linear`, `mm`, `conv2d`, `convolution`, `mul` or `div`, as an overload.
        output_dtype: the type of the result.
        args: the operator's arguments.

    Returns:
        The result.
    """

    def __init__(self) -> None:
        super().__init__("out_dtype")

    def __call__(self, op: OpOverload, output_dtype: Any, *args: Any) -> Any:
        """Calls the operator.

        Args:
            op: the operator.
            output_dtype: the type of the result.
            args: the operator's arguments.

        Raises:
            ValueError: it is no overload, writes to an argument, returns other than one tensor, or is none of those.
            TypeError: `output_dtype` is no dtype.
        """
        _check(op, output_dtype)
        mode = current_mode()
        if mode is None:
            return _convert(op, output_dtype, *args)

        def record(functions: Any, operands: Any, captured: Any) -> Any:
            return recorded_whole(self, (op, output_dtype, *operands), self.name(), _convert)

        return call_in_trace(mode, (), (), args, record, lambda _: _convert(op, output_dtype, *args))


def _check(op: Any, output_dtype: Any) -> None:
    if not isinstance(op, OpOverload):
        raise ValueError(f"out_dtype's first argument must be an OpOverload, got {type(op).__name__}")
    if op._schema.is_mutable:
        raise ValueError(f"out_dtype's first argument needs to be a functional operator, got {op}")
    returns = [str(r.type) for r in op._schema.returns]
    if returns != ["Tensor"]:
        raise ValueError(
            f"out_dtype's can only apply to ops that return a single tensor, {op} returns {returns}"
        )
    if str(op).removeprefix("aten.") not in _ALLOWED:
        allowed = [str(getattr(getattr(aten, n.split(".")[0]), n.split(".")[1])) for n in _ALLOWED]
        raise ValueError(f"out_dtype only allows the following operators: {allowed}, got {op}")
    if not isinstance(output_dtype, tl_core.dtype):
        raise TypeError(
            f"out_dtype(): argument 'output_dtype' must be torch.dtype, got {type(output_dtype).__name__}"
        )


def _convert(op: OpOverload, output_dtype: Any, *args: Any) -> Any:
    kinds = [t.dtype for t in tree_leaves(args) if isinstance(t, Tensor)]
    common = functools.reduce(tl_core.promote_types, kinds, output_dtype)
    return op(*tree_map_only(Tensor, lambda t: t.to(common), args)).to(output_dtype)


out_dtype = OutDtype()
