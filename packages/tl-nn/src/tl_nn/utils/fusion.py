"""Normalization folded into the layer before it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, TypeVar

from tl_core import Tensor, rsqrt, zeros_like

from ..modules.module import Module
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

_M = TypeVar("_M", bound=Module)


def fuse_conv_bn_eval(conv: _M, bn: Any, transpose: bool = False) -> _M:
    """A convolution equal to a convolution and a batch normalization after it in evaluation.

    Args:
        conv (Module): The convolution, in evaluation.
        bn (Module): The batch normalization, in evaluation.
        transpose (bool): Whether the convolution is a transposed one.

    Raises:
        AssertionError: If one of them is in training, or there are no running statistics.

    Example:
        >>> import tl_core, tl_nn
        >>> conv, norm = tl_nn.Conv2d(3, 8, 3).eval(), tl_nn.BatchNorm2d(8).eval()
        >>> x = tl_core.ones(1, 3, 5, 5)
        >>> tl_core.allclose(tl_nn.utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-6)
        True
    """
    _check_evaluating(conv, bn)
    fused: Any = deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def _check_evaluating(layer: Module, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Fusion needs running statistics of the normalization")


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution with a batch normalization folded in.

    Args:
        conv_w, conv_b (Tensor): Weight and bias of the convolution.
        bn_rm, bn_rv, bn_eps, bn_w, bn_b: Running mean, running variance, `eps`, weight and bias of the
            normalization.
        transpose (bool): Whether the convolution is a transposed one.

    Example:
        >>> import tl_core, tl_nn
        >>> mean, variance = tl_core.tensor([1.0]), tl_core.tensor([4.0])
        >>> tl_nn.utils.fuse_conv_bn_weights(tl_core.ones(1, 1, 1), None, mean, variance, 0.0, None, None)
        (Parameter containing:
        tensor([[[0.5000]]]), Parameter containing:
        tensor([-0.5000], requires_grad=True))
    """
    factor = rsqrt(bn_rv + bn_eps)
    if bn_w is not None:
        factor = factor * bn_w
    shape = [1, -1] if transpose else [-1, 1]
    weight = conv_w * factor.reshape(shape + [1] * (conv_w.dim() - 2))
    return _parameters(conv_w, conv_b, bn_rm, bn_b, weight, factor)


def fuse_linear_bn_eval(linear: _M, bn: Any) -> _M:
    """A linear layer equal to a linear layer and a batch normalization after it in evaluation.

    Raises:
        AssertionError: If one of them is in training, there are no running statistics, or the sizes differ.

    Example:
        >>> import tl_core, tl_nn
        >>> linear, norm = tl_nn.Linear(3, 8).eval(), tl_nn.BatchNorm1d(8).eval()
        >>> x = tl_core.ones(2, 3)
        >>> tl_core.allclose(tl_nn.utils.fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-6)
        True
    """
    _check_evaluating(linear, bn)
    fused: Any = deepcopy(linear)
    if fused.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer with a batch normalization folded in. See `fuse_conv_bn_weights`.

    Args:
        linear_w: the weight, (out, in).
        linear_b: the bias, (out,), or None.
        bn_rm: the running means.
        bn_rv: the running variances.
        bn_eps: added to the variances.
        bn_w: the factors.
        bn_b: the shifts.

    Example:
        >>> import tl_core, tl_nn
        >>> one, none = tl_core.ones(1), tl_core.zeros(1)
        >>> settings = 0.0, one, none
        >>> weight, bias = tl_nn.utils.fuse_linear_bn_weights(tl_core.ones(1, 2), none, one, 4 * one, *settings)
        >>> weight, bias
        (Parameter containing:
        tensor([[0.5000, 0.5000]]), Parameter containing:
        tensor([-0.5000]))
    """
    factor = rsqrt(bn_rv + bn_eps)
    if bn_w is not None:
        factor = factor * bn_w
    return _parameters(linear_w, linear_b, bn_rm, bn_b, linear_w * factor.unsqueeze(-1), factor)


def _parameters(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    shift: Tensor | None,
    fused: Tensor,
    factor: Tensor,
) -> tuple[Parameter, Parameter]:
    """The fused weight, and the bias that goes with it."""
    start = zeros_like(mean) if bias is None else bias
    moved = (start - mean) * factor
    if shift is not None:
        moved = moved + shift
    trained = True if bias is None else bias.requires_grad
    return Parameter(fused.to(weight.dtype), weight.requires_grad), Parameter(moved.to(start.dtype), trained)
