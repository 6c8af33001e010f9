"""Batch normalization with the statistics of a whole group of processes.

Each process has the count, the mean and the sum of squared deviations of its part of the batch. They are gathered and
joined by the formula for pairs of samples of Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for
computing sample variances" (1979), in double precision, which also keeps counts exact.
"""

from __future__ import annotations

from typing import Any, Protocol

import tl_core
from tl_autograd.function import Function, once_differentiable
from tl_core import Tensor

__all__ = ["ProcessGroup", "synchronized_batch_norm"]


class ProcessGroup(Protocol):
    """The interface of a group of processes, which `tl_distributed` implements."""

    def size(self) -> int:
        """The number of processes."""

    def allgather(self, output_tensors: list[Any], input_tensor: Tensor) -> Any:
        """Begins to collect the tensors of all processes. The handle has `wait`."""

    def allreduce(self, tensors: Tensor) -> Any:
        """Begins to sum a tensor over all processes, in place. The handle has `wait`."""


def synchronized_batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    eps: float,
    group: ProcessGroup,
) -> Tensor:
    """Normalizes each channel over the batches of all processes, as `batch_norm` in training does over one.

    Its gradient can't be differentiated again.

    Args:
        input: shape (N, C, ...). The number of samples may differ between processes and may be 0.
        running_mean: moves towards the mean. None if it isn't kept.
        running_var: moves towards the unbiased variance. None if it isn't kept.
        weight: the factor of each channel, or None.
        bias: the shift of each channel, or None.
        momentum: how far the running statistics move.
        eps: added to the variance.
        group: the processes.

    Returns:
        Tensor: of the shape, type and layout of `input`.

    Raises:
        ValueError: all processes together have one value a channel.
    """
    count, mean, variance = _gather_statistics(_own_statistics(input.detach()), group)
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape} and "
            "one value in the whole group"
        )
    if count:
        for running, value in ((running_mean, mean), (running_var, variance * (count / (count - 1)))):
            if running is not None:
                running.copy_(running.to(value.dtype).lerp(value, momentum))
    kind = _wide(input)
    inverse = (variance + eps).rsqrt().to(kind)
    result: Tensor = _Normalize.apply(input, weight, bias, mean.to(kind), inverse, count, group)
    return result


def _wide(input: Tensor) -> Any:
    """The type in which an input is computed with."""
    return tl_core.float64 if input.dtype == tl_core.float64 else tl_core.float32


def _sum_dims(input: Tensor) -> list[int]:
    return [d for d in range(input.dim()) if d != 1]


def _by_channel(values: Tensor, input: Tensor) -> Tensor:
    """One value a channel, in a shape that broadcasts with the input."""
    return values.view(1, -1, *[1] * (input.dim() - 2))


def _own_statistics(input: Tensor) -> Tensor:
    """Count, means and sums of squared deviations of this process's input: shape (1 + 2 C,), float64."""
    channels = input.shape[1]
    count = input.numel() // channels if channels else 0
    statistics = input.new_zeros(1 + 2 * channels, dtype=tl_core.float64)
    if count:
        variance, mean = tl_core.var_mean(input.to(_wide(input)), _sum_dims(input), correction=0)
        statistics[0] = count
        statistics[1 : 1 + channels] = mean
        statistics[1 + channels :] = variance.double() * count
    return statistics


def _gather_statistics(own: Tensor, group: ProcessGroup) -> tuple[int, Tensor, Tensor]:
    """Count, means and biased variances of all processes together."""
    rows = own.new_empty(group.size(), own.numel())
    group.allgather([list(rows.unbind(0))], own).wait()
    counts = rows[:, :1]
    means, squares = rows[:, 1:].chunk(2, 1)
    total = counts.sum()
    divisor = total.clamp(min=1)
    mean = (means * counts).sum(0) / divisor
    variance = (squares + counts * (means - mean).square()).sum(0) / divisor
    return int(total), mean, variance


class _Normalize(Function):
    """`(input - mean) * inverse * weight + bias`, whose gradient includes the derivatives of mean and inverse."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        mean: Tensor,
        inverse: Tensor,
        count: int,
        group: ProcessGroup,
    ) -> Tensor:
        ctx.save_for_backward(input, weight, mean, inverse)
        ctx.count, ctx.group, ctx.bias_dtype = count, group, None if bias is None else bias.dtype
        scale = inverse if weight is None else inverse * weight
        result = (input - _by_channel(mean, input)).mul_(_by_channel(scale, input))
        if bias is not None:
            result += _by_channel(bias, input)
        return result.to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        input, weight, mean, inverse = ctx.saved_tensors
        gradient = gradient.to(mean.dtype)
        deviation = input - _by_channel(mean, input)
        dims = _sum_dims(input)
        sums = tl_core.stack([gradient.sum(dims), (gradient * deviation).sum(dims)])
        for_weight = (sums[1] * inverse).to(weight.dtype) if ctx.needs_input_grad[1] else None
        for_bias = sums[0].to(ctx.bias_dtype) if ctx.needs_input_grad[2] else None
        if not ctx.needs_input_grad[0]:
            return None, for_weight, for_bias, None, None, None, None
        total = sums.to(tl_core.float64, copy=True)  # the sums are this process's part of other gradients
        ctx.group.allreduce(total).wait()
        of_gradient, of_product = (total / max(ctx.count, 1)).to(mean.dtype).unbind(0)
        deviation.mul_(_by_channel(inverse.square() * of_product, input))
        scale = inverse if weight is None else inverse * weight
        result = (gradient - _by_channel(of_gradient, input)).sub_(deviation).mul_(_by_channel(scale, input))
        return result.to(input.dtype), for_weight, for_bias, None, None, None, None
