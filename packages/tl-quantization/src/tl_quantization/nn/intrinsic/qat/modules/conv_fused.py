"""Convolutions with a normalization or an activation."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_core import Tensor
from tl_nn import functional as F
from tl_nn.utils.fusion import fuse_conv_bn_weights

from ....qat import modules as qat
from ....qat.modules.conv import settings_of
from ....qat.modules.rounding import check_float, needed_qconfig, share_parameters
from ... import modules as fused
from .folding import Folded, freeze_bn_stats, update_bn_stats

__all__ = [
    "ConvBn1d",
    "ConvBn2d",
    "ConvBn3d",
    "ConvBnReLU1d",
    "ConvBnReLU2d",
    "ConvBnReLU3d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "freeze_bn_stats",
    "update_bn_stats",
]


class _ConvBn(Folded):
    """The base of convolutions with a normalization, before the float class in the order of bases.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode: As of the
            float convolution.
        eps, momentum (float): As of the normalization.
        freeze_bn (bool): Whether the running statistics stay as they are.
        qconfig (QConfig): Its `weight` constructs the module that rounds.
    """

    _version = 2  # of the state: the normalization's entries are below `bn`, as in PyTorch
    _FLOAT_MODULE: Any
    _NORM: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool | None = None,
        padding_mode: str = "zeros",
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bool(bias),
            padding_mode,
        )  # type: ignore[call-arg]
        needed_qconfig(qconfig)
        self._begin(self._NORM(out_channels, eps, momentum), qconfig, freeze_bn, None)

    def _apply_weight(self, input: Tensor, weight: Tensor) -> Tensor:
        return self._conv_forward(input, weight, None)  # type: ignore[attr-defined]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a fused float one that has a `qconfig`. Both share their parameters."""
        check_float(cls, mod)
        conv, bn = mod[0], mod[1]
        make: Any = cls
        module = make(*settings_of(conv), bn.eps, bn.momentum, False, mod.qconfig)
        module.bn = bn
        return share_parameters(module, conv)

    def to_float(self) -> Any:
        """A convolution with the normalization's factor in its weight, followed by a ReLU if this layer has one."""
        own: Any = self
        dims = own.weight.dim() - 2
        conv = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dims - 1](*settings_of(own))
        bn = own.bn
        conv.weight, conv.bias = fuse_conv_bn_weights(
            own.weight, own.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
        )
        return _with_relu(self, conv.train(own.training))


def _with_relu(layer: Any, conv: Any) -> Any:
    """The convolution, in a container with a ReLU for a layer that has one."""
    kind = _RECTIFIED.get(layer._FLOAT_MODULE)
    return conv if kind is None else kind(conv, nn.ReLU())


_RECTIFIED = {
    fused.ConvBnReLU1d: fused.ConvReLU1d,
    fused.ConvBnReLU2d: fused.ConvReLU2d,
    fused.ConvBnReLU3d: fused.ConvReLU3d,
    fused.ConvReLU1d: fused.ConvReLU1d,
    fused.ConvReLU2d: fused.ConvReLU2d,
    fused.ConvReLU3d: fused.ConvReLU3d,
}


class ConvBn1d(_ConvBn, nn.Conv1d):
    """A `Conv1d` and a `BatchNorm1d` whose weight is rounded in training with the normalization's factor in it.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        eps: added to the variance of the normalization.
        momentum: the weight of the newest batch in the running statistics.
        freeze_bn: whether the statistics stay as they are.
        qconfig: how weights and outputs are rounded: a `QConfig`.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> qconfig = tq.get_default_qat_qconfig("x86")
        >>> qat.ConvBn1d(3, 8, 3, qconfig=qconfig)(tl_core.ones(2, 3, 5)).shape
        torch.Size([2, 8, 3])
    """

    _FLOAT_MODULE: Any = fused.ConvBn1d
    _NORM: Any = nn.BatchNorm1d


class ConvBn2d(_ConvBn, nn.Conv2d):
    """A `Conv2d` and a `BatchNorm2d` whose weight is rounded in training with the normalization's factor in it.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        eps: added to the variance of the normalization.
        momentum: the weight of the newest batch in the running statistics.
        freeze_bn: whether the statistics stay as they are.
        qconfig: how weights and outputs are rounded: a `QConfig`.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> qconfig = tq.get_default_qat_qconfig("x86")
        >>> qat.ConvBn2d(3, 8, 3, qconfig=qconfig)(tl_core.ones(2, 3, 5, 5)).shape
        torch.Size([2, 8, 3, 3])
    """

    _FLOAT_MODULE: Any = fused.ConvBn2d
    _NORM: Any = nn.BatchNorm2d


class ConvBn3d(_ConvBn, nn.Conv3d):
    """A `Conv3d` and a `BatchNorm3d` whose weight is rounded in training with the normalization's factor in it.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        eps: added to the variance of the normalization.
        momentum: the weight of the newest batch in the running statistics.
        freeze_bn: whether the statistics stay as they are.
        qconfig: how weights and outputs are rounded: a `QConfig`.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> qconfig = tq.get_default_qat_qconfig("x86")
        >>> qat.ConvBn3d(3, 8, 3, qconfig=qconfig)(tl_core.ones(2, 3, 5, 5, 5)).shape
        torch.Size([2, 8, 3, 3, 3])
    """

    _FLOAT_MODULE: Any = fused.ConvBn3d
    _NORM: Any = nn.BatchNorm3d


class ConvBnReLU1d(ConvBn1d):
    """`ConvBn1d` and a ReLU.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        eps: added to the variance of the normalization.
        momentum: the weight of the newest batch in the running statistics.
        freeze_bn: whether the statistics stay as they are.
        qconfig: how weights and outputs are rounded: a `QConfig`.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> qconfig = tq.get_default_qat_qconfig("x86")
        >>> qat.ConvBnReLU1d(3, 8, 3, qconfig=qconfig)(tl_core.ones(2, 3, 5)).shape
        torch.Size([2, 8, 3])
    """

    _FLOAT_MODULE = fused.ConvBnReLU1d

    def forward(self, input: Tensor) -> Tensor:
        """The layer with the rounded weight, normalized, with a ReLU."""
        return F.relu(super().forward(input))


class ConvBnReLU2d(ConvBn2d):
    """`ConvBn2d` and a ReLU.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        eps: added to the variance of the normalization.
        momentum: the weight of the newest batch in the running statistics.
        freeze_bn: whether the statistics stay as they are.
        qconfig: how weights and outputs are rounded: a `QConfig`.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> qconfig = tq.get_default_qat_qconfig("x86")
        >>> qat.ConvBnReLU2d(3, 8, 3, qconfig=qconfig)(tl_core.ones(2, 3, 5, 5)).shape
        torch.Size([2, 8, 3, 3])
    """

    _FLOAT_MODULE = fused.ConvBnReLU2d

    def forward(self, input: Tensor) -> Tensor:
        """The layer with the rounded weight, normalized, with a ReLU."""
        return F.relu(super().forward(input))


class ConvBnReLU3d(ConvBn3d):
    """`ConvBn3d` and a ReLU.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        eps: added to the variance of the normalization.
        momentum: the weight of the newest batch in the running statistics.
        freeze_bn: whether the statistics stay as they are.
        qconfig: how weights and outputs are rounded: a `QConfig`.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> qconfig = tq.get_default_qat_qconfig("x86")
        >>> qat.ConvBnReLU3d(3, 8, 3, qconfig=qconfig)(tl_core.ones(2, 3, 5, 5, 5)).shape
        torch.Size([2, 8, 3, 3, 3])
    """

    _FLOAT_MODULE = fused.ConvBnReLU3d

    def forward(self, input: Tensor) -> Tensor:
        """The layer with the rounded weight, normalized, with a ReLU."""
        return F.relu(super().forward(input))


class ConvReLU1d(qat.Conv1d):
    """A `Conv1d` whose weight is rounded in training, and a ReLU.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        qconfig: how weights and outputs are rounded: a `QConfig`.
        device: where the parameters are made.
        dtype: the type of the parameters.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> qconfig = tq.get_default_qat_qconfig("x86")
        >>> qat.ConvReLU1d(3, 8, 3, qconfig=qconfig)(tl_core.ones(2, 3, 5)).shape
        torch.Size([2, 8, 3])
    """

    _FLOAT_MODULE = fused.ConvReLU1d

    def forward(self, input: Tensor) -> Tensor:
        """The convolution with the rounded weight, with a ReLU."""
        return F.relu(super().forward(input))

    def to_float(self) -> Any:
        """The float convolution with the parameters as they are, and a ReLU."""
        return _with_relu(self, super().to_float())


class ConvReLU2d(qat.Conv2d):
    """A `Conv2d` whose weight is rounded in training, and a ReLU.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        qconfig: how weights and outputs are rounded: a `QConfig`.
        device: where the parameters are made.
        dtype: the type of the parameters.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> qconfig = tq.get_default_qat_qconfig("x86")
        >>> qat.ConvReLU2d(3, 8, 3, qconfig=qconfig)(tl_core.ones(2, 3, 5, 5)).shape
        torch.Size([2, 8, 3, 3])
    """

    _FLOAT_MODULE = fused.ConvReLU2d

    def forward(self, input: Tensor) -> Tensor:
        """The convolution with the rounded weight, with a ReLU."""
        return F.relu(super().forward(input))

    def to_float(self) -> Any:
        """The float convolution with the parameters as they are, and a ReLU."""
        return _with_relu(self, super().to_float())


class ConvReLU3d(qat.Conv3d):
    """A `Conv3d` whose weight is rounded in training, and a ReLU.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: "zeros", or "reflect" where the layer has it.
        qconfig: how weights and outputs are rounded: a `QConfig`.
        device: where the parameters are made.
        dtype: the type of the parameters.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import qat
        >>> qconfig = tq.get_default_qat_qconfig("x86")
        >>> qat.ConvReLU3d(3, 8, 3, qconfig=qconfig)(tl_core.ones(2, 3, 5, 5, 5)).shape
        torch.Size([2, 8, 3, 3, 3])
    """

    _FLOAT_MODULE = fused.ConvReLU3d

    def forward(self, input: Tensor) -> Tensor:
        """The convolution with the rounded weight, with a ReLU."""
        return F.relu(super().forward(input))

    def to_float(self) -> Any:
        """The float convolution with the parameters as they are, and a ReLU."""
        return _with_relu(self, super().to_float())
