"""Gradients of losses and of `glu` under PyTorch's names."""

from __future__ import annotations

from typing import Any

import tl_core

__all__ = [
    "binary_cross_entropy_backward",
    "glu_backward",
    "huber_loss_backward",
    "mse_loss_backward",
    "smooth_l1_loss_backward",
    "soft_margin_loss_backward",
]

_MEAN = 1


def _of_each(grad_output: Any, losses: Any, reduction: int) -> Any:
    """The gradient of each element's loss."""
    return grad_output / losses.numel() if reduction == _MEAN else grad_output


def mse_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    """The gradient of `mse_loss`.

    Args:
        grad_output: the gradient of the loss.
        self: the predictions.
        target: the targets of the predictions.
        reduction: 0 for the losses, 1 for their mean, 2 for their sum.

    Returns:
        The gradient by the predictions.

    Example:
        >>> import tl_core as tl
        >>> mse_loss_backward(tl.ones(()), tl.tensor([3.0, 1.0]), tl.tensor([1.0, 1.0]), 1)
        tensor([2., 0.])
    """
    return (self - target) * 2 * _of_each(grad_output, self, reduction)


def smooth_l1_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int, beta: float) -> Any:
    """The gradient of `smooth_l1_loss`.

    Args:
        grad_output, self, target, reduction: as `mse_loss_backward` takes them.
        beta: where the parabola ends.

    Returns:
        The gradient by the predictions.

    Example:
        >>> import tl_core as tl
        >>> smooth_l1_loss_backward(tl.ones(()), tl.tensor([3.0, 0.5]), tl.zeros(2), 2, 1.0)
        tensor([1.0000, 0.5000])
    """
    return ((self - target) / beta).clamp(-1, 1) * _of_each(grad_output, self, reduction)


def huber_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int, delta: float) -> Any:
    """The gradient of `huber_loss`.

    Args:
        grad_output, self, target, reduction: as `mse_loss_backward` takes them.
        delta: where the parabola ends.

    Returns:
        The gradient by the predictions.

    Example:
        >>> import tl_core as tl
        >>> huber_loss_backward(tl.ones(()), tl.tensor([3.0, 0.5]), tl.zeros(2), 2, 2.0)
        tensor([2.0000, 0.5000])
    """
    return (self - target).clamp(-delta, delta) * _of_each(grad_output, self, reduction)


def soft_margin_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    """The gradient of `soft_margin_loss`.

    Args:
        grad_output, self, target, reduction: as `mse_loss_backward` takes them.

    Returns:
        The gradient by the predictions.

    Example:
        >>> import tl_core as tl
        >>> soft_margin_loss_backward(tl.ones(()), tl.zeros(2), tl.tensor([1.0, -1.0]), 2)
        tensor([-0.5000,  0.5000])
    """
    return -target * (-target * self).sigmoid() * _of_each(grad_output, self, reduction)


def binary_cross_entropy_backward(
    grad_output: Any, self: Any, target: Any, weight: Any = None, reduction: int = 1
) -> Any:
    """The gradient of `binary_cross_entropy`.

    Args:
        grad_output, self, target, reduction: as `mse_loss_backward` takes them.
        weight: a factor for each element, or None.

    Returns:
        The gradient by the probabilities.

    Example:
        >>> import tl_core as tl
        >>> binary_cross_entropy_backward(tl.ones(()), tl.tensor([0.5]), tl.ones(1))
        tensor([-2.])
    """
    gradient = (self - target) / ((1 - self) * self).clamp(min=1e-12)
    gradient = gradient * _of_each(grad_output, self, reduction)
    return gradient if weight is None else gradient * weight


def glu_backward(grad_output: Any, self: Any, dim: int) -> Any:
    """The gradient of `glu`.

    Args:
        grad_output: the gradient of the result.
        self: the input.
        dim: the dimension whose halves are multiplied.

    Returns:
        The gradient by the input.

    Example:
        >>> import tl_core as tl
        >>> glu_backward(tl.ones(1), tl.tensor([4.0, 0.0]), 0)
        tensor([0.5000, 1.0000])
    """
    value, gate = self.chunk(2, dim)
    share = gate.sigmoid()
    return tl_core.cat([grad_output * share, grad_output * value * share * (1 - share)], dim)
