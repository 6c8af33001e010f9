"""Batch normalization in steps, as several processes compute it together: statistics of each part, of all parts, the
result, and the sums that its derivative needs. Channels are dimension 1; halves have statistics of float32."""

from __future__ import annotations

import tl_core
from tl_core import Tensor

__all__ = [
    "batch_norm_backward_elemt",
    "batch_norm_backward_reduce",
    "batch_norm_elemt",
    "batch_norm_gather_stats",
    "batch_norm_gather_stats_with_counts",
    "batch_norm_stats",
    "batch_norm_update_stats",
]


def _other_dims(input: Tensor) -> list[int]:
    if input.dim() < 2:
        raise RuntimeError(f"the input must have at least 2 dimensions, got {input.dim()}")
    return [dim for dim in range(input.dim()) if dim != 1]


def _by_channel(values: Tensor, input: Tensor) -> Tensor:
    """A number for each channel, so that it broadcasts to the input."""
    return values.reshape(-1, *[1] * (input.dim() - 2))


def _wide(input: Tensor) -> Tensor:
    return input.float() if input.dtype in (tl_core.float16, tl_core.bfloat16) else input


def _moments(input: Tensor) -> tuple[Tensor, Tensor]:
    variance, mean = tl_core.var_mean(_wide(input), dim=_other_dims(input), correction=0)
    return mean, variance


def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """The mean and the reciprocal of the standard deviation of each channel.

    Args:
        input (Tensor): (N, C, ...).
        eps (float): added to the variance.

    Example:
        >>> import tl_core
        >>> batch_norm_stats(tl_core.tensor([[1.0], [3.0]]), 0.0)
        (tensor([2.]), tensor([1.]))
    """
    mean, variance = _moments(input)
    return mean, (variance + eps).rsqrt()


def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """The mean and the variance of each channel, of which the running ones take a share.

    Args:
        input (Tensor): (N, C, ...).
        running_mean, running_var (Tensor): written to, where they are given; the variance is the unbiased one.
        momentum (float): the share.

    Example:
        >>> import tl_core
        >>> running = tl_core.zeros(1)
        >>> batch_norm_update_stats(tl_core.tensor([[1.0], [3.0]]), running, None, 0.5)
        (tensor([2.]), tensor([1.]))
        >>> running
        tensor([1.])
    """
    mean, variance = _moments(input)
    count = input.numel() // max(1, input.shape[1])
    _take_share(running_mean, mean, momentum)
    _take_share(running_var, variance * (count / max(1, count - 1)), momentum)
    return mean, variance


def batch_norm_gather_stats(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    count: int,
) -> tuple[Tensor, Tensor]:
    """The statistics of all parts together, where each part has `count` numbers for each channel.

    Args:
        input (Tensor): one part; its element type is of interest only.
        mean, invstd (Tensor): (parts, C), those that `batch_norm_stats` gave.
        running_mean, running_var (Tensor): written to, where they are given.
        momentum (float): the share that they take.
        eps (float): what was added to the variances.
        count (int): the numbers of a channel in each part.

    Example:
        >>> import tl_core
        >>> means, roots = tl_core.tensor([[1.0], [3.0]]), tl_core.tensor([[1.0], [1.0]])
        >>> batch_norm_gather_stats(tl_core.ones(1, 1), means, roots, None, None, 0.1, 0.0, 4)
        (tensor([2.]), tensor([0.7071]))
    """
    counts = mean.new_full((mean.shape[0],), count)
    return batch_norm_gather_stats_with_counts(
        input, mean, invstd, running_mean, running_var, momentum, eps, counts
    )


def batch_norm_gather_stats_with_counts(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """The statistics of all parts together, where the parts have different counts.

    Args:
        input (Tensor): one part; its element type is of interest only.
        mean, invstd (Tensor): (parts, C), those that `batch_norm_stats` gave.
        running_mean, running_var (Tensor): written to, where they are given.
        momentum (float): the share that they take.
        eps (float): what was added to the variances.
        counts (Tensor): the numbers of a channel in each part.

    Example:
        >>> import tl_core
        >>> means, roots = tl_core.tensor([[1.0], [3.0]]), tl_core.tensor([[1.0], [1.0]])
        >>> counts = tl_core.tensor([3.0, 1.0])
        >>> batch_norm_gather_stats_with_counts(tl_core.ones(1, 1), means, roots, None, None, 0.1, 0.0, counts)[0]
        tensor([1.5000])
    """
    weights = counts.to(mean.dtype).reshape(-1, 1)
    total = weights.sum()
    total_mean = (mean * weights).sum(0) / total
    within = (invstd.square().reciprocal() - eps) * weights
    variance = (within + (mean - total_mean).square() * weights).sum(0) / total
    _take_share(running_mean, total_mean, momentum)
    _take_share(running_var, variance * (total / (total - 1)), momentum)
    return total_mean, (variance + eps).rsqrt()


def batch_norm_elemt(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    """The input less the mean, times the reciprocal of the standard deviation, times `weight`, plus `bias`.

    Args:
        input (Tensor): (N, C, ...).
        weight, bias (Tensor): C numbers, or None.
        mean, invstd (Tensor): C numbers.
        eps (float): not used: it is in `invstd`.

    Example:
        >>> import tl_core
        >>> ones = tl_core.ones(1)
        >>> batch_norm_elemt(tl_core.tensor([[1.0], [3.0]]), None, ones, ones, 2 * ones, 0.0)
        tensor([[1.],
                [5.]])
    """
    _other_dims(input)
    result = (_wide(input) - _by_channel(mean, input)) * _by_channel(invstd, input)
    result = result if weight is None else result * _by_channel(weight, input)
    result = result if bias is None else result + _by_channel(bias, input)
    return result.to(input.dtype)


def batch_norm_backward_reduce(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """The sums over each channel that the derivative needs, and the gradients of `weight` and `bias`.

    Args:
        grad_out (Tensor): the gradient of the result.
        input (Tensor): (N, C, ...).
        mean, invstd (Tensor): C numbers.
        weight (Tensor): C numbers, or None.
        input_g, weight_g, bias_g (bool): which are wanted.

    Returns:
        The sum of the gradient, that of the gradient times the input less its mean, and two gradients; None for those
        that aren't wanted.

    Example:
        >>> import tl_core
        >>> x, one = tl_core.tensor([[1.0], [3.0]]), tl_core.ones(1)
        >>> batch_norm_backward_reduce(tl_core.ones(2, 1), x, one, one, None, True, False, False)
        (tensor([2.]), tensor([2.]), None, None)
    """
    dims, gradient = _other_dims(input), _wide(grad_out)
    total = gradient.sum(dims)
    moment = (gradient * (_wide(input) - _by_channel(mean, input))).sum(dims)
    kind = (weight if weight is not None else total).dtype
    return (
        total if input_g else None,
        moment if input_g else None,
        (moment * invstd).to(kind) if weight_g else None,
        total.to(kind) if bias_g else None,
    )


def batch_norm_backward_elemt(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    """The gradient of the input, of the sums over all parts.

    Args:
        grad_out (Tensor): the gradient of the result.
        input (Tensor): (N, C, ...).
        mean, invstd (Tensor): C numbers, of all parts.
        weight (Tensor): C numbers, or None.
        sum_dy, sum_dy_xmu (Tensor): the sums of `batch_norm_backward_reduce`, over all parts.
        count (Tensor): the numbers of a channel in each part.

    Example:
        >>> import tl_core
        >>> x, one = tl_core.tensor([[1.0], [3.0]]), tl_core.ones(1)
        >>> batch_norm_backward_elemt(x, x, 2 * one, one, None, 4 * one, 2 * one, tl_core.tensor([2]))
        tensor([[0.],
                [0.]])
    """
    total = count.sum()
    factor = _by_channel(invstd.square() * sum_dy_xmu / total, input)
    scale = _by_channel(invstd if weight is None else invstd * weight, input)
    centred = _wide(input) - _by_channel(mean, input)
    gradient = _wide(grad_out) - _by_channel(sum_dy / total, input) - centred * factor
    return (gradient * scale).to(input.dtype)


def _take_share(running: Tensor | None, value: Tensor, momentum: float) -> None:
    if running is not None:
        with tl_core.no_grad():
            running.mul_(1 - momentum).add_(value.to(running.dtype), alpha=momentum)
