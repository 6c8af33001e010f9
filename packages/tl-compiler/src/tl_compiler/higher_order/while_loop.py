"""`while_loop`: a loop whose condition decides the number of iterations. In a trace its functions become graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_autograd.func import debug_unwrap
from tl_core import Tensor
from tl_core.pytree import tree_flatten, tree_leaves, tree_map
from tl_core.subclasses import FakeTensor

from ..tracer.proxy_mode import current_mode
from .base import HigherOrderOperator
from .captured import is_reading
from .loop_nodes import check_carried, record_loop, with_rows
from .subgraphs import fresh, trace_subgraph
from .transformed import call_in_trace
from .while_loop_transforms import call_loop

__all__ = [
    "WhileLoopOp",
    "WhileLoopStackOutputOp",
    "while_loop",
    "while_loop_op",
    "while_loop_stack_output_op",
]


class WhileLoopOp(HigherOrderOperator):
    """Runs a graph as long as the condition of another graph holds.

    Args:
        cond_fn: the graph of the condition.
        body_fn: the graph of the next values of the carried inputs.
        carried_inputs: the first values.
        additional_inputs: further arguments of both graphs.
    """

    def __init__(self) -> None:
        super().__init__("while_loop")

    def __call__(self, cond_fn: Any, body_fn: Any, carried_inputs: Any, additional_inputs: Any = ()) -> Any:
        carried, more = tuple(carried_inputs), tuple(additional_inputs)
        mode = current_mode()
        if mode is None:
            return _loop(cond_fn, body_fn, carried, more)
        _check_tensors(carried)

        def record(functions: Any, operands: Any, captured: Any) -> Any:
            condition, body = functions
            return _record(mode, self, condition, body, operands[0], (*operands[1], *captured))

        def record_flat(is_stacked: bool, condition: Any, body: Any, values: Any, others: Any) -> Any:
            operator = while_loop_stack_output_op if is_stacked else self
            return _record(mode, operator, condition, body, values, others)

        def transform(captured: Any) -> Any:
            is_recorded = tl_core.is_grad_enabled() and not mode.pre_dispatch
            return call_loop((cond_fn, body_fn), carried, more, captured, record_flat, is_recorded)

        return call_in_trace(mode, (cond_fn, body_fn), (*carried, *more), (carried, more), record, transform)


class WhileLoopStackOutputOp(HigherOrderOperator):
    """Runs a `while_loop` and stacks the values of all iterations, which the derivative of the loop reads.

    Args:
        cond_fn: the graph of the condition.
        body_fn: the graph of the next values of the carried inputs.
        carried_inputs: the first values.
        additional_inputs: further arguments of both graphs.
    """

    def __init__(self) -> None:
        super().__init__("while_loop_stack_output")

    def __call__(self, cond_fn: Any, body_fn: Any, carried_inputs: Any, additional_inputs: Any = ()) -> Any:
        carried, more = tuple(carried_inputs), tuple(additional_inputs)
        mode = current_mode()
        if mode is None:
            return _stacks(cond_fn, body_fn, carried, more)
        _check_tensors(carried)
        return _record(mode, self, cond_fn, body_fn, carried, more)


while_loop_op = WhileLoopOp()
while_loop_stack_output_op = WhileLoopStackOutputOp()


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any, additional_inputs: Any = ()
) -> Any:
    """Calls a function on its own results as long as a condition holds.

    In a `vmap`, each example has its own number of iterations: the body runs on the whole batch until the last example
    ends, and an example that ended keeps its values. In a trace, the derivative of a loop is a loop over the values of
    all iterations, in reverse.

    Args:
        cond_fn: the condition: a function of the carried values that returns a bool tensor of one element.
        body_fn: a function of the carried values that returns their next values.
        carried_inputs: the first values: a tuple or list of tensors and numbers.
        additional_inputs: further arguments of both functions, which stay as they are.

    Returns:
        The carried values after the last iteration.

    Raises:
        RuntimeError: `cond_fn` or `body_fn` isn't callable, or `carried_inputs` is no tuple or list.

    Example:
        >>> import tl_core
        >>> while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (tl_core.tensor(0), tl_core.ones(2)))
        (tensor(3), tensor([8., 8.]))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or list, got {type(carried_inputs)}")
    return while_loop_op(cond_fn, body_fn, carried_inputs, additional_inputs)


# ---- without a trace
def _loop(
    cond_fn: Any, body_fn: Any, carried: tuple[Any, ...], more: tuple[Any, ...], visit: Any = None
) -> Any:
    """The loop itself. The condition of fakes has no value, so fakes run one iteration."""
    once = is_reading() or any(isinstance(leaf, FakeTensor) for leaf in tree_leaves(carried))
    while True:
        condition = _single(cond_fn(*carried, *more))
        lanes = None if once else _lanes(condition)
        if not once and not (bool(condition) if lanes is None else bool(lanes.any())):
            return carried
        following = body_fn(*carried, *more)
        following = tuple(following) if isinstance(following, (tuple, list)) else (following,)
        check_carried("while_loop", tree_leaves(carried), tree_leaves(following))
        carried = following if lanes is None else _advance(condition, carried, following)
        if visit is not None:
            visit(carried)
        if once:
            return carried


def _single(value: Any) -> Any:
    """The condition that a function returns. Graphs return it in a tuple."""
    return value[0] if isinstance(value, (tuple, list)) and len(value) == 1 else value


def _lanes(condition: Any) -> Tensor | None:
    """The conditions of all examples, or None where one condition holds for all.

    Raises:
        RuntimeError: the condition of an example has several elements.
    """
    if not isinstance(condition, Tensor):
        return None
    if condition.numel() != 1:
        raise RuntimeError(
            f"cond_fn must return a boolean scalar tensor or a boolean but got a tensor of {tuple(condition.shape)}"
        )
    values = debug_unwrap(condition)
    return values if values.numel() > 1 else None


def _advance(condition: Tensor, before: Any, after: Any) -> Any:
    """The next values of the examples whose condition holds, and the values of the others."""

    def select(x: Any, y: Any) -> Any:
        return tl_core.where(condition.reshape([1] * y.ndim), y, x) if isinstance(y, Tensor) else y

    return tree_map(select, before, after)


def _stacks(cond_fn: Any, body_fn: Any, carried: tuple[Any, ...], more: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values after each iteration in a row, or the first values where no iteration runs."""
    rows: list[Any] = []
    _loop(cond_fn, body_fn, carried, more, lambda values: rows.append(tree_leaves(values)))
    rows = rows or [[x.clone() for x in tree_leaves(carried)]]
    return tuple(tl_core.stack(list(column)) for column in zip(*rows, strict=True))


# ---- in a trace
def _check_tensors(carried: Any) -> None:
    if any(not isinstance(leaf, Tensor) for leaf in tree_leaves(carried)):
        raise RuntimeError(
            "while_loop(): a trace expects carried_inputs that consist of tensors, got "
            f"{[type(leaf).__name__ for leaf in tree_leaves(carried)]}: carry tl.tensor(n) in the place of a number n"
        )


def _record(mode: Any, operator: Any, cond_fn: Any, body_fn: Any, carried: Any, more: Any) -> Any:
    """Records a loop, and returns its results: final values, nested as the carried ones, or stacks."""
    condition, body = (trace_subgraph(mode, f, (*carried, *more)) for f in (cond_fn, body_fn))
    if len(condition.results) != 1:
        raise RuntimeError(f"cond_fn must return one boolean, got {len(condition.results)} results")
    check_carried("while_loop", tree_leaves(carried), body.results)
    is_stacked = operator is while_loop_stack_output_op
    is_known = not is_stacked or mode.tracing_mode == "real" or mode.shape_env is None
    rows = 1 if is_known else mode.shape_env.new_dynamic_size(1)
    results = [with_rows(mode, r, rows) if is_stacked else fresh(mode, r) for r in body.results]
    graphs = [(condition, "while_loop_cond_graph"), (body, "while_loop_body_graph")]
    record_loop(mode, operator, graphs, [tree_leaves(carried), tree_leaves(more)], results)
    return tuple(results) if is_stacked else tree_flatten(carried)[1].unflatten(results)
