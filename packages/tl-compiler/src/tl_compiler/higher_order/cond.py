"""`cond`: one of two functions, as a value decides."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.dispatch.modes import in_transform
from tl_core.pytree import TreeSpec, tree_flatten, tree_map
from tl_core.subclasses import FakeTensor
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ..symbolic.errors import UserError, UserErrorType
from ..tracer.proxy_mode import ProxyTorchDispatchMode, current_mode
from .base import HigherOrderOperator
from .branches import call_branches
from .captured import Captured, is_reading
from .subgraphs import Ready, attach_subgraph, fresh, key_of, trace_subgraph, with_inputs
from .transformed import is_differentiated, is_functionalized

__all__ = ["CondOp", "cond", "cond_op"]

Tensor = tl_core.Tensor


class CondOp(HigherOrderOperator):
    """The operator of graphs: takes a condition, two graphs, and their operands in order.

    Args:
        pred: a bool, or a tensor of one.
        true_fn: the graph that runs where it is true.
        false_fn: the graph that runs otherwise.
        operands: what both take.
    """

    def __init__(self) -> None:
        super().__init__("cond")

    def __call__(self, pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
        mode, operands = current_mode(), tuple(operands)
        if mode is None or isinstance(pred, bool):
            return _run(pred, true_fn, false_fn, operands)
        records_gradients = tl_core.is_grad_enabled() and not mode.pre_dispatch
        if not (records_gradients or in_transform()):
            return _record(mode, pred, true_fn, false_fn, operands)
        captured = Captured((f, operands) for f in (true_fn, false_fn))
        if not is_differentiated(mode, (operands, captured.values)) and not is_functionalized():
            return _record(mode, pred, true_fn, false_fn, operands)

        def record(pred: Any, true_fn: Any, false_fn: Any, operands: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(_record(mode, pred, true_fn, false_fn, operands))

        return call_branches(pred, (true_fn, false_fn), operands, captured, record)


cond_op = CondOp()


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: tuple[Any, ...] | list[Any] = (),
) -> Any:
    """Calls one of two functions, as a condition says. In a trace both become graphs, and the program chooses
    when it runs.

    Gradients are the derivatives of the function that was called. Under `vmap`, where each example has its own
    condition, both functions run, and each example gets the result of its function.

    Args:
        pred: the condition: a bool, or a bool tensor of one element.
        true_fn: called where it holds.
        false_fn: called where it doesn't; its results are like those of the other.
        operands: what the function is called with: containers of tensors.

    Returns:
        What the function returns.

    Raises:
        RuntimeError: the condition is no bool; an argument is no function, or no container of tensors; the functions
            return unlike results, or write to an operand.

    Example:
        >>> import tl_core
        >>> x = tl_core.tensor([1.0, 2.0])
        >>> cond(x.sum() > 2, lambda x: x * 2, lambda x: -x, (x,))
        tensor([2., 4.])
    """
    _check(pred, true_fn, false_fn, operands)
    if isinstance(pred, bool):
        warnings.warn(
            "Pred is a Python constant. When used with torch.cond, it specializes on one of the branches. If you want "
            "torch.cond to preserve two branches, please make the predicate a boolean tensor or a SymBool.",
            stacklevel=2,
        )
        return (true_fn if pred else false_fn)(*operands)
    return cond_op(pred, true_fn, false_fn, operands)


def _check(pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> None:
    if not isinstance(pred, (bool, Tensor, SymBool)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or any(
        not isinstance(leaf, (Tensor, int, float, bool, SymInt, SymFloat, SymBool)) and leaf is not None
        for leaf in tree_flatten(operands)[0]
    ):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but "
            f"got {operands}."
        )


def _run(pred: Any, true_fn: Any, false_fn: Any, operands: tuple[Any, ...]) -> Any:
    if isinstance(pred, FakeTensor) or is_reading():
        return _run_both(true_fn, false_fn, operands)
    try:
        holds = bool(pred)
    except RuntimeError as error:
        if not str(error).startswith("vmap"):
            raise
        return _select(pred, true_fn(*operands), false_fn(*operands))
    return true_fn(*operands) if holds else false_fn(*operands)


def _run_both(true_fn: Any, false_fn: Any, operands: tuple[Any, ...]) -> Any:
    """The results of either branch, which are alike."""
    on_true, on_false = (tree_flatten(f(*operands)) for f in (true_fn, false_fn))
    _check_alike(on_true, on_false)
    return on_true[1].unflatten(on_true[0])


def _select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """From both results, for each example of a batch the one that its condition says."""

    def choose(a: Any, b: Any) -> Any:
        condition = pred.reshape([1] * a.ndim) if pred.ndim or a.ndim else pred
        return tl_core.where(condition, a, b)

    return tree_map(choose, on_true, on_false)


# ---- recording
def _record(
    mode: ProxyTorchDispatchMode, pred: Any, true_fn: Any, false_fn: Any, operands: tuple[Any, ...]
) -> Any:
    branches = [trace_subgraph(mode, f, operands) for f in (true_fn, false_fn)]
    _check_alike(*((b.results, b.out_spec) for b in branches))
    lifted: dict[int, Any] = {}
    for branch in branches:
        for value in branch.lifted:
            lifted.setdefault(key_of(value), value)
    values = list(lifted.values())
    modules = [with_inputs(b, values) for b in branches]
    nodes = [
        attach_subgraph(mode, m, name) for m, name in zip(modules, ("true_graph", "false_graph"), strict=True)
    ]
    flat = [mode.node_of(v) for v in (*tree_flatten(operands)[0], *values)]
    results = [fresh(mode, a) for a in branches[0].results]
    mode.record_call(
        cond_op,
        (Ready(mode.node_of(pred)), *map(Ready, nodes), Ready(tuple(flat))),
        {},
        tuple(results),
        "cond",
    )
    return branches[0].out_spec.unflatten(results)


def _check_alike(on_true: tuple[list[Any], TreeSpec], on_false: tuple[list[Any], TreeSpec]) -> None:
    if on_true[1] != on_false[1]:
        raise UserError(
            UserErrorType.INVALID_OUTPUT,
            f"Expected true_fn and false_fn to return the same structure, got {on_true[1]} and {on_false[1]}",
        )
    for x, y in zip(on_true[0], on_false[0], strict=True):
        if isinstance(x, Tensor) != isinstance(y, Tensor):
            raise UserError(
                UserErrorType.INVALID_OUTPUT, "Expected true_fn and false_fn to return tensors alike"
            )
        if isinstance(x, Tensor) and (
            x.dtype != y.dtype or len(x.shape) != len(y.shape) or not _same_sizes(x, y)
        ):
            raise UserError(
                UserErrorType.INVALID_OUTPUT,
                "Expected each tensor to have same metadata but got: true_fn returns "
                f"{x.dtype} of {tuple(x.shape)}, false_fn {y.dtype} of {tuple(y.shape)}",
            )


def _same_sizes(x: Any, y: Any) -> bool:
    return all(bool(m == n) for m, n in zip(x.shape, y.shape, strict=True))
