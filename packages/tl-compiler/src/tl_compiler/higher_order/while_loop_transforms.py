"""`while_loop` in a trace, inside of transforms or where gradients are recorded: its derivatives are loops, too.

The loop of a tangent carries the tangents beside the values. The loop of a batch runs until the last example ends, and
an example that ended keeps its values. A derivative in reverse mode needs the values of all iterations: the loop stacks
them, and another loop reads them from the last to the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import tl_autograd
import tl_core
from tl_autograd.func import debug_unwrap, functionalize, jvp, vjp, vmap
from tl_autograd.func.level_stack import TransformType, get_interpreter_stack
from tl_core import Tensor
from tl_core.pytree import tree_flatten, tree_leaves
from tl_core.subclasses.python_dispatch import disable_current_modes

from .captured import Captured
from .transformed import is_functionalized, remove_argument
from .varying import restrict, varies, varying_indices

__all__ = ["call_loop"]

Function = Callable[..., Any]


def call_loop(
    functions: tuple[Function, Function],
    carried: tuple[Any, ...],
    more: tuple[Any, ...],
    captured: Captured,
    record: Callable[..., tuple[Tensor, ...]],
    is_recorded: bool,
) -> Any:
    """Calls `while_loop` at all active levels.

    Args:
        functions: the condition and the body.
        carried: the first values: containers of tensors.
        more: further arguments of both functions: containers of tensors and numbers.
        captured: the tensors that the functions read from around them.
        record: records the call below all levels, given whether it stacks, the functions, and tuples of tensors as
            carried and further arguments.
        is_recorded: whether autograd records the operators below all levels.

    Returns:
        The final values, nested as the first ones.
    """
    values, spec = tree_flatten(carried)
    operands = [leaf for leaf in tree_leaves(more) if isinstance(leaf, Tensor)]
    condition, body = (_flat(f, carried, more, captured) for f in functions)
    if is_functionalized():
        condition, body = (functionalize(f, remove=remove_argument()) for f in (condition, body))
    tensors = (*values, *operands, *captured.values)
    if not _is_reversed(tensors, is_recorded):
        return spec.unflatten(list(_Loop.apply(_Form(len(values), False, record), condition, body, *tensors)))
    form = _Form(len(values) + 1, True, record)
    results = _Loop.apply(form, *_with_count(condition, body), tl_core.tensor(0), *tensors)
    return spec.unflatten(list(results[1 : form.carried]))


@dataclass(frozen=True)
class _Form:
    """The form of a loop: the number of carried values, whether it stacks them, and the recorder of its node."""

    carried: int
    stacks: bool
    record: Callable[..., tuple[Tensor, ...]]


def _flat(function: Function, carried: Any, more: Any, captured: Captured) -> Function:
    """A function of tensors that returns a tuple, instead of a function of containers."""
    closure = captured.close(function)
    first, spec = tree_flatten(carried)
    leaves, more_spec = tree_flatten(more)
    indices = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]

    def call(*values: Any) -> tuple[Any, ...]:
        arguments, rest = list(leaves), values[len(first) :]
        for index, value in zip(indices, rest, strict=False):
            arguments[index] = value
        own = spec.unflatten(list(values[: len(first)]))
        return tuple(tree_leaves(closure(*own, *more_spec.unflatten(arguments), *rest[len(indices) :])))

    return call


def _is_reversed(tensors: Any, is_recorded: bool) -> bool:
    """Whether a derivative in reverse mode of the call may follow."""
    if any(level.key() is TransformType.Grad for level in get_interpreter_stack() or ()):
        return True
    return is_recorded and any(debug_unwrap(t).requires_grad for t in tensors)


def _with_count(condition: Function, body: Function) -> tuple[Function, Function]:
    """The functions of a loop that carries its number of iterations as first value."""
    return (
        lambda count, *values: condition(*values),
        lambda count, *values: (count + 1, *body(*values)),
    )


class _Loop(tl_autograd.Function):
    """A loop of tensors. Its results are the final values, then the stacks of the values after each iteration."""

    @staticmethod
    def forward(form: _Form, condition: Function, body: Function, *tensors: Any) -> Any:
        carried, more = tensors[: form.carried], tensors[form.carried :]
        results = form.record(form.stacks, condition, body, carried, more)
        return (*(r.select(0, -1) for r in results), *results) if form.stacks else tuple(results)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.form, ctx.condition, ctx.body, *tensors = inputs
        ctx.save_for_backward(*tensors, *output)
        ctx.save_for_forward(*tensors)
        ctx.mark_non_differentiable(*(t for t in output if not varies(t)))
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        count = ctx.form.carried
        if not ctx.form.stacks or any(g is not None for g in grads[count:]):
            raise NotImplementedError(
                "while_loop(): a trace has no second derivative of a loop in reverse mode. Forward mode over reverse "
                "mode (func.jacfwd of func.grad) has one"
            )
        inputs = len(ctx.saved_tensors) - 2 * count
        tensors, results = ctx.saved_tensors[:inputs], ctx.saved_tensors[inputs:]
        indices = varying_indices(tensors)
        first = [_start(grads[i], results[i]) for i in indices if i < count]
        first += [tl_core.zeros_like(tensors[i]) for i in indices if i >= count]
        form = _Form(1 + len(first), False, ctx.form.record)
        body = _pullback(ctx.body, count, inputs, indices)
        _, *own = _Loop.apply(form, _is_positive, body, results[0].max(), *first, *tensors, *results[count:])
        by_index = dict(zip(indices, own, strict=True))
        return None, None, None, *(by_index.get(i) for i in range(inputs))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        tensors, count = ctx.saved_tensors, ctx.form.carried
        indices = varying_indices(tensors)
        own = [_start(tangents[3 + i], tensors[i]) for i in indices]
        carried = sum(i < count for i in indices)
        form = replace(ctx.form, carried=count + carried)
        functions = _pushforward(ctx.condition, ctx.body, count, carried, indices)
        results = _Loop.apply(
            form, *functions, *tensors[:count], *own[:carried], *tensors[count:], *own[carried:]
        )
        slots = [i for i in indices if i < count]
        answer: list[Any] = [None] * (count * (1 + form.stacks))
        for half in range(1 + form.stacks):
            for slot, result in zip(slots, results[half * form.carried + count :], strict=False):
                answer[half * count + slot] = result
        return tuple(answer)

    @staticmethod
    def vmap(info: Any, in_dims: Any, form: _Form, condition: Function, body: Function, *tensors: Any) -> Any:
        carried, dims = form.carried, list(in_dims[3:])
        for i in range(carried):
            dims[i] = None if dims[i] is None else 0
        first = (
            t if d is None else t.movedim(d, 0) for t, d in zip(tensors[:carried], in_dims[3:], strict=False)
        )
        tensors = (*first, *tensors[carried:])
        batch = _Batch(condition, body, carried, info, dims)
        tensors = batch.expand_until_stable(tensors)
        results = _Loop.apply(form, batch.condition, batch.body, *tensors)
        final = batch.dims[:carried]
        stacks = tuple(None if d is None else 1 for d in final) if form.stacks else ()
        return results, (*final, *stacks)


def _start(value: Tensor | None, like: Tensor) -> Tensor:
    return tl_core.zeros_like(like) if value is None else value


def _is_positive(count: Tensor, *values: Any) -> tuple[Tensor]:
    return (count > 0,)


def _pullback(body: Function, count: int, inputs: int, indices: list[int]) -> Function:
    """One iteration in reverse: of its number, the gradients, all inputs of the loop and the stacks."""
    carried = sum(i < count for i in indices)

    def call(number: Tensor, *values: Any) -> tuple[Tensor, ...]:
        grads, rest = values[: len(indices)], values[len(indices) :]
        tensors, stacks = rest[:inputs], rest[inputs:]
        before = (_before(number, t, s) for t, s in zip(tensors, stacks, strict=False))
        arguments = (*before, *tensors[count:])
        _, pull = vjp(restrict(body, arguments, indices), *(arguments[i] for i in indices))
        own = pull(tuple(grads[:carried]))
        sums = (g + more for g, more in zip(grads[carried:], own[carried:], strict=True))
        return (number - 1, *own[:carried], *sums)

    return call


def _before(number: Tensor, first: Tensor, stack: Tensor) -> Tensor:
    """The value before an iteration, which has a number from 1."""
    row = stack.index_select(0, (number - 2).clamp(min=0).reshape(1)).squeeze(0)
    return tl_core.where(number > 1, row, first)


def _pushforward(
    condition: Function, body: Function, count: int, carried: int, indices: list[int]
) -> tuple[Function, Function]:
    """The functions of a loop that carries tangents: of values and their tangents, other arguments and theirs."""

    def parts(values: Any) -> tuple[Any, Any]:
        end = len(values) - (len(indices) - carried)
        tangents = (*values[count : count + carried], *values[end:])
        return (*values[:count], *values[count + carried : end]), tangents

    def advance(*values: Any) -> tuple[Tensor, ...]:
        arguments, tangents = parts(values)

        def call(*varied: Any) -> Any:
            every = list(arguments)
            for index, value in zip(indices, varied, strict=True):
                every[index] = value
            results = body(*every)
            return tuple(r for r in results if varies(r)), tuple(results)

        primals = tuple(arguments[i] for i in indices)
        _, own, results = jvp(call, primals, tangents, has_aux=True)
        return (*results, *own)

    return lambda *values: condition(*parts(values)[0]), advance


class _Batch:
    """The loop of a batch: its functions take the values of all examples.

    Args:
        condition: the condition of an example.
        body: the next values of an example.
        count: the number of carried values.
        info: the size and the randomness of the batch.
        dims: the batch dimension of each argument of the functions, 0 for carried values, or None.
    """

    def __init__(
        self, condition: Function, body: Function, count: int, info: Any, dims: list[int | None]
    ) -> None:
        self._condition, self._body, self._count, self._info = condition, body, count, info
        self.dims = dims
        self._is_condition_batched = False

    def expand_until_stable(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The arguments, where each carried value that becomes different for each example has a batch dimension.

        A carried value that stays equal for all examples has none: the number of an iteration, for instance.
        """
        while True:
            condition, *after = self._dry_run(tensors)
            self._is_condition_batched |= condition
            is_batched = [self._is_condition_batched or one for one in after]
            grown = [i for i in range(self._count) if self.dims[i] is None and is_batched[i]]
            if not grown:
                return tensors
            for i in grown:
                self.dims[i] = 0
            size = self._info.batch_size
            tensors = tuple(t.expand(size, *t.shape) if i in grown else t for i, t in enumerate(tensors))

    def condition(self, *values: Any) -> tuple[Tensor]:
        conditions = self._conditions(values)
        return (conditions.any() if self._is_condition_batched else conditions,)

    def body(self, *values: Any) -> tuple[Tensor, ...]:
        results = self._run(self._body, values, tuple(self.dims[: self._count]))
        if not self._is_condition_batched:
            return tuple(results)
        conditions = self._conditions(values).reshape(-1)
        pairs = zip(values[: self._count], results, strict=True)
        return tuple(tl_core.where(conditions.reshape([-1] + [1] * (x.ndim - 1)), y, x) for x, y in pairs)

    def _conditions(self, values: Any) -> Tensor:
        (conditions,) = self._run(self._condition, values, 0 if self._is_condition_batched else None)
        return conditions

    def _run(self, function: Function, values: Any, out_dims: Any) -> Any:
        return vmap(function, tuple(self.dims), out_dims, randomness=self._info.randomness)(*values)

    def _dry_run(self, values: Any) -> list[bool]:
        """Whether the condition and each next value differ between the examples, without a record."""
        is_batched: list[bool] = []

        def run(*arguments: Any) -> Any:
            results = (*self._condition(*arguments), *self._body(*arguments))
            is_batched[:] = [debug_unwrap(r, recurse=False).ndim > r.ndim for r in results]
            return results

        with disable_current_modes():
            self._run(run, values, 0)
        return is_batched
