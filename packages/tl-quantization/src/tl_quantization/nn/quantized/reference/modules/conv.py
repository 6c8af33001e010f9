"""Convolutions that keep a float weight."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_core import Tensor
from tl_nn import functional as F

from ....qat.modules.conv import settings_of
from .linear import with_parameters
from .utils import ReferenceQuantizedModule

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _ConvNd(ReferenceQuantizedModule):
    """The base of the convolutions, before the float class in the order of bases."""

    bias: Tensor | None

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}(Reference)"

    @classmethod
    def from_float(cls, float_conv: Any, weight_qparams: dict[str, Any]) -> Any:
        """The layer for a float one, with its parameters.

        Args:
            float_conv: the float layer.
            weight_qparams: how the weight is quantized.
        """
        layer = cls(*cls._settings(float_conv), weight_qparams=weight_qparams)
        return with_parameters(layer, float_conv)

    @classmethod
    def _settings(cls, conv: Any) -> tuple[Any, ...]:
        return settings_of(conv)


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        weight_qparams: dict[str, Any] | None = None,
    ) -> None:
        self._FLOAT.__init__(
            self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
            device, dtype,
        )  # fmt: skip
        self._init_weight_qparams(weight_qparams, device)

    _FLOAT: Any

    def forward(self, x: Tensor) -> Tensor:
        """The float layer's result with the rounded weight."""
        result: Tensor = self._conv_forward(x, self.get_weight(), self.bias)
        return result


class _ConvTranspose(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        weight_qparams: dict[str, Any] | None = None,
    ) -> None:
        self._FLOAT.__init__(
            self, in_channels, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation,
            padding_mode, device, dtype,
        )  # fmt: skip
        self._init_weight_qparams(weight_qparams, device)

    _FLOAT: Any

    @classmethod
    def _settings(cls, conv: Any) -> tuple[Any, ...]:
        return (
            conv.in_channels, conv.out_channels, conv.kernel_size, conv.stride, conv.padding, conv.output_padding,
            conv.groups, conv.bias is not None, conv.dilation, conv.padding_mode,
        )  # fmt: skip

    def forward(self, x: Tensor, output_size: Any = None) -> Tensor:
        """The float layer's result with the rounded weight.

        Args:
            x: the input.
            output_size: the size of the result, if several are possible.
        """
        conv: Any = self  # also a float layer
        padding = conv._output_padding(x, output_size)
        result: Tensor = type(self)._function(
            x, self.get_weight(), conv.bias, conv.stride, conv.padding, padding, conv.groups, conv.dilation
        )
        return result

    _function: Any


class Conv1d(_Conv, nn.Conv1d):
    """`tl_nn.Conv1d` that computes with the rounded weight.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: the values beyond the border.
        device: the device of the parameters.
        dtype: the type of the parameters.
        weight_qparams: `dtype`, `qscheme`, `scale`, `zero_point` and `axis` of the weight.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.Conv1d(3, 4, 1)(tl_core.ones(1, 3, 2)).shape
        torch.Size([1, 4, 2])
    """

    _FLOAT = nn.Conv1d


class Conv2d(_Conv, nn.Conv2d):
    """`tl_nn.Conv2d` that computes with the rounded weight.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: the values beyond the border.
        device: the device of the parameters.
        dtype: the type of the parameters.
        weight_qparams: `dtype`, `qscheme`, `scale`, `zero_point` and `axis` of the weight.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.Conv2d(3, 4, 1)(tl_core.ones(1, 3, 2, 2)).shape
        torch.Size([1, 4, 2, 2])
    """

    _FLOAT = nn.Conv2d


class Conv3d(_Conv, nn.Conv3d):
    """`tl_nn.Conv3d` that computes with the rounded weight.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        padding_mode: the values beyond the border.
        device: the device of the parameters.
        dtype: the type of the parameters.
        weight_qparams: `dtype`, `qscheme`, `scale`, `zero_point` and `axis` of the weight.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.Conv3d(3, 4, 1)(tl_core.ones(1, 3, 2, 2, 2)).shape
        torch.Size([1, 4, 2, 2, 2])
    """

    _FLOAT = nn.Conv3d


class ConvTranspose1d(_ConvTranspose, nn.ConvTranspose1d):
    """`tl_nn.ConvTranspose1d` that computes with the rounded weight.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        output_padding: the number added to one side of the output's size.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        dilation: the distance of the elements under the kernel.
        padding_mode: "zeros".
        device: the device of the parameters.
        dtype: the type of the parameters.
        weight_qparams: `dtype`, `qscheme`, `scale`, `zero_point` and `axis` of the weight.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.ConvTranspose1d(3, 4, 1)(tl_core.ones(1, 3, 2)).shape
        torch.Size([1, 4, 2])
    """

    _FLOAT = nn.ConvTranspose1d
    _function: Any = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose, nn.ConvTranspose2d):
    """`tl_nn.ConvTranspose2d` that computes with the rounded weight.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        output_padding: the number added to one side of the output's size.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        dilation: the distance of the elements under the kernel.
        padding_mode: "zeros".
        device: the device of the parameters.
        dtype: the type of the parameters.
        weight_qparams: `dtype`, `qscheme`, `scale`, `zero_point` and `axis` of the weight.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.ConvTranspose2d(3, 4, 1)(tl_core.ones(1, 3, 2, 2)).shape
        torch.Size([1, 4, 2, 2])
    """

    _FLOAT = nn.ConvTranspose2d
    _function: Any = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose, nn.ConvTranspose3d):
    """`tl_nn.ConvTranspose3d` that computes with the rounded weight.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        output_padding: the number added to one side of the output's size.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        dilation: the distance of the elements under the kernel.
        padding_mode: "zeros".
        device: the device of the parameters.
        dtype: the type of the parameters.
        weight_qparams: `dtype`, `qscheme`, `scale`, `zero_point` and `axis` of the weight.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.quantized import reference
        >>> reference.ConvTranspose3d(3, 4, 1)(tl_core.ones(1, 3, 2, 2, 2)).shape
        torch.Size([1, 4, 2, 2, 2])
    """

    _FLOAT = nn.ConvTranspose3d
    _function: Any = staticmethod(F.conv_transpose3d)
