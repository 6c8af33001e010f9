"""Loops along a dimension: `scan`, `map`, `associative_scan`. In a trace their functions become graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.pytree import tree_flatten, tree_leaves

from ..tracer.proxy_mode import current_mode
from .base import HigherOrderOperator
from .loop_nodes import check_carried, record_loop, with_rows
from .subgraphs import fresh, trace_subgraph
from .transformed import call_in_trace

__all__ = [
    "AssociativeScanOp",
    "MapImpl",
    "ScanOp",
    "associative_scan",
    "associative_scan_op",
    "map",
    "map_impl",
    "scan",
    "scan_op",
]

Tensor = tl_core.Tensor


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
        xs, pos_args = list(xs), list(pos_args)
        mode: Any = current_mode()

        def unroll(_: Any = None) -> Any:
            return _stack([f(*(x[i] for x in xs), *pos_args) for i in range(int(xs[0].shape[0]))])

        def record(functions: Any, operands: Any, captured: Any) -> Any:
            xs, arguments = operands[0], [*operands[1], *captured]
            body = trace_subgraph(mode, functions[0], (*_slices(xs), *arguments))
            results = [with_rows(mode, r, xs[0].shape[0]) for r in body.results]
            record_loop(mode, self, [(body, "body_graph")], [xs, arguments], results)
            return body.out_spec.unflatten(results)

        if mode is None:
            return unroll()
        return call_in_trace(mode, (f,), (*_slices(xs), *pos_args), (xs, pos_args), record, unroll)


def _slices(xs: list[Any]) -> list[Any]:
    """The first slice of each tensor."""
    return [x.select(0, 0) for x in xs]


map_impl = MapImpl()


def _stack(results: list[Any]) -> Any:
    rows = [tree_leaves(m) for m in results]
    spec = tree_flatten(results[0])[1]
    return spec.unflatten([_column("map", column) for column in zip(*rows, strict=True)])


def _column(name: str, values: tuple[Any, ...]) -> Any:
    """The results of all calls in a row; None where the function returns None."""
    if all(v is None for v in values):
        return None
    if not all(isinstance(v, Tensor) for v in values):
        kinds = sorted({type(v).__name__ for v in values})
        raise RuntimeError(f"{name}(): expected results that consist of tensors or None, got {kinds}")
    return tl_core.stack(list(values))


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """Calls a function with each slice of tensors along their first dimension, and stacks the results.

    Args:
        f: the function.
        xs: containers of tensors whose first sizes are equal.
        args: further arguments.

    Returns:
        What the function returns, with one more dimension in front.

    Raises:
        RuntimeError: there is no tensor, or sizes differ, or are zero.

    Example:
        >>> import tl_core
        >>> map(lambda x, y: x.sum() + y, tl_core.ones(2, 3), tl_core.tensor(1.0))
        tensor([4., 4.])
    """
    flat, spec = tree_flatten(xs)
    if not flat or not all(isinstance(x, Tensor) for x in flat):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {flat}.")
    if any(x.ndim == 0 for x in flat):
        raise RuntimeError("Mapped xs must have a leading dimension. Got a tensor without dimensions.")
    count = flat[0].shape[0]
    if any(bool(x.shape[0] != count) for x in flat):
        raise RuntimeError(
            f"Leading dimensions of mapped xs must be consistent. Got shapes {[x.shape for x in flat]}."
        )
    if not count:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")

    def on_leaves(*leaves: Any) -> Any:
        return f(spec.unflatten(leaves[: len(flat)]), *leaves[len(flat) :])

    return map_impl(on_leaves, flat, args)


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
        init, xs, more = list(init), list(xs), list(additional_inputs)
        mode: Any = current_mode()

        def record(functions: Any, operands: Any, captured: Any) -> Any:
            init, xs, more = operands[0], operands[1], [*operands[2], *captured]
            body = trace_subgraph(mode, functions[0], (*init, *_slices(xs), *more))
            carried, rows = body.results[: len(init)], body.results[len(init) :]
            check_carried("scan", init, carried)
            results = [fresh(mode, r) for r in carried]
            results += [with_rows(mode, r, xs[0].shape[0]) for r in rows]
            record_loop(mode, self, [(body, "scan_combine_graph")], [init, xs, more], results)
            return results

        def unroll(_: Any = None) -> Any:
            return _scan_rows(combine_fn, init, xs, more)

        if mode is None:
            return unroll()
        examples = (*init, *_slices(xs), *more)
        return call_in_trace(mode, (combine_fn,), examples, (init, xs, more), record, unroll)


def _scan_rows(combine_fn: Any, init: list[Any], xs: list[Any], more: list[Any]) -> list[Any]:
    carried, rows = init, []
    for i in range(int(xs[0].shape[0])):
        results = list(combine_fn(*carried, *(x[i] for x in xs), *more))
        check_carried("scan", carried, results[: len(carried)])
        carried = results[: len(carried)]
        rows.append(results[len(carried) :])
    return [*carried, *(_column("scan", column) for column in zip(*rows, strict=True))]


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
    flat_init, init_spec = tree_flatten(init)
    flat, spec = tree_flatten(xs)
    if not flat:
        return init, []
    _check_scan(combine_fn, flat_init, flat, dim, reverse)
    dim %= flat[0].ndim
    moved = [x.movedim(dim, 0) if dim else x for x in flat]
    moved = [x.flip(0) for x in moved] if reverse else moved
    specs: list[Any] = []

    def on_leaves(*leaves: Any) -> Any:
        n = len(flat_init)
        results = combine_fn(init_spec.unflatten(leaves[:n]), spec.unflatten(leaves[n : n + len(flat)]))
        if not isinstance(results, (tuple, list)) or len(results) != 2:
            raise RuntimeError("scan(): expected combine_fn to return the next carry and a result")
        next_flat, next_spec = tree_flatten(results[0])
        if next_spec != init_spec:
            raise RuntimeError(
                f"scan(): expected the pytree of the next carry to be that of init, got {next_spec} and {init_spec}"
            )
        outputs, out_spec = tree_flatten(results[1])
        specs[:] = [out_spec]
        return [*next_flat, *outputs]

    results = scan_op(on_leaves, flat_init, moved)
    rows = [_orient(row, dim, reverse) for row in results[len(flat_init) :]]
    return init_spec.unflatten(results[: len(flat_init)]), specs[0].unflatten(rows)


def _check_scan(combine_fn: Any, init: list[Any], xs: list[Any], dim: Any, reverse: Any) -> None:
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise RuntimeError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if not init:
        raise RuntimeError("scan() operator requires init leaves.")
    for name, leaves in (("init", init), ("xs", xs)):
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(f"All {name} leaves must be a Tensor but got {leaf}")
    if not -xs[0].ndim <= dim < xs[0].ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-xs[0].ndim}, {xs[0].ndim - 1}], but got {dim})"
        )
    dim %= xs[0].ndim
    if any(x.ndim <= dim or not x.shape[dim] for x in xs):
        raise RuntimeError(
            "All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0"
        )
    if any(bool(x.shape[dim] != xs[0].shape[dim]) for x in xs):
        raise RuntimeError(f"All xs leaves must have one size along dim, got {[x.shape[dim] for x in xs]}")


def _orient(rows: Any, dim: int, reverse: bool) -> Any:
    """Results in a row, in the order and along the dimension of the inputs."""
    if rows is None:
        return None
    rows = rows.flip(0) if reverse else rows
    return rows.movedim(0, dim) if 0 < dim < rows.ndim else rows


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
        xs, more = list(xs), list(additional_inputs)
        mode: Any = current_mode()

        def record(functions: Any, operands: Any, captured: Any) -> Any:
            xs, more = operands[0], [*operands[1], *captured]
            slices = _slices(xs)
            body = trace_subgraph(mode, functions[0], (*slices, *slices, *more))
            check_carried("associative_scan", slices, body.results)
            results = [with_rows(mode, r, xs[0].shape[0]) for r in body.results]
            record_loop(mode, self, [(body, "associative_scan_combine_graph")], [xs, more], results)
            return results

        def unroll(_: Any = None) -> Any:
            return _combine_rows(combine_fn, xs, more)

        if mode is None:
            return unroll()
        slices = _slices(xs)
        return call_in_trace(mode, (combine_fn,), (*slices, *slices, *more), (xs, more), record, unroll)


def _combine_rows(combine_fn: Any, xs: list[Any], more: list[Any]) -> list[Any]:
    carried = [x[0] for x in xs]
    rows = [carried]
    for i in range(1, int(xs[0].shape[0])):
        following = list(combine_fn(*carried, *(x[i] for x in xs), *more))
        check_carried("associative_scan", carried, following)
        carried = following
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
    if not -flat[0].ndim <= dim < flat[0].ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-flat[0].ndim}, {flat[0].ndim - 1}], but got {dim})"
        )
    dim %= flat[0].ndim
    if any(x.ndim <= dim or not x.shape[dim] for x in flat):
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    if any(bool(x.shape[dim] != flat[0].shape[dim]) for x in flat):
        raise ValueError(f"All xs leaves must have one size along dim, got {[x.shape[dim] for x in flat]}")
    moved = [x.movedim(dim, 0) if dim else x for x in flat]
    moved = [x.flip(0) for x in moved] if reverse else moved

    def on_leaves(*leaves: Any) -> Any:
        n = len(flat)
        combined = combine_fn(spec.unflatten(leaves[:n]), spec.unflatten(leaves[n : 2 * n]))
        outputs, out_spec = tree_flatten(combined)
        if out_spec != spec:
            raise ValueError(f"The pytree of combine_fn's result, {out_spec}, is not that of xs, {spec}")
        return outputs

    results = associative_scan_op(on_leaves, moved)
    return spec.unflatten([_orient(r, dim, reverse) for r in results])
