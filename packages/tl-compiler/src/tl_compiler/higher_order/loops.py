"""Loops: `while_loop`, `scan`, `map`, `associative_scan`. In a trace their functions become graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.pytree import tree_flatten
from tl_core.subclasses import FakeTensor

from ..tracer.proxy_mode import ProxyTorchDispatchMode, current_mode
from .base import HigherOrderOperator
from .subgraphs import Ready, Subgraph, attach_subgraph, fresh, key_of, trace_subgraph, with_inputs

__all__ = [
    "AssociativeScanOp",
    "MapImpl",
    "ScanOp",
    "WhileLoopOp",
    "associative_scan",
    "associative_scan_op",
    "map",
    "map_impl",
    "scan",
    "scan_op",
    "while_loop",
    "while_loop_op",
]

Tensor = tl_core.Tensor


def _leaves(tree: Any) -> list[Any]:
    return tree_flatten(tree)[0]


def _union(graphs: list[Subgraph]) -> list[Any]:
    """What any of the functions reads from around, each once."""
    union: dict[int, Any] = {}
    for graph in graphs:
        for value in graph.lifted:
            union.setdefault(key_of(value), value)
    return list(union.values())


def _record(
    mode: ProxyTorchDispatchMode,
    operator: Any,
    graphs: list[tuple[Subgraph, str]],
    args: list[Any],
    results: list[Any],
) -> None:
    """Records a call: the graphs, then lists of operands; the last takes what is read from around."""
    lifted = _union([g for g, _ in graphs])
    nodes = [attach_subgraph(mode, with_inputs(g, lifted), name) for g, name in graphs]
    placed = [tuple(mode.node_of(v) for v in group) for group in args]
    placed[-1] = (*placed[-1], *(mode.node_of(v) for v in lifted))
    name = operator.name()
    mode.record_call(
        operator, (*[Ready(n) for n in nodes], *[Ready(p) for p in placed]), {}, tuple(results), name
    )


def _single(value: Any) -> Any:
    """The condition that a function returns; graphs return it in a tuple."""
    return value[0] if isinstance(value, (tuple, list)) and len(value) == 1 else value


# ---- while_loop
class WhileLoopOp(HigherOrderOperator):
    """Runs a graph as long as another says so.

    Args:
        cond_fn: says whether the body runs again.
        body_fn: makes the next values of the carried inputs.
        carried_inputs: their values at first.
        additional_inputs: what both read besides.
    """

    def __init__(self) -> None:
        super().__init__("while_loop")

    def __call__(self, cond_fn: Any, body_fn: Any, carried_inputs: Any, additional_inputs: Any = ()) -> Any:
        carried, more = tuple(carried_inputs), tuple(additional_inputs)
        mode = current_mode()
        if mode is not None:
            return self._record_loop(mode, cond_fn, body_fn, carried, more)
        while bool(_single(cond_fn(*carried, *more))):
            next_carried = body_fn(*carried, *more)
            next_carried = tuple(next_carried) if isinstance(next_carried, (tuple, list)) else (next_carried,)
            if len(next_carried) != len(carried):
                raise RuntimeError(
                    f"body_fn should return the same number of elements as carried_inputs, got {len(next_carried)} and "
                    f"{len(carried)}"
                )
            carried = next_carried
        return carried

    def _record_loop(self, mode: Any, cond_fn: Any, body_fn: Any, carried: Any, more: Any) -> Any:
        condition, body = (
            trace_subgraph(mode, cond_fn, (*carried, *more)),
            trace_subgraph(mode, body_fn, (*carried, *more)),
        )
        if len(condition.results) != 1:
            raise RuntimeError(f"cond_fn must return one boolean, got {len(condition.results)} results")
        if len(body.results) != len(_leaves(carried)):
            raise RuntimeError("body_fn should return the same number of elements as carried_inputs")
        results = [fresh(mode, r) for r in body.results]
        _record(
            mode,
            self,
            [(condition, "while_loop_cond_graph"), (body, "while_loop_body_graph")],
            [_leaves(carried), _leaves(more)],
            results,
        )
        return tree_flatten(carried)[1].unflatten(results)


while_loop_op = WhileLoopOp()


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any, additional_inputs: Any = ()
) -> Any:
    """Calls a function on its own results as long as a condition holds.

    Args:
        cond_fn: of what is carried, a bool tensor of one element.
        body_fn: of what is carried, its next values.
        carried_inputs: its first values: a tuple or list of tensors and numbers.
        additional_inputs: further arguments of both, which stay as they are.

    Returns:
        What is carried when the condition no longer holds.

    Raises:
        RuntimeError: arguments are no functions, or no tuple.

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


# ---- map
class MapImpl(HigherOrderOperator):
    """Runs a graph on each slice of its inputs along their first dimension.

    Args:
        f: the graph of one element.
        xs: the tensors, along dimension 0.
        pos_args: what it reads besides.
    """

    def __init__(self) -> None:
        super().__init__("map_impl")

    def __call__(self, f: Any, xs: Any, pos_args: Any) -> Any:
        count = xs[0].shape[0]
        rows = [f(*(x[i] for x in xs), *pos_args) for i in range(int(count))]
        return _stack(rows)


map_impl = MapImpl()


def _stack(results: list[Any]) -> Any:
    rows = [_leaves(m) for m in results]
    spec = tree_flatten(results[0])[1]
    return spec.unflatten([tl_core.stack(list(column)) for column in zip(*rows, strict=True)])


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """Calls a function with each slice of tensors along their first dimension, and stacks the results.

    Args:
        f: the function.
        xs: containers of tensors whose first sizes are equal.
        args: further arguments.

    Returns:
        What the function returns, with one more dimension in front.

    Raises:
        ValueError: there is no tensor, or sizes differ, or are zero.

    Example:
        >>> import tl_core
        >>> map(lambda x, y: x.sum() + y, tl_core.ones(2, 3), tl_core.tensor(1.0))
        tensor([4., 4.])
    """
    flat, spec = tree_flatten(xs)
    if not flat or not all(isinstance(x, Tensor) for x in flat):
        raise ValueError(f"Mapped xs can only consist of tensors. Got xs {flat}.")
    if any(x.ndim == 0 for x in flat):
        raise ValueError("Leading dimensions of mapped xs cannot be 0.")
    count = flat[0].shape[0]
    if any(bool(x.shape[0] != count) for x in flat):
        raise ValueError(
            f"Leading dimensions of mapped xs must be consistent. Got shapes {[tuple(x.shape) for x in flat]}."
        )
    if not count:
        raise ValueError("Leading dimensions of mapped xs cannot be 0.")

    def on_leaves(*leaves: Any) -> Any:
        return f(spec.unflatten(leaves[: len(flat)]), *leaves[len(flat) :])

    mode = current_mode()
    if mode is None:
        return map_impl(on_leaves, flat, args)
    body = trace_subgraph(mode, on_leaves, (*(x.select(0, 0) for x in flat), *args))
    results = [_with_rows(mode, r, count) for r in body.results]
    _record(mode, map_impl, [(body, "body_graph")], [flat, list(args)], results)
    return body.out_spec.unflatten(results)


def _with_rows(mode: Any, value: Any, count: Any) -> Any:
    """What stands for results in a row."""
    if mode.tracing_mode == "real" or not isinstance(value, FakeTensor):
        return tl_core.stack([value] * int(count))
    import tl_core.operators.packets as ops

    first = mode.run_on_fakes(ops.aten.unsqueeze.default, value, 0)
    wide = mode.run_on_fakes(ops.aten.expand.default, first, [count, *([-1] * value.ndim)])
    return mode.run_on_fakes(ops.aten.clone.default, wide, memory_format=tl_core.contiguous_format)


# ---- scan
class ScanOp(HigherOrderOperator):
    """Runs a graph along the first dimension of its inputs, carrying values.

    Args:
        combine_fn: takes the carry and an element, gives the next carry and a result.
        init: the carry at first.
        xs: the tensors, along dimension 0.
        additional_inputs: what the function reads besides.
    """

    def __init__(self) -> None:
        super().__init__("scan")

    def __call__(self, combine_fn: Any, init: Any, xs: Any, additional_inputs: Any = ()) -> Any:
        carried, rows = list(init), []
        for i in range(int(xs[0].shape[0])):
            results = list(combine_fn(*carried, *(x[i] for x in xs), *additional_inputs))
            carried = results[: len(carried)]
            rows.append(results[len(carried) :])
        return [*carried, *(tl_core.stack(list(column)) for column in zip(*rows, strict=True))]


scan_op = ScanOp()


def scan(combine_fn: Callable[..., Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> Any:
    """Carries values along a dimension: a function takes what is carried and a slice, and returns the next and
    a result.

    Args:
        combine_fn: of what is carried and a slice, a pair of the next values and a result.
        init: the first values.
        xs: containers of tensors.
        dim: the dimension that is gone along.
        reverse: whether from its end.

    Returns:
        The last values, and the results stacked in front.

    Raises:
        RuntimeError: arguments are of other types, or there is nothing to go along.

    Example:
        >>> import tl_core
        >>> scan(lambda c, x: (c + x, c + x), tl_core.tensor(0.0), tl_core.tensor([1.0, 2.0, 3.0]))
        (tensor(6.), tensor([1., 3., 6.]))
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int) or not isinstance(reverse, bool):
        raise RuntimeError(f"Dim must be an int and reverse a bool, but got {dim!r} and {reverse!r}")
    flat_init, init_spec = tree_flatten(init)
    flat, spec = tree_flatten(xs)
    if not flat_init or not all(isinstance(x, Tensor) for x in (*flat_init, *flat)):
        raise RuntimeError(
            "scan() operator requires init and xs to consist of tensors, and init of at least one."
        )
    if not flat:
        return init, []
    if any(x.shape[dim] == 0 for x in flat):
        raise RuntimeError(
            "All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0"
        )
    moved = [x.movedim(dim, 0) if dim % x.ndim else x for x in flat]
    moved = [x.flip(0) for x in moved] if reverse else moved
    shapes: list[Any] = []

    def on_leaves(*leaves: Any) -> Any:
        n = len(flat_init)
        carried, out = combine_fn(init_spec.unflatten(leaves[:n]), spec.unflatten(leaves[n : n + len(flat)]))
        outputs, out_spec = tree_flatten(out)
        next_flat, next_spec = tree_flatten(carried)
        if len(next_flat) != n:
            raise RuntimeError(
                "The number of leaves of the pytree of the new carry differs from that of init"
            )
        shapes[:] = [out_spec, next_spec]
        return [*next_flat, *outputs]

    mode = current_mode()
    if mode is None:
        results = scan_op(on_leaves, flat_init, moved)
    else:
        body = trace_subgraph(mode, on_leaves, (*flat_init, *(x.select(0, 0) for x in moved)))
        n = len(flat_init)
        results = [fresh(mode, r) for r in body.results[:n]]
        results += [_with_rows(mode, r, moved[0].shape[0]) for r in body.results[n:]]
        _record(mode, scan_op, [(body, "scan_combine_graph")], [flat_init, moved, []], results)
    out_spec, next_spec = shapes
    rows = results[len(flat_init) :]
    rows = [r.flip(0) for r in rows] if reverse else rows
    return next_spec.unflatten(results[: len(flat_init)]), out_spec.unflatten(rows)


# ---- associative_scan
class AssociativeScanOp(HigherOrderOperator):
    """Combines slices along the first dimension, each with all before it.

    Args:
        combine_fn: combines two elements, associatively.
        xs: the tensors, along dimension 0.
        additional_inputs: what the function reads besides.
    """

    def __init__(self) -> None:
        super().__init__("associative_scan")

    def __call__(self, combine_fn: Any, xs: Any, additional_inputs: Any = ()) -> Any:
        carried = [x[0] for x in xs]
        rows = [carried]
        for i in range(1, int(xs[0].shape[0])):
            carried = list(combine_fn(*carried, *(x[i] for x in xs), *additional_inputs))
            rows.append(carried)
        return [tl_core.stack(list(column)) for column in zip(*rows, strict=True)]


associative_scan_op = AssociativeScanOp()


def associative_scan(
    combine_fn: Callable[..., Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """Combines the slices along a dimension with an associative function: each result with all slices before it.

    Args:
        combine_fn: of two slices, their combination.
        xs: containers of tensors of equal sizes along the dimension.
        dim: the dimension.
        reverse: whether from its end.
        combine_mode: `pointwise` or `generic`; they give the same.

    Returns:
        Tensors of the same sizes.

    Raises:
        ValueError: arguments are of other types, or there is nothing to combine.

    Example:
        >>> import tl_core
        >>> associative_scan(lambda a, b: a * b, tl_core.tensor([1.0, 2.0, 3.0]), 0)
        tensor([1., 2., 6.])
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int) or not isinstance(reverse, bool):
        raise ValueError(f"Dim must be an int and reverse a bool, but got {dim!r} and {reverse!r}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    flat, spec = tree_flatten(xs)
    if not flat or not all(isinstance(x, Tensor) for x in flat):
        raise ValueError("Expected at least 1 xs leaf, and leaves that are tensors")
    if any(x.shape[dim] == 0 for x in flat):
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    moved = [x.movedim(dim, 0) if dim % x.ndim else x for x in flat]
    moved = [x.flip(0) for x in moved] if reverse else moved

    def on_leaves(*leaves: Any) -> Any:
        n = len(flat)
        combined = combine_fn(spec.unflatten(leaves[:n]), spec.unflatten(leaves[n : 2 * n]))
        outputs, out_spec = tree_flatten(combined)
        if out_spec != spec:
            raise ValueError(f"The pytree of combine_fn's result, {out_spec}, is not that of xs, {spec}")
        return outputs

    mode = current_mode()
    if mode is None:
        results = associative_scan_op(on_leaves, moved)
    else:
        slices = tuple(x.select(0, 0) for x in moved)
        body = trace_subgraph(mode, on_leaves, (*slices, *slices))
        results = [_with_rows(mode, r, moved[0].shape[0]) for r in body.results]
        _record(mode, associative_scan_op, [(body, "associative_scan_combine_graph")], [moved, []], results)
    results = [r.flip(0) for r in results] if reverse else results
    return spec.unflatten([r.movedim(0, dim) if dim % r.ndim else r for r in results])
