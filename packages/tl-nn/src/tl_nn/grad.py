"""The gradients of convolutions as functions of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tl_core
from tl_autograd import grad
from tl_core import Tensor

from . import functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _of_input(
    convolve: Callable[..., Tensor], size: Sequence[int], weight: Tensor, grad_output: Tensor, options: Any
) -> Tensor:
    """The gradient by the input, whose values don't matter: a convolution is linear in it."""
    with tl_core.enable_grad():
        input = grad_output.new_zeros(tuple(size)).requires_grad_()
        result: Any = grad(convolve(input, weight.detach(), None, *options), input, grad_output)
    return result[0]


def _of_weight(
    convolve: Callable[..., Tensor], input: Tensor, size: Sequence[int], grad_output: Tensor, options: Any
) -> Tensor:
    """The gradient by the weight, whose values don't matter: a convolution is linear in it."""
    with tl_core.enable_grad():
        weight = grad_output.new_zeros(tuple(size)).requires_grad_()
        result: Any = grad(convolve(input.detach(), weight, None, *options), weight, grad_output)
    return result[0]


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` by its input.

    Args:
        input_size (sequence of int): The shape of the input.
        weight (Tensor): The weight.
        grad_output (Tensor): The gradient by the result.
        stride, padding, dilation, groups: The options of the convolution.

    Example:
        >>> import tl_core
        >>> from tl_nn.grad import conv1d_input
        >>> conv1d_input((1, 1, 3), tl_core.ones(1, 1, 2), tl_core.ones(1, 1, 2))
        tensor([[[1., 2., 1.]]])
    """
    return _of_input(F.conv1d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` by its weight, of shape `weight_size`. See `conv1d_input`.

    Args:
        input: the input of the convolution.
        weight_size: the sizes of the weight.
        grad_output: the gradient of the output.
        stride: the stride of the convolution, by default 1.
        padding: its padding, by default 0.
        dilation: its dilation, by default 1.
        groups: its groups.

    Example:
        >>> import tl_core
        >>> from tl_nn.grad import conv1d_weight
        >>> conv1d_weight(tl_core.tensor([[[1.0, 2.0, 4.0]]]), (1, 1, 2), tl_core.ones(1, 1, 2))
        tensor([[[3., 6.]]])
    """
    return _of_weight(F.conv1d, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` by its input. See `conv1d_input`.

    Args:
        input_size: the sizes of the input.
        weight: the weight, (out_channels, in_channels / groups, *kernel).
        grad_output: the gradient of the output.
        stride: the stride of the convolution, by default 1.
        padding: its padding, by default 0.
        dilation: its dilation, by default 1.
        groups: its groups.

    Example:
        >>> import tl_core
        >>> grad = tl_core.ones(1, 1, 2, 2)
        >>> conv2d_input((1, 1, 3, 3), tl_core.ones(1, 1, 2, 2), grad)[0, 0]
        tensor([[1., 2., 1.],
                [2., 4., 2.],
                [1., 2., 1.]])
    """
    return _of_input(F.conv2d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` by its weight. See `conv1d_weight`.

    Args:
        input: the input of the convolution.
        weight_size: the sizes of the weight.
        grad_output: the gradient of the output.
        stride: the stride of the convolution, by default 1.
        padding: its padding, by default 0.
        dilation: its dilation, by default 1.
        groups: its groups.

    Example:
        >>> import tl_core
        >>> conv2d_weight(tl_core.ones(1, 1, 3, 3), (1, 1, 2, 2), tl_core.ones(1, 1, 2, 2))[0, 0]
        tensor([[4., 4.],
                [4., 4.]])
    """
    return _of_weight(F.conv2d, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` by its input. See `conv1d_input`.

    Args:
        input_size: the sizes of the input.
        weight: the weight, (out_channels, in_channels / groups, *kernel).
        grad_output: the gradient of the output.
        stride: the stride of the convolution, by default 1.
        padding: its padding, by default 0.
        dilation: its dilation, by default 1.
        groups: its groups.

    Example:
        >>> import tl_core
        >>> conv3d_input((1, 1, 3, 3, 3), tl_core.ones(1, 1, 2, 2, 2), tl_core.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 3, 3, 3])
    """
    return _of_input(F.conv3d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` by its weight. See `conv1d_weight`.

    Args:
        input: the input of the convolution.
        weight_size: the sizes of the weight.
        grad_output: the gradient of the output.
        stride: the stride of the convolution, by default 1.
        padding: its padding, by default 0.
        dilation: its dilation, by default 1.
        groups: its groups.

    Example:
        >>> import tl_core
        >>> conv3d_weight(tl_core.ones(1, 1, 3, 3, 3), (1, 1, 2, 2, 2), tl_core.ones(1, 1, 2, 2, 2)).flatten()
        tensor([8., 8., 8., 8., 8., 8., 8., 8.])
    """
    return _of_weight(F.conv3d, input, weight_size, grad_output, (stride, padding, dilation, groups))
