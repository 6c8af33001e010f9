"""Activations and their gradients."""

from __future__ import annotations

import math
from typing import Any

import tl_core
import tl_core.operators.packets

from .registry import decomposes, in_float32

aten = tl_core.operators.packets.aten


@decomposes("threshold.default")
def threshold(self: Any, threshold: float, value: float) -> Any:
    """What is at most the threshold becomes the value."""
    return aten.where.self(self <= threshold, aten.full_like.default(self, value), self)


@decomposes("threshold_backward.default")
def threshold_backward(grad_output: Any, self: Any, threshold: float) -> Any:
    """The gradient above the threshold."""
    return aten.where.self(self <= threshold, aten.full_like.default(grad_output, 0), grad_output)


@decomposes("silu.default")
@in_float32
def silu(self: Any) -> Any:
    """x·σ(x)."""
    return self * aten.sigmoid.default(self)


@decomposes("silu_backward.default")
@in_float32
def silu_backward(grad_output: Any, self: Any) -> Any:
    """The gradient of x·σ(x)."""
    s = aten.sigmoid.default(self)
    return grad_output * s * (1 + self * (1 - s))


@decomposes("mish.default")
@in_float32
def mish(self: Any) -> Any:
    """x·tanh(softplus(x))."""
    return self * aten.tanh.default(softplus(self))


@decomposes("softplus.default")
@in_float32
def softplus(self: Any, beta: float = 1, threshold: float = 20) -> Any:
    """log(1 + exp(βx))/β, and x where that is all the same."""
    wide = self * beta
    return aten.where.self(wide > threshold, self, aten.log1p.default(aten.exp.default(wide)) / beta)


@decomposes("softplus_backward.default")
@in_float32
def softplus_backward(grad_output: Any, self: Any, beta: float, threshold: float) -> Any:
    """The gradient of softplus.

    Args:
        grad_output: the gradient of the result, in its shape.
        self: the argument of softplus.
        beta: the factor of the exponent.
        threshold: the bound of `beta * self` above which softplus is linear.
    """
    z = aten.exp.default(self * beta)
    return aten.where.self(self * beta > threshold, grad_output, grad_output * z / (z + 1))


@decomposes("hardsigmoid.default")
@in_float32
def hardsigmoid(self: Any) -> Any:
    """min(max(x + 3, 0), 6) / 6."""
    return aten.clamp.default(self + 3, 0, 6) / 6


@decomposes("hardsigmoid_backward.default")
@in_float32
def hardsigmoid_backward(grad_output: Any, self: Any) -> Any:
    """A sixth of the gradient within (-3, 3)."""
    inside = aten.logical_and.default(self > -3.0, self < 3.0)
    return aten.where.self(inside, grad_output * (1 / 6), aten.full_like.default(grad_output, 0))


@decomposes("hardswish.default")
@in_float32
def hardswish(self: Any) -> Any:
    """x·min(max(x + 3, 0), 6) / 6."""
    return self * aten.clamp.default(self + 3, 0, 6) / 6


@decomposes("hardswish_backward.default")
@in_float32
def hardswish_backward(grad_output: Any, self: Any) -> Any:
    """The gradient of hardswish."""
    middle = aten.where.self(self < 3, grad_output * (self / 3 + 0.5), grad_output)
    return aten.where.self(self <= -3, aten.full_like.default(grad_output, 0), middle)


@decomposes("hardshrink.default")
def hardshrink(self: Any, lambd: float = 0.5) -> Any:
    """0 within ±λ."""
    inside = aten.logical_and.default(self >= -lambd, self <= lambd)
    return aten.where.self(inside, aten.full_like.default(self, 0), self)


@decomposes("softshrink.default")
def softshrink(self: Any, lambd: float = 0.5) -> Any:
    """x moved towards 0 by λ; a nan stays one."""
    outside = aten.abs.default(self) > lambd
    return aten.where.self(outside, self - aten.sign.default(self) * lambd, self * 0)


@decomposes("hardtanh_backward.default")
def hardtanh_backward(grad_output: Any, self: Any, min_val: float, max_val: float) -> Any:
    """The gradient between the bounds.

    Args:
        grad_output: the gradient of the result, in its shape.
        self: the argument of hardtanh.
        min_val: the lower bound.
        max_val: the upper bound.
    """
    outside = aten.logical_or.default(self <= min_val, self >= max_val)
    return aten.where.self(outside, aten.full_like.default(grad_output, 0), grad_output)


@decomposes("celu.default")
@in_float32
def celu(self: Any, alpha: float = 1.0) -> Any:
    """x above 0, α(exp(x/α) - 1) below."""
    return aten.where.self(self > 0, self, alpha * aten.expm1.default(self / alpha))


@decomposes("elu.default")
@in_float32
def elu(self: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    """x above 0, α(exp(x) - 1) below, both scaled.

    Args:
        self: the elements.
        alpha: the factor below 0.
        scale: the factor of all results.
        input_scale: the factor of the exponent.
    """
    below = aten.expm1.default(self * input_scale) * (alpha * scale)
    return aten.where.self(self > 0, self * scale, below)


@decomposes("selu.default")
@in_float32
def selu(self: Any) -> Any:
    """elu with the constants of self-normalizing networks."""
    return elu(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1)


@decomposes("gelu_backward.default")
@in_float32
def gelu_backward(grad_output: Any, self: Any, *, approximate: str = "none") -> Any:
    """The gradient of gelu."""
    if approximate == "tanh":
        beta, kappa = math.sqrt(2 / math.pi), 0.044715
        t = aten.tanh.default(beta * (self + kappa * self * self * self))
        derivative = (1 - t * t) * beta * (1 + 3 * kappa * self * self)
        return grad_output * (0.5 * (1 + t) + 0.5 * self * derivative)
    cdf = 0.5 * (1 + aten.erf.default(self * math.sqrt(0.5)))
    pdf = aten.exp.default(self * self * -0.5) / math.sqrt(2 * math.pi)
    return grad_output * (cdf + self * pdf)


@decomposes("log_sigmoid.default")
@in_float32
def log_sigmoid(self: Any) -> Any:
    """log σ(x), without overflow."""
    least = aten.minimum.default(self, aten.full_like.default(self, 0))
    return least - aten.log1p.default(aten.exp.default(-aten.abs.default(self)))


@decomposes("sigmoid_backward.default")
def sigmoid_backward(grad_output: Any, output: Any) -> Any:
    """The gradient of σ, by its result."""
    return grad_output * (output * (1 - output))


@decomposes("tanh_backward.default")
def tanh_backward(grad_output: Any, output: Any) -> Any:
    """The gradient of tanh, by its result."""
    return grad_output * (1 - output * output)


@decomposes("_prelu_kernel.default")
def prelu_kernel(self: Any, weight: Any) -> Any:
    """x above 0, below it times the weight."""
    return aten.where.self(self > 0, self, weight * self)


@decomposes("softmax.int")
def softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """Softmax along a dimension."""
    x = self if dtype is None else aten._to_copy.default(self, dtype=dtype)
    return aten._softmax.default(x, dim, False)


@decomposes("log_softmax.int")
def log_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of softmax along a dimension."""
    x = self if dtype is None else aten._to_copy.default(self, dtype=dtype)
    return aten._log_softmax.default(x, dim, False)


@decomposes("_softmax_backward_data.default")
def softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of softmax, by its result.

    Args:
        grad_output: the gradient of the result, in its shape.
        output: the result of softmax.
        dim: the dimension of the sums.
        input_dtype: the dtype of the gradient.
    """
    weighted = grad_output * output
    gradient = weighted - output * aten.sum.dim_IntList(weighted, [dim], True)
    return gradient if gradient.dtype == input_dtype else aten._to_copy.default(gradient, dtype=input_dtype)


@decomposes("_log_softmax_backward_data.default")
def log_softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of the logarithm of softmax, by its result."""
    gradient = grad_output - aten.exp.default(output) * aten.sum.dim_IntList(grad_output, [dim], True)
    return gradient if gradient.dtype == input_dtype else aten._to_copy.default(gradient, dtype=input_dtype)


@decomposes("dropout.default")
def dropout(input: Any, p: float, train: bool) -> Any:
    """The input itself where nothing is trained.

    Args:
        input: the elements.
        p: the probability of a zero, in [0, 1].
        train: whether elements are dropped.
    """
    if not train or p == 0:
        return aten.clone.default(input)
    return aten.native_dropout.default(input, p, train)[0]


@decomposes("native_dropout_backward.default")
def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    """The gradient of what was kept, scaled.

    Args:
        grad_output: the gradient of the result, in its shape.
        mask: a bool for each element, false for a dropped one.
        scale: the factor 1 / (1 - p).
    """
    return grad_output * (aten._to_copy.default(mask, dtype=grad_output.dtype) * scale)
