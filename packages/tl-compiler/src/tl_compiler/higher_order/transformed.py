"""Calls of higher-order operators in a trace, inside of transforms or where gradients are recorded.

A trace records below the transforms. A call inside of `functionalize` descends the levels as an `autograd.Function`,
and becomes a node of functions without writes. A derivative or a batch of a call is recorded operator by operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_autograd
import tl_core
from tl_autograd.func import functionalize
from tl_autograd.func.level_stack import TransformType, get_interpreter_stack
from tl_core import Tensor
from tl_core.dispatch.modes import in_transform
from tl_core.pytree import tree_flatten, tree_leaves

from ..tracer.proxy_mode import ProxyTorchDispatchMode
from .captured import Captured

__all__ = ["call_in_trace", "is_differentiated", "is_functionalized", "remove_argument"]

Function = Callable[..., Any]


def is_differentiated(mode: ProxyTorchDispatchMode, operands: Any) -> bool:
    """Whether a derivative, or a batch, of a call must be recorded with the call.

    Args:
        mode: the mode that records.
        operands: the arguments of the call.
    """
    if any(level.key() is not TransformType.Functionalize for level in get_interpreter_stack() or ()):
        return True
    recorded = not mode.pre_dispatch and tl_core.is_grad_enabled()
    return recorded and any(isinstance(x, Tensor) and x.requires_grad for x in tree_leaves(operands))


def _functionalize_levels() -> list[Any]:
    return [level for level in get_interpreter_stack() or () if level.key() is TransformType.Functionalize]


def is_functionalized() -> bool:
    """Whether the call is inside of `functionalize`."""
    return bool(_functionalize_levels())


def remove_argument() -> str:
    """The argument `remove` of the innermost `functionalize`."""
    levels = _functionalize_levels()
    return "mutations_and_views" if levels and levels[-1].batchSize() else "mutations"


class _Call(tl_autograd.Function):
    """A call at the levels below: `call` of the values of the operands."""

    @staticmethod
    def forward(call: Function, *values: Any) -> Any:
        return call(*values)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass


def call_in_trace(
    mode: ProxyTorchDispatchMode,
    functions: tuple[Function, ...],
    examples: Any,
    operands: Any,
    record: Callable[..., Any],
    transform: Callable[[Captured], Any],
) -> Any:
    """A call of an operator that takes functions, in a trace.

    Args:
        mode: the mode that records.
        functions: the functions.
        examples: arguments of the functions.
        operands: the operands of the operator: containers of tensors and numbers.
        record: records a node, given the functions, the operands, and the tensors that the functions take as last
            arguments.
        transform: records a derivative or a batch of the call, given the tensors that the functions read from around
            them.

    Returns:
        The results of the operator.
    """
    records_gradients = tl_core.is_grad_enabled() and not mode.pre_dispatch
    if not records_gradients and not in_transform():
        return record(functions, operands, ())
    captured = Captured((f, examples) for f in functions)
    if is_differentiated(mode, (operands, captured.values)):
        return transform(captured)
    if not is_functionalized():
        return record(functions, operands, ())
    return _without_writes(functions, operands, captured, record)


def _without_writes(
    functions: tuple[Function, ...], operands: Any, captured: Captured, record: Callable[..., Any]
) -> Any:
    """Records a call of functions without writes, on the values of the operands."""
    pure = tuple(functionalize(captured.close(f), remove=remove_argument()) for f in functions)
    flat, spec = tree_flatten(operands)
    nested: list[Any] = []

    def run(*values: Any) -> Any:
        results, out_spec = tree_flatten(
            record(pure, spec.unflatten(values[: len(flat)]), values[len(flat) :])
        )
        nested[:] = [out_spec]
        return tuple(results)

    results = _Call.apply(run, *flat, *captured.values)
    return nested[0].unflatten(list(results))
