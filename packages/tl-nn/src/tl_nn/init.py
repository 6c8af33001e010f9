"""Filling tensors, in place and without recording gradients, as networks are started with."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from math import ceil, erf, prod, sqrt
from typing import Any, ParamSpec, TypeVar

import tl_core
from tl_core import Tensor, no_grad
from tl_core.linalg import qr
from tl_core.overrides import overridable

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _without_grad(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, with gradients off."""

    @wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with no_grad():
            return function(*args, **kwargs)

    return run


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor of a layer's weights with which values keep their size through an activation.

    Args:
        nonlinearity (str): The name of the function: "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
            "conv_transpose2d", "conv_transpose3d" and "sigmoid" have a gain of 1, "tanh" 5/3, "relu" √2,
            "leaky_relu" √(2 / (1 + slope²)), "selu" 3/4.
        param (float, optional): The slope of "leaky_relu", 0.01 by default.

    Raises:
        ValueError: If the function isn't known, or the slope isn't a number.

    Example:
        >>> import tl_nn
        >>> round(tl_nn.init.calculate_gain("leaky_relu", 0.2), 4)
        1.3868
    """
    if nonlinearity == "leaky_relu":
        return sqrt(2.0 / (1 + _leak(param) ** 2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


_GAINS = {
    "linear": 1,
    "conv1d": 1,
    "conv2d": 1,
    "conv3d": 1,
    "conv_transpose1d": 1,
    "conv_transpose2d": 1,
    "conv_transpose3d": 1,
    "sigmoid": 1,
    "tanh": 5.0 / 3,
    "relu": sqrt(2.0),
    "selu": 3.0 / 4,
}


def _leak(param: Any) -> float:
    if param is None:
        return 0.01
    if isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return param


# Distributions and constants


@overridable
@_without_grad
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers drawn evenly from `a` to `b`.

    Args:
        tensor: the tensor to be filled.
        a: the lower bound.
        b: the upper bound.
        generator: the source of random numbers. None selects the default one.

    Example:
        >>> import tl_core, tl_nn
        >>> w = tl_nn.init.uniform_(tl_core.empty(3, 5), -1.0, 1.0)
        >>> bool((w.abs() <= 1).all())
        True
    """
    return tensor.uniform_(a, b, generator=generator)


@overridable
@_without_grad
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers drawn from the normal distribution.

    Args:
        tensor: the tensor to be filled.
        mean: the mean.
        std: the standard deviation.
        generator: the source of random numbers. None selects the default one.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.init.normal_(tl_core.empty(3, 5), std=0.02).shape
        torch.Size([3, 5])
    """
    return tensor.normal_(mean, std, generator=generator)


@_without_grad
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with numbers drawn from the part of the normal distribution between `a` and `b`.

    Numbers outside are drawn again, which works best where the mean is between the bounds.

    Args:
        tensor: the tensor to be filled.
        mean: the mean.
        std: the standard deviation.
        a: the lower bound.
        b: the upper bound.
        generator: the source of random numbers. None selects the default one.

    Example:
        >>> import tl_core, tl_nn
        >>> w = tl_nn.init.trunc_normal_(tl_core.empty(3, 5))
        >>> bool((w.abs() <= 2).all())
        True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=3,
        )
    if tensor.is_meta:
        return tensor
    within = _normal_share(mean, std, a, b)
    proposals = _Normal(tensor, mean, std, a, b) if within > 0.3 else _Uniform(mean, std, a, b)
    return _draw_until_accepted(tensor, proposals, generator)


def _normal_share(mean: float, std: float, a: float, b: float) -> float:
    """The part of the normal distribution between two bounds."""
    return (erf((b - mean) / (std * sqrt(2.0))) - erf((a - mean) / (std * sqrt(2.0)))) / 2.0


class _Normal:
    """Proposals from the normal distribution itself, rejected where they are out of bounds."""

    def __init__(self, tensor: Tensor, mean: float, std: float, a: float, b: float) -> None:
        self.mean, self.std = mean, std
        # The bounds as the element type has them: a rounded number mustn't be refused for ever.
        self.a, self.b = tl_core.tensor([a, b], dtype=tensor.dtype).tolist()

    def propose(self, tensor: Tensor, generator: Any) -> Tensor:
        return tensor.normal_(self.mean, self.std, generator=generator)

    def rejections(self, tensor: Tensor, generator: Any) -> Tensor:
        return (tensor < self.a).logical_or(tensor > self.b)


class _Uniform:
    """Even proposals between the bounds, accepted in proportion to the density."""

    def __init__(self, mean: float, std: float, a: float, b: float) -> None:
        self.mean, self.std, self.a, self.b = mean, std, a, b
        self.log_peak = self._log_density(min(max(mean, a), b))

    def _log_density(self, value: Any) -> Any:
        return ((value - self.mean) / self.std) ** 2 * -0.5

    def propose(self, tensor: Tensor, generator: Any) -> Tensor:
        return tensor.uniform_(self.a, self.b, generator=generator)

    def rejections(self, tensor: Tensor, generator: Any) -> Tensor:
        chances = tl_core.empty_like(tensor).uniform_(generator=generator)
        return chances.log() > self._log_density(tensor) - self.log_peak


def _draw_until_accepted(tensor: Tensor, proposals: _Normal | _Uniform, generator: Any) -> Tensor:
    """Fill with proposals. All of them are drawn again until each place has an accepted one."""
    proposals.propose(tensor, generator)
    pending = proposals.rejections(tensor, generator)
    while bool(pending.any()):
        candidates = proposals.propose(tl_core.empty_like(tensor), generator)
        tensor.copy_(tl_core.where(pending, candidates, tensor))
        pending = pending.logical_and(proposals.rejections(candidates, generator))
    return tensor


@overridable
@_without_grad
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.init.constant_(tl_core.empty(2), 0.5)
        tensor([0.5000, 0.5000])
    """
    return tensor.fill_(val)


@_without_grad
def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.init.ones_(tl_core.empty(3))
        tensor([1., 1., 1.])
    """
    return tensor.fill_(1.0)


@_without_grad
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.init.zeros_(tl_core.empty(3))
        tensor([0., 0., 0.])
    """
    return tensor.zero_()


# Identities


@_without_grad
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: ones on the diagonal, zeros elsewhere.

    Raises:
        ValueError: If the tensor doesn't have 2 dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.init.eye_(tl_core.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.dim()}")
    return tensor.copy_(tl_core.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@_without_grad
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it passes on as many input channels as possible.

    Args:
        tensor (Tensor, with 3, 4 or 5 dimensions): The weight.
        groups (int): The number of groups of channels, each of which is passed on by itself.

    Raises:
        ValueError: If the tensor has another number of dimensions, or `groups` doesn't divide its first size.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.init.dirac_(tl_core.empty(2, 2, 3))[0]
        tensor([[0., 1., 0.],
                [0., 0., 0.]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(f"Only tensors with 3, 4, or 5 dimensions are supported, got {tensor.dim()}")
    outputs, inputs, *sizes = tensor.shape
    if outputs % groups:
        raise ValueError(f"dim 0 must be divisible by groups, got {outputs} and {groups}")
    tensor.zero_()
    per_group = outputs // groups
    centre = tuple(size // 2 for size in sizes)
    for group in range(groups):
        for channel in range(min(per_group, inputs)):
            tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


# By the number of connections


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """The number of inputs and outputs of each unit of a layer with this weight.

    Raises:
        ValueError: If the tensor has fewer than 2 dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *sizes = tensor.shape
    field = prod(sizes)
    return inputs * field, outputs * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """The fan that `mode`, "fan_in" or "fan_out", names."""
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill evenly from `±gain * sqrt(6 / (fan_in + fan_out))`: Glorot and Bengio, 2010.

    Args:
        tensor: the tensor to be filled.
        gain: the factor of the nonlinearity: see `calculate_gain`.
        generator: the source of random numbers. None selects the default one.

    Raises:
        ValueError: If the tensor has fewer than 2 dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> w = tl_nn.init.xavier_uniform_(tl_core.empty(3, 3))
        >>> bool((w.abs() <= 1).all())
        True
    """
    bound = sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from the normal distribution of `std = gain * sqrt(2 / (fan_in + fan_out))`.

    Described by Glorot and Bengio, 2010.

    Args:
        tensor: the tensor to be filled.
        gain: the factor of the nonlinearity: see `calculate_gain`.
        generator: the source of random numbers. None selects the default one.

    Raises:
        ValueError: If the tensor has fewer than 2 dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_nn.init.xavier_normal_(tl_core.empty(60, 40))
        >>> abs(float(weight.std()) - (2 / 100) ** 0.5) < 0.02
        True
    """
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _xavier_std(tensor: Tensor, gain: float) -> float:
    return gain * sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))


@overridable
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill evenly from `±gain * sqrt(3 / fan)`: He et al., 2015.

    Args:
        tensor (Tensor, with 2 or more dimensions): The weight of a layer.
        a (float): The slope of "leaky_relu".
        mode (str): "fan_in" keeps the size of values in forward, "fan_out" the size of gradients in backward.
        nonlinearity (str): The activation that follows, as in `calculate_gain`.
        generator (Generator, optional): The source of random numbers.

    Raises:
        ValueError: If the tensor has fewer than 2 dimensions, or a name isn't known.

    Example:
        >>> import tl_core, tl_nn
        >>> w = tl_nn.init.kaiming_uniform_(tl_core.empty(3, 6), nonlinearity="relu")
        >>> bool((w.abs() <= 1).all())
        True
    """
    if 0 in tensor.shape:
        return _leave_empty(tensor)
    bound = sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill from the normal distribution of `std = gain / sqrt(fan)`: He et al., 2015.

    See `kaiming_uniform_` for the arguments.

    Args:
        tensor: the tensor to be filled.
        a: the negative slope of the nonlinearity, for "leaky_relu".
        mode: "fan_in" keeps the variance forward, "fan_out" backward.
        nonlinearity: "relu", "leaky_relu" or another name that `calculate_gain` supports.
        generator: the source of random numbers. None selects the default one.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_nn.init.kaiming_normal_(tl_core.empty(64, 50), nonlinearity="relu")
        >>> abs(float(weight.std()) - (2 / 50) ** 0.5) < 0.02
        True
    """
    if 0 in tensor.shape:
        return _leave_empty(tensor)
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _leave_empty(tensor: Tensor) -> Tensor:
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return tensor


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / sqrt(_calculate_correct_fan(tensor, mode))


# Matrices


@_without_grad
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a matrix whose rows or columns, the fewer of them, are orthonormal: Saxe et al., 2013.

    Args:
        tensor (Tensor, with 2 or more dimensions): All dimensions but the first are taken as one.
        gain (float): A factor.
        generator (Generator, optional): The source of random numbers.

    Raises:
        ValueError: If the tensor has fewer than 2 dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> w = tl_nn.init.orthogonal_(tl_core.empty(3, 5))
        >>> bool((w @ w.t() - tl_core.eye(3)).abs().max() < 1e-6)
        True
    """
    if tensor.dim() < 2:
        raise ValueError(f"Only tensors with 2 or more dimensions are supported, got {tensor.dim()}")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    flat = tl_core.empty((rows, columns), dtype=tensor.dtype, device=tensor.device)
    flat.normal_(0, 1, generator=generator)
    q, r = qr(flat.t() if rows < columns else flat)
    q = q * r.diagonal().sign()
    return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)


@_without_grad
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal numbers, of which a part of each column is 0: Martens, 2010.

    Args:
        tensor (Tensor, with 2 dimensions): The tensor to fill.
        sparsity (float): The part of each column that is 0.
        std (float): The standard deviation of the other numbers.
        generator (Generator, optional): The source of random numbers, except of the positions of the zeros.

    Raises:
        ValueError: If the tensor doesn't have 2 dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> w = tl_nn.init.sparse_(tl_core.empty(10, 2), sparsity=0.25)
        >>> (w == 0).sum(0).tolist()
        [3, 3]
    """
    if tensor.dim() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.dim()}")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[tl_core.randperm(rows)[:zeros], column] = 0
    return tensor


# The names before 0.4, without the underscore


def _deprecated_alias(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function under its old name."""
    new = function.__name__
    old = new.removesuffix("_")

    @wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    run.__name__ = run.__qualname__ = old
    run.__doc__ = f"Alias of :func:`{new}`, which it warns to use instead."
    return run


uniform = _deprecated_alias(uniform_)
normal = _deprecated_alias(normal_)
constant = _deprecated_alias(constant_)
eye = _deprecated_alias(eye_)
dirac = _deprecated_alias(dirac_)
xavier_uniform = _deprecated_alias(xavier_uniform_)
xavier_normal = _deprecated_alias(xavier_normal_)
kaiming_uniform = _deprecated_alias(kaiming_uniform_)
kaiming_normal = _deprecated_alias(kaiming_normal_)
orthogonal = _deprecated_alias(orthogonal_)
sparse = _deprecated_alias(sparse_)


# The functions without the checks of those above: layers of libraries call them in `reset_parameters`.
@_without_grad
def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    return tensor.uniform_(a, b, generator=generator)


@_without_grad
def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Any = None) -> Tensor:
    return tensor.normal_(mean, std, generator=generator)


@_without_grad
def _no_grad_trunc_normal_(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any = None
) -> Tensor:
    return trunc_normal_(tensor, mean, std, a, b, generator)


@_without_grad
def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    return tensor.fill_(val)


@_without_grad
def _no_grad_zero_(tensor: Tensor) -> Tensor:
    return tensor.zero_()
