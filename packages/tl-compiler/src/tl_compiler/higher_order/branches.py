"""`cond` in a trace, inside of transforms or where gradients are recorded: its derivatives are calls of `cond`, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_autograd
import tl_core
from tl_autograd.func import functionalize, jvp, vjp, vmap
from tl_core import Tensor
from tl_core.pytree import TreeSpec, tree_flatten

from ..symbolic.errors import UserError, UserErrorType
from .captured import Captured
from .transformed import is_functionalized, remove_argument
from .varying import restrict, varies, varying_indices

__all__ = ["call_branches"]

Function = Callable[..., Any]


def call_branches(
    pred: Tensor,
    functions: tuple[Function, Function],
    operands: tuple[Any, ...],
    captured: Captured,
    record: Callable[..., tuple[Tensor, ...]],
) -> Any:
    """Calls `cond` at all active levels.

    Args:
        pred: the condition.
        functions: the two functions.
        operands: the arguments of the functions: containers of tensors and numbers.
        captured: the tensors that the functions read from around them.
        record: records the call below all levels, of the condition, the functions and the tensors among the operands.

    Returns:
        The results, nested as those of the functions.
    """
    branches = _Flattened(operands, captured)
    flat = [branches.flat(f) for f in functions]
    if is_functionalized():
        flat = [functionalize(f, remove=remove_argument()) for f in flat]
    results = _Branches.apply(record, pred, *flat, *branches.tensors, *captured.values)
    return branches.nest(results if isinstance(results, tuple) else (results,))


class _Flattened:
    """Functions of tensors that return tuples of tensors, instead of functions of containers."""

    def __init__(self, operands: tuple[Any, ...], captured: Captured) -> None:
        self._leaves, self._spec = tree_flatten(operands)
        self._captured = captured
        self._indices = [i for i, leaf in enumerate(self._leaves) if isinstance(leaf, Tensor)]
        self.tensors = tuple(self._leaves[i] for i in self._indices)
        self._results: tuple[list[Any], TreeSpec] | None = None

    def flat(self, function: Function) -> Function:
        closure = self._captured.close(function)

        def call(*values: Any) -> tuple[Tensor, ...]:
            leaves, count = list(self._leaves), len(self._indices)
            for index, value in zip(self._indices, values[:count], strict=True):
                leaves[index] = value
            results, spec = tree_flatten(closure(*self._spec.unflatten(leaves), *values[count:]))
            if self._results is not None and self._results[1] != spec:
                raise UserError(
                    UserErrorType.INVALID_OUTPUT,
                    f"Expected true_fn and false_fn to return the same structure, got {self._results[1]} and {spec}",
                )
            self._results = results, spec
            return tuple(r for r in results if isinstance(r, Tensor))

        return call

    def nest(self, tensors: tuple[Tensor, ...]) -> Any:
        assert self._results is not None
        leaves, spec = self._results
        values = iter(tensors)
        return spec.unflatten([next(values) if isinstance(leaf, Tensor) else leaf for leaf in leaves])


class _Branches(tl_autograd.Function):
    """One of two functions of tensors, each of which returns a tuple of tensors."""

    @staticmethod
    def forward(record: Function, pred: Any, true_fn: Any, false_fn: Any, *operands: Any) -> Any:
        return record(pred, true_fn, false_fn, operands)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.record, pred, *ctx.functions = inputs[:4]
        ctx.save_for_backward(pred, *inputs[4:])
        ctx.save_for_forward(pred, *inputs[4:])
        ctx.mark_non_differentiable(*(t for t in output if not varies(t)))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        pred, *operands = ctx.saved_tensors
        count, indices = len(operands), varying_indices(operands)
        selected = [g for g in grads if g is not None and varies(g)]

        def pullback(function: Function) -> Function:
            def call(*values: Any) -> Any:
                primals, cotangents = values[:count], values[count:]
                _, pull = vjp(restrict(function, primals, indices), *(primals[i] for i in indices))
                return pull(cotangents)

            return call

        own = _Branches.apply(ctx.record, pred, *map(pullback, ctx.functions), *operands, *selected)
        by_index = dict(zip(indices, own, strict=True))
        return None, None, None, None, *(by_index.get(i) for i in range(count))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        pred, *operands = ctx.saved_tensors
        count, indices = len(operands), varying_indices(operands)

        def pushforward(function: Function) -> Function:
            def call(*values: Any) -> Any:
                primals = values[:count]
                return jvp(
                    restrict(function, primals, indices), tuple(primals[i] for i in indices), values[count:]
                )[1]

            return call

        selected = [tangents[4 + i] for i in indices]
        return _Branches.apply(ctx.record, pred, *map(pushforward, ctx.functions), *operands, *selected)

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, record: Any, pred: Any, true_fn: Any, false_fn: Any, *operands: Any
    ) -> Any:
        dims = in_dims[4:]

        def batch(function: Function) -> Function:
            if all(d is None for d in dims):
                return function
            return vmap(function, tuple(dims), randomness=info.randomness)

        functions = batch(true_fn), batch(false_fn)
        if in_dims[1] is None:
            results = _Branches.apply(record, pred, *functions, *operands)
            return results, (0,) * len(results)
        conditions = pred.movedim(in_dims[1], 0).reshape(info.batch_size)
        pairs = zip(*(f(*operands) for f in functions), strict=True)
        results = tuple(_select(conditions, a, b, any(d is not None for d in dims)) for a, b in pairs)
        return results, (0,) * len(results)


def _select(conditions: Tensor, on_true: Tensor, on_false: Tensor, is_batched: bool) -> Tensor:
    """The result of one branch for each example of a batch."""
    rank = on_true.ndim - is_batched
    return tl_core.where(conditions.reshape([-1] + [1] * rank), on_true, on_false)
