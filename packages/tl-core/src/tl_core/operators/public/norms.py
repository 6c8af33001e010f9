"""Norms over the elements of a sample, and over a batch."""

from __future__ import annotations

import math
from typing import Any

from tl_core.operators.packets import aten

from .formula import Recording, formula, target_of, value_of, viewed


def _last_sizes(x: Any, rows: int, count: int) -> list[Any] | None:
    """The fewest last sizes of an input whose product is a number, where the others make up the rows."""
    sizes: list[Any] = []
    for n in reversed(x.shape):
        sizes.insert(0, n)
        if math.prod(sizes) == count and math.prod(x.shape) == rows * count:
            return sizes
    return None


@formula("_sample_norm")
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
        weight, bias = (p if p is None else viewed(r, p, shape) for p in (weight, bias))
        outputs = r(aten.native_layer_norm.default, x, shape, weight, bias, eps)
    else:
        outputs = r(aten.native_group_norm.default, x, weight, bias, N, C, S, groups, eps)
    return (outputs[0], *(r.unseen(aten.view.default, t, [N, groups]) for t in outputs[1:]))


def _statistics(r: Recording, *tensors: Any) -> tuple[Any, list[Any]]:
    """The node of the operator that statistics are results of, and those results; None if it is not known."""
    views = [r.origin(t) for t in tensors]
    results = [value_of(v.args[0]) for v in views if target_of(v) == "view"]
    return (r.origin(results[0]), results) if len(results) == len(tensors) else (None, [])


@formula("_sample_norm_backward")
def _sample_norm_backward(r: Recording, grad: Any, x: Any, mean: Any, rstd: Any, *rest: Any) -> Any:
    weight, bias, N, C, S, groups, _eps, centered, *needs = rest
    if not centered:
        shape = _last_sizes(x, N, C) if S == 1 and groups == 1 else None
        return NotImplemented if shape is None else _rms_backward(r, grad, x, rstd, weight, shape, needs)
    forward, statistics = _statistics(r, mean, rstd)
    if forward is None:
        return _seen_backward(r, grad, x, mean, rstd, rest)
    if target_of(forward) == "native_layer_norm":
        shape = list(forward.args[1])
        weight, bias = (value_of(p) for p in forward.args[2:4])
        op = aten.native_layer_norm_backward.default
        return _like_parameters(r, r(op, grad, x, shape, *statistics, weight, bias, needs), rest)
    if target_of(forward) == "native_group_norm":
        op = aten.native_group_norm_backward.default
        return r(op, grad, x, *statistics, weight, N, C, S, groups, needs)
    return NotImplemented


def _seen_backward(r: Recording, grad: Any, x: Any, mean: Any, rstd: Any, rest: Any) -> Any:
    """The gradient where nothing says which operator the norm was: its numbers do."""
    weight, bias, N, C, S, groups, _eps, _centered, *needs = rest
    shape = _last_sizes(x, N, C) if S == 1 and groups == 1 else None
    if shape is None:
        op = aten.native_group_norm_backward.default
        return r(op, grad, x, mean, rstd, weight, N, C, S, groups, needs)
    ones = [1] * len(shape)
    statistics = (r.unseen(aten.view.default, t, [*x.shape[: -len(shape)], *ones]) for t in (mean, rstd))
    parameters = (p if p is None else r.unseen(aten.view.default, p, shape) for p in (weight, bias))
    op = aten.native_layer_norm_backward.default
    return _like_parameters(r, r(op, grad, x, shape, *statistics, *parameters, needs), rest)


def _like_parameters(r: Recording, grads: Any, parameters: Any) -> tuple[Any, ...]:
    """Gradients in the shapes of the parameters."""
    reshaped = [
        g if g is None or p is None or g.shape == p.shape else r.unseen(aten.view.default, g, list(p.shape))
        for g, p in zip(grads[1:], parameters, strict=False)
    ]
    return grads[0], *reshaped


def _rms(r: Recording, x: Any, weight: Any, shape: list[Any], rows: int, eps: float) -> Any:
    dims = list(range(-len(shape), 0))
    square = r(aten.mean.dim, r(aten.pow.Tensor_Scalar, x, 2), dims, True)
    rstd = r(aten.rsqrt.default, r(aten.add.Tensor, square, eps))
    out = r(aten.mul.Tensor, x, rstd)
    if weight is not None:
        out = r(aten.mul.Tensor, out, viewed(r, weight, shape))
    flat = r(aten.view.default, rstd, [rows, 1])
    return out, r.unseen(aten.zeros_like.default, flat), flat


def _rms_backward(
    r: Recording, grad: Any, x: Any, rstd: Any, weight: Any, shape: list[Any], needs: Any
) -> tuple[Any, Any, Any]:
    """Of y = x·r·w with r the reciprocal root of the mean square: r·(g·w − x·r²·mean(g·w·x))."""
    mul, dims = aten.mul.Tensor, list(range(-len(shape), 0))
    rstd = r(aten.view.default, rstd, [*x.shape[: -len(shape)], *[1] * len(shape)])
    inner = grad if weight is None else r(mul, grad, viewed(r, weight, shape))
    shared = r(mul, r(aten.mean.dim, r(mul, inner, x), dims, True), r(aten.pow.Tensor_Scalar, rstd, 2))
    of_input = r(mul, rstd, r(aten.sub.Tensor, inner, r(mul, x, shared)))
    of_weight = None
    if weight is not None and needs[1]:
        of_weight = r(mul, r(mul, grad, x), rstd)
        if x.ndim > len(shape):
            of_weight = r(aten.sum.dim_IntList, of_weight, list(range(x.ndim - len(shape))))
        of_weight = r(aten.view.default, of_weight, list(weight.shape))
    return of_input, of_weight, None


@formula("_batch_norm")
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
    outputs = r(aten.native_batch_norm.default, x, weight, bias, mean, var, training, momentum, eps)
    if training:
        return outputs
    return outputs[0], r.unseen(aten.detach.default, mean), _reciprocal_root(r, var, eps)


def _reciprocal_root(r: Recording, var: Any, eps: float) -> Any:
    return r.unseen(aten.rsqrt.default, r.unseen(aten.add.Tensor, var, eps))


@formula("_batch_norm_backward")
def _batch_norm_backward(
    r: Recording,
    grad: Any,
    x: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    training: bool,
    eps: float,
    *needs: Any,
) -> Any:
    forward = r.origin(rstd)
    if forward is None:
        running = [None, None] if training else [mean, _variance(r, rstd, eps)]
    elif training and target_of(forward) == "native_batch_norm":
        running = [value_of(a) for a in forward.args[3:5]]
    elif not training and target_of(forward) == "rsqrt":
        running = [mean, value_of(forward.args[0].args[0])]
    else:
        return NotImplemented
    op = aten.native_batch_norm_backward.default
    return r(op, grad, x, weight, *running, mean, rstd, training, eps, list(needs))


def _variance(r: Recording, rstd: Any, eps: float) -> Any:
    return r.unseen(aten.sub.Tensor, r.unseen(aten.pow.Tensor_Scalar, rstd, -2), eps)
