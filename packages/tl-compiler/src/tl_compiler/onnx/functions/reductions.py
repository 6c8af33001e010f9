"""Reductions, scans along a dimension, and order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .registry import translates

__all__: list[str] = []  # the functions enter the table of translations by the names of operators

_FLAT = [-1]


def _variance(op: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    axes = list(dim) if dim else list(range(len(self.shape)))
    keep = int(keepdim)
    if not axes:  # a number
        mean = op.Identity(self)
        return op.Mul(op.Sub(self, mean), op.constant(float("nan"), self)), mean
    mean = op.ReduceMean(self, axes, keepdims=1)
    difference = op.Sub(self, mean)
    total = op.ReduceSum(op.Mul(difference, difference), axes, keepdims=keep)
    sizes = [self.shape[a] for a in axes]
    step = 1.0 if correction is None else float(correction)
    if all(isinstance(n, int) for n in sizes):
        count = 1
        for n in sizes:
            count *= n
        rest = max(count - step, 0.0)
        variance = op.Div(total, op.constant(float(rest), self))
    else:
        size = op.ReduceProd(op.Gather(op.Shape(self), [a % len(self.shape) for a in axes]), keepdims=0)
        variance = op.Div(total, op.Sub(op.Cast(size, to=int(self.dtype)), op.constant(step, self)))
    return variance, mean if keepdim else op.Squeeze(mean, axes)


@translates("aten::var.correction", "aten::var.dim", "aten::var")
def var(op: Any, self: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Any:
    """The variance."""
    return _variance(op, self, dim, correction, keepdim)[0]


@translates("aten::std.correction")
def std(op: Any, self: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Any:
    """The standard deviation."""
    return op.Sqrt(_variance(op, self, dim, correction, keepdim)[0])


@translates("aten::var_mean.correction")
def var_mean(op: Any, self: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Any:
    """The variance and the mean."""
    return list(_variance(op, self, dim, correction, keepdim))


@translates("aten::std_mean.correction")
def std_mean(op: Any, self: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Any:
    """The standard deviation and the mean."""
    variance, mean = _variance(op, self, dim, correction, keepdim)
    return [op.Sqrt(variance), mean]


@translates("aten::aminmax")
def aminmax(op: Any, self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The least and the greatest element."""
    axes = [] if dim is None else [[dim]]
    return [
        op.ReduceMin(self, *axes, keepdims=int(keepdim)),
        op.ReduceMax(self, *axes, keepdims=int(keepdim)),
    ]


# ---- scans
def _scan(op: Any, step: Any, first: Sequence[Any], sequence: Sequence[Any], axis: int) -> Any:
    """A Scan along an axis.

    Args:
        op: the call.
        step: of the builder of the body, the states and the elements, the next states and the results.
        first: the states at first.
        sequence: the values to go along.
        axis: the axis.

    Returns:
        The last states, then the results along the axis.
    """
    builder, count = op.builder, len(first)
    with builder.open_graph("scan_body") as inner:
        states = [inner.value(inner.unique("state"), v.type, v.shape) for v in first]
        slices = [inner.value(inner.unique("slice"), v.type, _without(v.shape, axis)) for v in sequence]
        inner.graph.inputs.extend([*states, *slices])
        next_states, results = step(states, slices)
        outputs = [inner.call_op("Identity", (v,), {}) for v in (*next_states, *results)]
        inner.graph.outputs.extend(outputs)
        body = inner.graph
    return builder.call_op(
        "Scan",
        [*first, *sequence],
        {
            "body": body,
            "num_scan_inputs": len(sequence),
            "scan_input_axes": [axis] * len(sequence),
            "scan_output_axes": [axis] * len(results),
        },
        outputs=count + len(results),
    )


def _without(shape: Any, axis: int) -> Any:
    import onnx_ir as ir

    return ir.Shape([n for i, n in enumerate(shape) if i != axis % len(shape)])


def _first_slice(op: Any, value: Any, axis: int) -> Any:
    return op.Gather(value, 0, axis=axis)


@translates("aten::cumprod")
def cumprod(op: Any, self: Any, dim: int, dtype: Any = None) -> Any:
    """The product of all elements up to each."""
    kind = op.kind
    if self.dtype != kind:
        self = op.Cast(self, to=int(kind))
    if not self.shape:
        return op.Identity(self)
    axis = dim % len(self.shape)
    one = op.CastLike(op.constant(1), self)
    first = op.Expand(
        one, op.Shape(op.give_shape(_first_slice(op, self, axis), self, _without(self.shape, axis)))
    )
    first = op.give_shape(first, self, _without(self.shape, axis))

    def step(states: Any, slices: Any) -> Any:
        product = op.Mul(states[0], slices[0])
        return [product], [product]

    return _scan(op, step, [first], [self], axis)[1]


def _extreme(op: Any, self: Any, dim: int, compare: str) -> Any:
    if not self.shape:
        return [op.Identity(self), op.constant(0)]
    axis = dim % len(self.shape)
    shape = _without(self.shape, axis)
    first = op.give_shape(_first_slice(op, self, axis), self, shape)
    position = op.CastLike(op.Sub(op.Shape(op.Reshape(op.constant([0]), [-1])), [1]), op.constant(0))
    zeros = op.Expand(op.Squeeze(position, [0]), op.Shape(first))
    zeros = op.give_shape(zeros, op.constant(0), shape)
    step_number = op.constant(0)

    def step(states: Any, slices: Any) -> Any:
        best, at, number = states
        replace = getattr(op, compare)(slices[0], best)
        best = op.Where(replace, slices[0], best)
        at = op.Where(replace, number, at)
        return [best, at, op.Add(number, 1)], [best, at]

    return list(_scan(op, step, [first, zeros, step_number], [self], axis)[3:])


@translates("aten::cummax")
def cummax(op: Any, self: Any, dim: int) -> Any:
    """The greatest element up to each, and its position."""
    return _extreme(op, self, dim, "GreaterOrEqual")


@translates("aten::cummin")
def cummin(op: Any, self: Any, dim: int) -> Any:
    """The least element up to each, and its position."""
    return _extreme(op, self, dim, "LessOrEqual")


# ---- order
def _order(op: Any, self: Any, dim: int, descending: bool, count: Any = None) -> Any:
    size = op.size(self, dim) if count is None else count
    return op.TopK(self, size, axis=dim, largest=int(descending), _outputs=2)


@translates("aten::argsort", "aten::argsort.stable")
def argsort(op: Any, self: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The positions of the elements in order."""
    if not self.shape:
        return op.constant(0)
    return _order(op, self, dim, descending)[1]


@translates("aten::sort.stable")
def sort_stable(op: Any, self: Any, stable: Any = None, dim: int = -1, descending: bool = False) -> Any:
    """The elements in order, and their positions."""
    if not self.shape:
        return [op.Identity(self), op.constant(0)]
    return list(_order(op, self, dim, descending))


def _at(op: Any, self: Any, dim: int, position: Any, keepdim: bool) -> Any:
    if not self.shape:
        return [op.Identity(self), op.constant(0)]
    values, positions = _order(op, self, dim, False)
    results = [op.Gather(v, position, axis=dim) for v in (values, positions)]
    return results if keepdim else [op.Squeeze(v, [dim]) for v in results]


@translates("aten::kthvalue")
def kthvalue(op: Any, self: Any, k: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element, and its position."""
    return _at(op, self, dim, [k - 1], keepdim)


@translates("aten::median.dim")
def median_dim(op: Any, self: Any, dim: int, keepdim: bool = False) -> Any:
    """The lower median, and its position."""
    middle = op.Div(op.Sub(op.size(self, dim), 1), 2) if self.shape else None
    return _at(op, self, dim, middle, keepdim)


@translates("aten::median")
def median(op: Any, self: Any) -> Any:
    """The lower median of all elements."""
    flat = op.Reshape(self, _FLAT)
    values = op.TopK(flat, op.Shape(flat), axis=0, largest=0, _outputs=2)[0]
    return op.Squeeze(op.Gather(values, op.Div(op.Sub(op.Shape(flat), 1), 2)), [0])


# ---- distances
@translates("aten::_distances")
def distances(op: Any, x1: Any, x2: Any, p: float, product: bool, later: bool) -> Any:
    """The p-norm of the difference of each pair of rows."""
    return norm_of(op, op.Sub(op.Unsqueeze(x1, [-2]), op.Unsqueeze(x2, [-3])), float(p))


@translates("aten::_cdist_forward")
def cdist_forward(op: Any, x1: Any, x2: Any, p: float, compute_mode: Any = None) -> Any:
    """The p-norm of the difference of each pair of rows."""
    return norm_of(op, op.Sub(op.Unsqueeze(x1, [-2]), op.Unsqueeze(x2, [-3])), float(p))


def norm_of(op: Any, value: Any, p: float) -> Any:
    """The p-norm along the last axis.

    Args:
        op: the call.
        value: the value.
        p: the order.
    """
    if p == 2:
        return op.ReduceL2(value, [-1], keepdims=0)
    if p == 1:
        return op.ReduceL1(value, [-1], keepdims=0)
    magnitude = op.Abs(value)
    if p == float("inf"):
        return op.ReduceMax(magnitude, [-1], keepdims=0)
    if p == 0:
        nonzero = op.Cast(op.Not(op.Equal(value, op.constant(0.0, value))), to=int(value.dtype))
        return op.ReduceSum(nonzero, [-1], keepdims=0)
    total = op.ReduceSum(op.Pow(magnitude, op.constant(p, value)), [-1], keepdims=0)
    return op.Pow(total, op.constant(1 / p, value))
