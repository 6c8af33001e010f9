"""Activation functions, applied to each element or along one dimension."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import tl_core
from tl_core import Tensor, where

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]


def _apply(compute: Callable[[Tensor], Tensor], input: Tensor, inplace: bool) -> Tensor:
    """The result of `compute`, written over the input if asked for."""
    # The gradient formulas read the input: they are given a copy that isn't overwritten.
    return input.copy_(compute(input.clone())) if inplace else compute(input)


# Element by element


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`max(x, 0)`.

    Examples:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.relu(tl_core.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return tl_core.relu_(input) if inplace else tl_core.relu(input)


def relu_(input: Tensor) -> Tensor:
    """`max(x, 0)` in place."""
    return tl_core.relu_(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(x, 0), 6)`."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`min(max(x, min_val), max_val)`; the gradient is 0 at the two bounds themselves.

    Raises:
        ValueError
            If `min_val` exceeds `max_val`.
    """
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val, got {min_val} and {max_val}")

    def compute(x: Tensor) -> Tensor:
        low, high = (min_val, max_val) if x.is_floating_point() else (int(min_val), int(max_val))
        return where(x <= low, low, where(x >= high, high, x))

    return _apply(compute, input, inplace)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place."""
    return hardtanh(input, min_val, max_val, inplace=True)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`x` where it exceeds `threshold`, else `value`."""
    return _apply(lambda x: where(x <= threshold, value, x), input, inplace)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`x` where it exceeds `threshold`, else `value`; in place."""
    return _apply(lambda x: where(x <= threshold, value, x), input, True)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`x` where it is positive, else `negative_slope * x`."""
    return _apply(lambda x: where(x > 0, x, x * negative_slope), input, inplace)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place."""
    return leaky_relu(input, negative_slope, inplace=True)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`x` where it is positive, else `weight * x` with a learned weight.

    Parameters:
        input : Tensor
            Of any shape.
        weight : Tensor, shape (1,), () or (channels,)
            One for all elements, or one for each index of dimension 1.

    Raises:
        RuntimeError
            If `weight` has several elements and they aren't as many as the channels.
    """
    return where(input > 0, input, input * _over_channels(weight, input))


def _over_channels(weight: Tensor, input: Tensor) -> Tensor:
    """`weight` shaped to be multiplied with `input` along its channels."""
    if weight.dim() > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}"
        )
    if weight.numel() == 1:
        return weight.reshape(())
    if input.dim() == 0:
        raise RuntimeError("Not allow zero-dim input tensor.")
    channels = input.shape[1] if input.dim() > 1 else 1
    if weight.numel() != channels:
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} "
            f"and channel size = {channels}."
        )
    return weight.reshape(-1, *(1,) * (input.dim() - 2))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` where it is positive, else `alpha * (exp(x) - 1)`."""
    return _apply(lambda x: _exponential_unit(x, alpha, 1.0, 1.0), input, inplace)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place."""
    return elu(input, alpha, inplace=True)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` scaled so that values of zero mean and unit variance keep them: Klambauer et al., 2017."""
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return _apply(lambda x: _exponential_unit(x, alpha, scale, 1.0), input, inplace)


def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
    return selu(input, inplace=True)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` where it is positive, else `alpha * (exp(x / alpha) - 1)`.

    Raises:
        RuntimeError
            If `alpha` is 0.
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _apply(lambda x: _exponential_unit(x, alpha, 1.0, 1.0 / alpha), input, inplace)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place."""
    return celu(input, alpha, inplace=True)


def _exponential_unit(x: Tensor, alpha: float, scale: float, stretch: float) -> Tensor:
    # The branch that isn't taken mustn't have an infinite gradient: it sees harmless numbers.
    bent = (where(x > 0, 0.0, x) * stretch).expm1() * (alpha * scale)
    return where(x > 0, x * scale, bent)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`x` times the probability that a standard normal number is smaller than `x`.

    Parameters:
        input : Tensor
            Of any shape.
        approximate : str
            "none" for the exact function, "tanh" for an approximation by the hyperbolic tangent.

    Raises:
        RuntimeError
            If `approximate` is another name.
    """
    if approximate == "none":
        return input * ((input * sqrt(0.5)).erf() + 1) * 0.5
    if approximate == "tanh":
        inner = (input + input * input * input * 0.044715) * sqrt(2 / pi)
        return input * (inner.tanh() + 1) * 0.5
    raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate}")


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`, and `x` itself where `beta * x` exceeds `threshold`."""
    scaled = input * beta
    # The branch that isn't taken mustn't have an infinite gradient: it sees harmless numbers.
    straight = scaled > threshold
    curved = where(straight, threshold, scaled).exp().log1p() / beta
    return where(straight, input, curved)


def logsigmoid(input: Tensor) -> Tensor:
    """`log(1 / (1 + exp(-x)))`, accurate for numbers of any size."""
    size = input.abs()
    return (input - size) * 0.5 - (-size).exp().log1p()


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * tanh(softplus(x))`."""
    return _apply(lambda x: x * softplus(x).tanh(), input, inplace)


def sigmoid(input: Tensor) -> Tensor:
    """`1 / (1 + exp(-x))`."""
    return tl_core.sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return tl_core.tanh(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * sigmoid(x)`, also called swish."""
    return _apply(lambda x: x * x.sigmoid(), input, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(x + 3, 0), 6) / 6`, a piecewise linear sigmoid."""
    return _apply(lambda x: relu6(x + 3) / 6, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * min(max(x + 3, 0), 6) / 6`."""
    return _apply(lambda x: x * relu6(x + 3) / 6, input, inplace)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`x` where its absolute value exceeds `lambd`, else 0."""
    return where((input >= -lambd).logical_and(input <= lambd), 0.0, input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`x` moved towards 0 by `lambd`; 0 where it would pass it.

    Raises:
        RuntimeError
            If `lambd` is negative.
    """
    if lambd < 0:
        largest = tl_core.finfo(input.dtype).max
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {input.dtype}, but found {lambd}"
        )
    return where(input > lambd, input - lambd, where(input < -lambd, input + lambd, input * 0))


def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)`."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """`x - tanh(x)`."""
    return input - input.tanh()


# Along a dimension


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`exp(x) / sum(exp(x))` along a dimension.

    Parameters:
        input : Tensor
            Of any shape.
        dim : int
            The dimension along which the results sum to 1.
        dtype : dtype, optional
            What the input is cast to first.

    Examples:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.softmax(tl_core.zeros(4), dim=0)
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return tl_core.softmax(input, _chosen(dim, input, "softmax", _stacklevel), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, computed without leaving the range of numbers."""
    return tl_core.log_softmax(input, _chosen(dim, input, "log_softmax", _stacklevel), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax` of `-input`."""
    return tl_core.softmax(-input, _chosen(dim, input, "softmin", _stacklevel), dtype=dtype)


def _chosen(dim: int | None, input: Tensor, name: str, stacklevel: int) -> int:
    """`dim`, or the one that older programs mean by leaving it out."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """`a * sigmoid(b)`, with `a` and `b` the two halves of the input along `dim`.

    Raises:
        RuntimeError
            If `input` has no dimensions, or an odd size along `dim`.
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    size = input.size(dim)
    if size % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % input.dim()} is size {size}"
        )
    left, right = input.split(size // 2, dim)
    return left * right.sigmoid()
