"""What only this library computes by one operator, by the operators that others know.

Derivatives are formulas in rows of our own, such as the adjoint of a pool. A graph that people read, save or hand to
other tools has in their place what the reference's has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import tl_nn.composite_operators  # noqa: F401 - the losses of aten
from tl_core.gradient_operators import rows_lie_outside
from tl_core.ops import aten

__all__ = ["FORMULAS", "WHOLE", "Recording"]


class Recording(Protocol):
    """What a formula records with: called with an operator and its arguments, it gives the result."""

    def __call__(self, op: Any, /, *args: Any, **kwargs: Any) -> Any: ...

    def origin(self, t: Any) -> Any:
        """The node of the operator that a tensor is a result of; None for one that is not known.

        Args:
            t: the tensor.
        """


FORMULAS: dict[str, Callable[..., Any]] = {}
# What functions in Python call, so that graphs above autograd meet them, too.
WHOLE = frozenset({"squared_error", "smooth_l1_error", "huber_error"})


def _formula(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        FORMULAS.update(dict.fromkeys(names, f))
        return f

    return register


def _op(name: str) -> Any:
    """An operator that others know, whatever its name begins with."""
    return getattr(aten, name).default


def _target(node: Any) -> str:
    """The name of the operator of a node, without its overload."""
    packet = getattr(getattr(node, "target", None), "overloadpacket", None)
    return "" if packet is None else str(packet.__name__)


def _value(a: Any) -> Any:
    """What an argument of a node stands for."""
    return a.meta.get("val") if hasattr(a, "meta") else a


# ---- sizes
@_formula("unsum")
def _unsum(r: Recording, grad: Any, sizes: Any, dim: Any, keepdim: bool) -> Any:
    for d in sorted(d % len(sizes) for d in dim or ()) if sizes and not keepdim else ():
        grad = r(aten.unsqueeze.default, grad, d)
    return r(aten.expand.default, grad, sizes)


@_formula("permute_backward")
def _permute(r: Recording, grad: Any, dims: Any) -> Any:
    order = [d % len(dims) for d in dims]
    return r(aten.permute.default, grad, [order.index(d) for d in range(len(order))])


@_formula("cumsum_backward")
def _cumsum(r: Recording, grad: Any, dim: int) -> Any:
    if grad.numel() <= 1 or grad.shape[dim] == 1:
        return grad
    return r(aten.flip.default, r(aten.cumsum.default, r(aten.flip.default, grad, [dim]), dim), [dim])


@_formula("split_with_sizes_backward")
def _pieces(r: Recording, grads: Any, sizes: Any, split_sizes: Any, dim: int) -> Any:
    def shape(n: int) -> list[Any]:
        return [n if d == dim % len(sizes) else size for d, size in enumerate(sizes)]

    given = next(g for g in grads if g is not None)
    pieces = [
        r(aten.new_zeros.default, given, shape(n)) if g is None else g
        for g, n in zip(grads, split_sizes, strict=True)
    ]
    return r(aten.cat.default, pieces, dim)


@_formula("split_backward")
def _split(r: Recording, grads: Any, sizes: Any, split_size: int, dim: int) -> Any:
    whole = sizes[dim]
    ends = [min(split_size * (i + 1), whole) for i in range(len(grads))]
    return _pieces(r, grads, sizes, [end - start for start, end in zip([0, *ends], ends, strict=False)], dim)


@_formula("unbind_backward")
def _unbind(r: Recording, grads: Any, sizes: Any, dim: int) -> Any:
    shape = [n for d, n in enumerate(sizes) if d != dim % len(sizes)]
    given = next(g for g in grads if g is not None)
    slices = [r(aten.new_zeros.default, given, shape) if g is None else g for g in grads]
    return r(aten.stack.default, slices, dim)


# ---- indices
@_formula("index_backward")
def _index(r: Recording, grad: Any, sizes: Any, indices: Any) -> Any:
    return r(aten.index_put.default, r(aten.new_zeros.default, grad, sizes), list(indices), grad, True)


@_formula("index_select_backward")
def _index_select(r: Recording, grad: Any, sizes: Any, dim: int, index: Any) -> Any:
    return r(aten.index_add.default, r(aten.new_zeros.default, grad, sizes), dim, index, grad)


@_formula("_put_by_index")
def _put_by_index(r: Recording, source: Any, indices: Any, sizes: Any, spatial: int) -> Any:
    pool = r.origin(indices)
    name = _target(pool)
    x = None if pool is None else _value(pool.args[0])
    if x is None or list(x.shape) != list(sizes) or spatial not in (2, 3):
        return _scattered(r, source, indices, sizes, spatial)
    if name == f"max_pool{spatial}d_with_indices":
        given = list(pool.args[1:])
        defaults = (given[0], [0] * spatial, [1] * spatial, False)  # stride, padding, dilation, ceil_mode
        given += defaults[len(given) - 1 :]
        return r(_op(f"{name}_backward"), source, x, *given, indices)
    if name == f"adaptive_max_pool{spatial}d":
        return r(_op(f"{name}_backward"), source, x, indices)
    return _scattered(r, source, indices, sizes, spatial)


def _scattered(r: Recording, source: Any, indices: Any, sizes: Any, spatial: int) -> Any:
    lead, count = list(sizes[:-spatial]), math.prod(sizes[-spatial:])
    zeros = r(aten.new_zeros.default, source, [*lead, count])
    rows = [_viewed(r, t, [*lead, math.prod(t.shape[-spatial:])]) for t in (indices, source)]
    return r(aten.view.default, r(aten.scatter_add.default, zeros, len(lead), *rows), sizes)


def _viewed(r: Recording, t: Any, sizes: list[Any]) -> Any:
    if list(t.shape) == sizes:
        return t
    dense = t if t.is_contiguous() else r(aten.clone.default, t)
    return (
        r(aten.view.default, dense, sizes) if dense.is_contiguous() else r(aten.reshape.default, dense, sizes)
    )


@_formula("_unpool")
def _unpool(r: Recording, source: Any, indices: Any, output_size: Any) -> Any:
    if source.ndim - len(output_size) not in (0, 1, 2) or indices.ndim not in (3, 4):
        return NotImplemented
    return r(aten.max_unpool2d.default, source, indices, list(output_size[-2:]))


# ---- pools and borders
@_formula("_avg_pool_adjoint")
def _avg_pool(r: Recording, grad: Any, sizes: Any, kernel: Any, stride: Any, padding: Any, *rest: Any) -> Any:
    if len(kernel) > 1:
        op = _op(f"avg_pool{len(kernel)}d_backward")
        return r(op, grad, r(aten.new_empty.default, grad, sizes), kernel, stride, padding, *rest)
    flat = r(aten.unsqueeze.default, grad, -2)
    like = r(aten.new_empty.default, grad, [*sizes[:-1], 1, sizes[-1]])
    window = [[1, *kernel], [1, *stride], [0, *padding]]
    return r(aten.squeeze.dim, r(aten.avg_pool2d_backward.default, flat, like, *window, *rest), -2)


@_formula("_adaptive_avg_pool_adjoint")
def _adaptive_avg_pool(r: Recording, grad: Any, sizes: Any, spatial: int) -> Any:
    if spatial > 1:
        op = _op(f"_adaptive_avg_pool{spatial}d_backward")
        return r(op, grad, r(aten.new_empty.default, grad, sizes))
    flat = r(aten.unsqueeze.default, grad, -2)
    like = r(aten.new_empty.default, grad, [*sizes[:-1], 1, sizes[-1]])
    return r(aten.squeeze.dim, r(_op("_adaptive_avg_pool2d_backward"), flat, like), -2)


@_formula("_border_adjoint")
def _border(r: Recording, grad: Any, sizes: Any, padding: Any, mode: str) -> Any:
    if mode == "circular":
        return _unwrapped(r, grad, sizes, padding)
    kind = {"reflect": "reflection", "replicate": "replication"}[mode]
    op = _op(f"{kind}_pad{len(padding) // 2}d_backward")
    return r(op, grad, r(aten.new_empty.default, grad, sizes), padding)


@_formula("_pad_circular")
def _wrapped(r: Recording, x: Any, padding: Any) -> Any:
    if min(padding) < 0:
        return NotImplemented
    for i in range(len(padding) // 2):
        dim, before, after = x.ndim - 1 - i, padding[2 * i], padding[2 * i + 1]
        n = x.shape[dim]
        sides = [(n - before, n)] * (before > 0), [(0, after)] * (after > 0)
        left, right = ([r(aten.slice.Tensor, x, dim, *side) for side in found] for found in sides)
        x = r(aten.cat.default, [*left, x, *right], dim) if left or right else x
    return x


def _unwrapped(r: Recording, grad: Any, sizes: Any, padding: Any) -> Any:
    """The gradient of `_pad_circular`: both borders are added to the other sides."""
    if min(padding) < 0:
        return NotImplemented
    for i in reversed(range(len(padding) // 2)):
        dim, before, after = grad.ndim - 1 - i, padding[2 * i], padding[2 * i + 1]
        n = sizes[dim]
        inner = r(aten.slice.Tensor, grad, dim, before, before + n)
        for start, size, ahead in ((0, before, n - before), (before + n, after, 0)):
            if size:
                border = r(aten.slice.Tensor, grad, dim, start, start + size)
                around = [0] * (2 * i) + [ahead, n - size - ahead]
                inner = r(aten.add.Tensor, inner, r(aten.constant_pad_nd.default, border, around))
        grad = inner
    return grad


# ---- convolutions
@_formula("_convolve")
def _convolve(
    r: Recording,
    x: Any,
    weight: Any,
    bias: Any,
    sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    spatial = zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    found = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in spatial]
    if found != list(sizes)[-len(found) :]:
        return NotImplemented
    zeros = [0] * len(stride)
    return r(aten.convolution.default, x, weight, bias, stride, padding, dilation, False, zeros, groups)


@_formula("_convolve_input")
def _convolve_input(
    r: Recording,
    grad: Any,
    weight: Any,
    bias: Any,
    sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    if bias is not None:
        return NotImplemented
    like, zeros = r(aten.new_empty.default, grad, sizes), [0] * len(stride)
    settings = (None, stride, padding, dilation, False, zeros, groups, [True, False, False])
    return r(aten.convolution_backward.default, grad, like, weight, *settings)[0]


@_formula("_convolve_weight")
def _convolve_weight(
    r: Recording, grad: Any, x: Any, sizes: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    like, zeros = r(aten.new_empty.default, grad, sizes), [0] * len(stride)
    settings = (None, stride, padding, dilation, False, zeros, groups, [False, True, False])
    return r(aten.convolution_backward.default, grad, x, like, *settings)[1]


# ---- activations and losses
@_formula("_glu_halves")
def _glu(r: Recording, x: Any, gate: Any) -> Any:
    return r(aten.mul.Tensor, x, r(aten.sigmoid.default, gate))


@_formula("squared_error")
def _squared_error(r: Recording, x: Any, target: Any) -> Any:
    return r(aten.mse_loss.default, x, target, 0)


@_formula("smooth_l1_error")
def _smooth_l1_error(r: Recording, x: Any, target: Any, beta: Any) -> Any:
    return r(aten.smooth_l1_loss.default, x, target, 0, beta)


@_formula("huber_error")
def _huber_error(r: Recording, x: Any, target: Any, delta: Any) -> Any:
    return r(aten.huber_loss.default, x, target, 0, delta)


@_formula("_leaky_relu_backward")
def _leaky_relu(r: Recording, grad: Any, x: Any, negative_slope: Any) -> Any:
    return r(aten.leaky_relu_backward.default, grad, x, negative_slope, False)


@_formula("_nll_loss_backward")
def _nll_loss(
    r: Recording,
    grad: Any,
    target: Any,
    weight: Any,
    sizes: Any,
    reduction: int,
    ignore_index: int,
    total: Any,
) -> Any:
    forward = r.origin(total)
    known = _target(forward).startswith("nll_loss")
    scores = _value(forward.args[0]) if known else r(aten.new_empty.default, grad, sizes)
    op = aten.nll_loss2d_backward if len(sizes) == 4 else aten.nll_loss_backward
    return r(op.default, grad, scores, target, weight, reduction, ignore_index, total)


@_formula("_cross_entropy")
def _cross_entropy(
    r: Recording, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int
) -> tuple[Any, Any, Any]:
    dim = min(x.ndim - 1, 1)
    scores = r(_op("_log_softmax"), x, dim, False)
    op = aten.nll_loss2d_forward if x.ndim == 4 else aten.nll_loss_forward
    loss, total = r(op.default, scores, target, weight, reduction, ignore_index)
    return loss, r(aten.logsumexp.default, x, [dim]), total


@_formula("_cross_entropy_backward")
def _cross_entropy_backward(
    r: Recording,
    grad: Any,
    x: Any,
    _: Any,
    total: Any,
    target: Any,
    weight: Any,
    reduction: int,
    ignore_index: int,
) -> Any:
    dim, forward = min(x.ndim - 1, 1), r.origin(total)
    known = _target(forward).startswith("nll_loss")
    scores = _value(forward.args[0]) if known else r(_op("_log_softmax"), x, dim, False)
    op = aten.nll_loss2d_backward if x.ndim == 4 else aten.nll_loss_backward
    inner = r(op.default, grad, scores, target, weight, reduction, ignore_index, total)
    return r(_op("_log_softmax_backward_data"), inner, scores, dim, x.dtype)


# ---- attention
def _attention_call(mask: Any, scale: float) -> dict[str, Any]:
    return {"scale": scale} if mask is None else {"attn_mask": mask, "scale": scale}


@_formula("_attention")
def _attention(
    r: Recording,
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    causal: bool,
    scale: float,
    rows_outside: bool,
    rng_state: Any = None,
    dropout: float = 0.0,
) -> Any:
    if rng_state is not None or dropout or rows_outside != rows_lie_outside(query):
        return NotImplemented
    op = _op("_scaled_dot_product_flash_attention_for_cpu")
    return r(op, query, key, value, 0.0, causal, **_attention_call(mask, scale))


@_formula("_attention_backward")
def _attention_backward(
    r: Recording, grad: Any, query: Any, key: Any, value: Any, mask: Any, *rest: Any
) -> Any:
    output, sums, causal, scale, rng_state, dropout, *wanted = rest
    if rng_state is not None or dropout or wanted[3]:
        return NotImplemented
    op = _op("_scaled_dot_product_flash_attention_for_cpu_backward")
    made = r(op, grad, query, key, value, output, sums, 0.0, causal, **_attention_call(mask, scale))
    return *made, None


# ---- reading at points
def _plain(order: Any) -> bool:
    return not any(order)


@_formula("_grid_sample")
def _grid_sample(
    r: Recording, x: Any, grid: Any, interpolation: int, padding: int, align: bool, order: Any
) -> Any:
    if not _plain(order):
        return NotImplemented
    op = _op(f"grid_sampler_{x.ndim - 2}d")
    return r(op, x, grid, interpolation, padding, align)


@_formula("_grid_sample_adjoint")
def _grid_sample_adjoint(r: Recording, grad: Any, grid: Any, sizes: Any, *settings: Any) -> Any:
    *given, order = settings
    if not _plain(order):
        return NotImplemented
    op = _op(f"grid_sampler_{grad.ndim - 2}d_backward")
    return r(op, grad, r(aten.new_empty.default, grad, sizes), grid, *given, [True, False])[0]


@_formula("_grid_sample_derivative")
def _grid_sample_derivative(r: Recording, grad: Any, x: Any, grid: Any, *settings: Any) -> Any:
    *given, order = settings
    if not _plain(order):
        return NotImplemented
    op = _op(f"grid_sampler_{grad.ndim - 2}d_backward")
    return r(op, grad, x, grid, *given, [False, True])[1]


@_formula("_linalg_solve")
def _solve(r: Recording, a: Any, b: Any) -> Any:
    return r(aten.linalg_solve.default, a, b) if a.ndim == b.ndim else NotImplemented


# ---- norms
def _last_sizes(x: Any, rows: int, count: int) -> list[Any] | None:
    """The fewest last sizes of an input whose product is a number, where the others make up the rows."""
    found: list[Any] = []
    for n in reversed(x.shape):
        found.insert(0, n)
        if math.prod(found) == count and math.prod(x.shape) == rows * count:
            return found
    return None


@_formula("_sample_norm")
def _sample_norm(
    r: Recording,
    x: Any,
    weight: Any,
    bias: Any,
    N: int,
    C: int,
    S: int,
    groups: int,
    eps: float,
    centered: bool,
) -> Any:
    shape = _last_sizes(x, N, C) if S == 1 and groups == 1 else None
    if not centered:
        return NotImplemented if shape is None else _rms(r, x, weight, shape, N, eps)
    if shape is not None:
        weight, bias = (p if p is None else _viewed(r, p, shape) for p in (weight, bias))
        made = r(aten.native_layer_norm.default, x, shape, weight, bias, eps)
    else:
        made = r(aten.native_group_norm.default, x, weight, bias, N, C, S, groups, eps)
    return (made[0], *(r(aten.view.default, t, [N, groups]) for t in made[1:]))


def _statistics(r: Recording, *tensors: Any) -> tuple[Any, list[Any]]:
    """The node of the operator that statistics are results of, and those results; None if it is not known."""
    views = [r.origin(t) for t in tensors]
    results = [_value(v.args[0]) for v in views if _target(v) == "view"]
    return (r.origin(results[0]), results) if len(results) == len(tensors) else (None, [])


@_formula("_sample_norm_backward")
def _sample_norm_backward(r: Recording, grad: Any, x: Any, mean: Any, rstd: Any, *rest: Any) -> Any:
    weight, bias, N, C, S, groups, _eps, centered, *wanted = rest
    if not centered:
        shape = _last_sizes(x, N, C) if S == 1 and groups == 1 else None
        return NotImplemented if shape is None else _rms_backward(r, grad, x, rstd, weight, shape, wanted)
    forward, statistics = _statistics(r, mean, rstd)
    if _target(forward) == "native_layer_norm":
        shape = list(forward.args[1])
        weight, bias = (_value(p) for p in forward.args[2:4])
        op = aten.native_layer_norm_backward.default
        return _like_parameters(r, r(op, grad, x, shape, *statistics, weight, bias, wanted), rest)
    if _target(forward) == "native_group_norm":
        op = aten.native_group_norm_backward.default
        return r(op, grad, x, *statistics, weight, N, C, S, groups, wanted)
    return NotImplemented


def _like_parameters(r: Recording, grads: Any, parameters: Any) -> tuple[Any, ...]:
    """Gradients in the shapes of the parameters."""
    made = [
        g if g is None or p is None or g.shape == p.shape else r(aten.view.default, g, list(p.shape))
        for g, p in zip(grads[1:], parameters, strict=False)
    ]
    return grads[0], *made


def _rms(r: Recording, x: Any, weight: Any, shape: list[Any], rows: int, eps: float) -> Any:
    dims = list(range(-len(shape), 0))
    square = r(aten.mean.dim, r(aten.pow.Tensor_Scalar, x, 2), dims, True)
    rstd = r(aten.rsqrt.default, r(aten.add.Tensor, square, eps))
    out = r(aten.mul.Tensor, x, rstd)
    if weight is not None:
        out = r(aten.mul.Tensor, out, _viewed(r, weight, shape))
    flat = r(aten.view.default, rstd, [rows, 1])
    return out, r(aten.zeros_like.default, flat), flat


def _rms_backward(
    r: Recording, grad: Any, x: Any, rstd: Any, weight: Any, shape: list[Any], wanted: Any
) -> tuple[Any, Any, Any]:
    """Of y = x·r·w with r the reciprocal root of the mean square: r·(g·w − x·r²·mean(g·w·x))."""
    mul, dims = aten.mul.Tensor, list(range(-len(shape), 0))
    rstd = r(aten.view.default, rstd, [*x.shape[: -len(shape)], *[1] * len(shape)])
    inner = grad if weight is None else r(mul, grad, _viewed(r, weight, shape))
    shared = r(mul, r(aten.mean.dim, r(mul, inner, x), dims, True), r(aten.pow.Tensor_Scalar, rstd, 2))
    of_input = r(mul, rstd, r(aten.sub.Tensor, inner, r(mul, x, shared)))
    of_weight = None
    if weight is not None and wanted[1]:
        of_weight = r(mul, r(mul, grad, x), rstd)
        if x.ndim > len(shape):
            of_weight = r(aten.sum.dim_IntList, of_weight, list(range(x.ndim - len(shape))))
        of_weight = r(aten.view.default, of_weight, list(weight.shape))
    return of_input, of_weight, None


@_formula("_batch_norm")
def _batch_norm(
    r: Recording,
    x: Any,
    weight: Any,
    bias: Any,
    mean: Any,
    var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    made = r(aten.native_batch_norm.default, x, weight, bias, mean, var, training, momentum, eps)
    if training:
        return made
    return made[0], r(aten.detach.default, mean), r(aten.rsqrt.default, r(aten.add.Tensor, var, eps))


@_formula("_batch_norm_backward")
def _batch_norm_backward(
    r: Recording,
    grad: Any,
    x: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    training: bool,
    eps: float,
    *wanted: Any,
) -> Any:
    forward = r.origin(rstd)
    if training and _target(forward) == "native_batch_norm":
        running = [_value(a) for a in forward.args[3:5]]
    elif not training and _target(forward) == "rsqrt":
        running = [mean, _value(forward.args[0].args[0])]
    else:
        return NotImplemented
    op = aten.native_batch_norm_backward.default
    return r(op, grad, x, weight, *running, mean, rstd, training, eps, list(wanted))
