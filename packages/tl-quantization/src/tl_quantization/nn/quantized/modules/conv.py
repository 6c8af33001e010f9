"""Convolutions with weights of integers."""

from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import tl_core
import tl_nn as nn
from tl_core import Tensor
from tl_nn import functional as F
from tl_nn.utils.fusion import fuse_conv_bn_weights

from ....dtypes import qint8
from ....packed.convolution import PackedConvolution
from ....packed.windows import ConvolutionWindows
from ...qat.modules.conv import settings_of
from .utils import (
    WeightedQuantizedModule,
    empty_weight,
    numbers_of,
    observed_qparams,
    observed_weight,
    requantize,
    with_parts_of,
)

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


# The sizes of a convolution, in the order of its state.
_STATE = (
    "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "transposed", "output_padding",
    "groups", "padding_mode",
)  # fmt: skip


def script_of(operator: str, more: str = "") -> str:
    """The program of a convolution in TorchScript.

    Args:
        operator: the operator of `quantized::`.
        more: the names of further inputs.
    """
    inputs = "".join(f", {name}" for name in more.split())
    typed = "".join(f", {name}: Tensor" for name in more.split())
    return f"""
def forward(self, input: Tensor{typed}) -> Tensor:
    if self.padding_mode != "zeros":
        input = aten.pad(input, self._reversed_padding, self.padding_mode)
    return quantized.{operator}(input{inputs}, self._packed_params, self.scale, self.zero_point)
"""


class _ConvNd(WeightedQuantizedModule):
    """The base class of the convolutions: a float convolution stores the sizes and computes with floating numbers.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode: As of the
            float convolution.
        device (device, optional): Of weight and bias.
        dtype (dtype, optional): Of the bias.
    """

    _FLOAT: Any
    __jit_ignored_attributes__ = ("_packed", "_weight", "_bias", "_float")
    _SCRIPT_ATTRIBUTES = ("_packed_params", "_reversed_padding")  # which programs of TorchScript store

    def _begin(self, settings: tuple[Any, ...], device: Any, dtype: Any) -> None:
        object.__setattr__(self, "_float", self._FLOAT(*settings, device="meta"))
        for name in (
            "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "transposed",
            "output_padding", "groups", "padding_mode",
        ):  # fmt: skip
            setattr(self, name, getattr(self._float, name))
        self.scale, self.zero_point = 1.0, 0
        channels = self._float.out_channels
        bias = None if self._float.bias is None else tl_core.zeros(channels, device=device, dtype=dtype)
        self.set_weight_bias(empty_weight(tuple(self._float.weight.shape), qint8, device), bias)

    def __getstate__(self) -> tuple[Any, ...]:  # type: ignore[override]  # as files have it
        """The sizes, the weight and the bias, the scale of the result: the state in files, as in PyTorch's."""
        return (
            self.in_channels, self.out_channels, self.kernel_size, self.stride, self.padding, self.dilation,
            self.transposed, self.output_padding, self.groups, self.padding_mode, self.weight(), self.bias(),
            self.scale, self.zero_point, self.training,
        )  # fmt: skip

    def __setstate__(self, state: Any) -> None:
        if type(state) is not tuple or len(state) != 15:
            raise RuntimeError(f"the state of {type(self).__name__} must be a tuple of 15 values")
        weight, bias, scale, zero_point, is_training = state[10:]
        super().__init__()
        self._begin(self._settings(SimpleNamespace(**dict(zip(_STATE, state)), bias=bias)), None, None)
        self.set_weight_bias(weight, bias)
        self.scale, self.zero_point, self.training = float(scale), int(zero_point), bool(is_training)

    @property
    def _packed_params(self) -> ConvolutionWindows:
        """The weight with the windows, as operators take it. Names of paddings have no windows."""
        if isinstance(self.padding, str):
            raise AttributeError("_packed_params: the padding must be numbers to be packed")
        packed = self._packed if isinstance(self, _Conv) else self.weight()
        ends = self.output_padding if self.transposed else None
        padding = self.padding if self.padding_mode == "zeros" else [0] * len(self.padding)
        return ConvolutionWindows(packed, self.bias(), self.stride, padding, self.dilation, self.groups, ends)

    @property
    def _reversed_padding(self) -> list[int]:
        """The padding as `pad` takes it."""
        return [extent for extent in reversed(self.padding) for _ in range(2)]

    def __copy__(self) -> Any:
        return with_parts_of(type(self), self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        twin = memo[id(self)] = with_parts_of(type(self), self)
        vars(twin).update(deepcopy(vars(self), memo))
        return twin

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def extra_repr(self) -> str:
        sizes = ("in_channels", "out_channels", "kernel_size", "stride")
        head = "{}, {}, kernel_size={}, stride={}".format(*(getattr(self._float, name) for name in sizes))
        rest = self._float.extra_repr().removeprefix(head)
        return f"{head}, scale={self.scale}, zero_point={self.zero_point}{rest}"

    def _result(self, x: Tensor) -> Tensor:
        return self._float._conv_forward(x, self.weight().dequantize(), self.bias())

    def forward(self, input: Any) -> Any:
        """The convolution's result, with its scale and zero point."""
        result = self._result(numbers_of(input).dequantize())
        return requantize(result, input, self.scale, self.zero_point)

    @classmethod
    def _settings(cls, conv: Any) -> tuple[Any, ...]:
        return settings_of(conv)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one, alone or fused, that has been observed or trained with rounding."""
        conv = mod[0] if isinstance(mod, nn.Sequential) else mod
        weight, bias, bn = conv.weight, conv.bias, getattr(mod, "bn", None)
        if bn is not None:
            weight, bias = fuse_conv_bn_weights(
                weight, bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
            )
        module = cls(*cls._settings(conv))
        module.set_weight_bias(observed_weight(mod, weight, use_precomputed_fake_quant), bias)
        module.scale, module.zero_point = observed_qparams(mod)
        return module

    @classmethod
    def from_reference(cls, ref_qconv: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """The layer for one that keeps a float weight and how to quantize it (`get_quantized_weight()`)."""
        module = cls(*cls._settings(ref_qconv))
        module.set_weight_bias(ref_qconv.get_quantized_weight(), ref_qconv.bias)
        module.scale, module.zero_point = float(output_scale), int(output_zero_point)
        return module


class _Conv(_ConvNd):
    _packed: PackedConvolution
    _RELU = False  # whether negative results become 0

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
    ) -> None:
        super().__init__()
        self._begin(
            (in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode),
            device,
            dtype,
        )

    def weight(self) -> Tensor:
        """The weight."""
        return self._packed.weight()

    def bias(self) -> Tensor | None:
        """The bias, of floating numbers."""
        return self._packed.bias

    def set_weight_bias(self, w: Tensor, b: Tensor | None) -> None:
        """Replaces weight and bias.

        Raises:
            TypeError: If the weight isn't quantized.
        """
        self._packed = PackedConvolution(numbers_of(w), b, self.groups)

    def forward(self, input: Any) -> Any:
        """The convolution's result, with its scale and zero point."""
        if self.padding_mode != "zeros" or isinstance(self.padding, str):
            result = self._result(numbers_of(input).dequantize())
            return requantize(F.relu(result) if self._RELU else result, input, self.scale, self.zero_point)
        windows = (self.stride, self.padding, self.dilation)
        return self._packed.of_bytes(numbers_of(input), windows, (self.scale, self.zero_point), self._RELU)


class Conv1d(_Conv):
    """`tl_nn.Conv1d` of quantized tensors, shape (batch, channels, width), with a weight of integers.

    The result has the layer's `scale` and `zero_point`, and the input's type.

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
        device: the device of the weight.
        dtype: the type of the quantized weight.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> quantized.Conv1d(3, 8, 3)(tq.quantize_per_tensor(tl_core.ones(1, 3, 5), 0.5, 10, tq.quint8)).shape
        torch.Size([1, 8, 3])
    """

    _FLOAT: Any = nn.Conv1d
    _SCRIPT_SOURCE = script_of("conv1d")


class Conv2d(_Conv):
    """`tl_nn.Conv2d` of quantized tensors, shape (batch, channels, height, width), with a weight of integers.

    The result has the layer's `scale` and `zero_point`, and the input's type.

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
        device: the device of the weight.
        dtype: the type of the quantized weight.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 3, 8, 8), 0.1, 0, tq.quint8)
        >>> Conv2d(3, 5, 3)(x).shape
        torch.Size([1, 5, 6, 6])
    """

    _FLOAT: Any = nn.Conv2d
    _SCRIPT_SOURCE = script_of("conv2d")


class Conv3d(_Conv):
    """`tl_nn.Conv3d` of quantized tensors, shape (batch, channels, depth, height, width), with a weight of integers.

    The result has the layer's `scale` and `zero_point`, and the input's type.

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
        device: the device of the weight.
        dtype: the type of the quantized weight.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> quantized.Conv3d(3, 8, 3)(tq.quantize_per_tensor(tl_core.ones(1, 3, 5, 5, 5), 0.5, 10, tq.quint8)).shape
        torch.Size([1, 8, 3, 3, 3])
    """

    _FLOAT: Any = nn.Conv3d
    _SCRIPT_SOURCE = script_of("conv3d")


class _Transposed(_ConvNd):
    _function: Any

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
    ) -> None:
        super().__init__()
        self._begin(
            (in_channels, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation,
             padding_mode),
            device,
            dtype,
        )  # fmt: skip

    @classmethod
    def _settings(cls, conv: Any) -> tuple[Any, ...]:
        return (
            conv.in_channels, conv.out_channels, conv.kernel_size, conv.stride, conv.padding, conv.output_padding,
            conv.groups, conv.bias is not None, conv.dilation, conv.padding_mode,
        )  # fmt: skip

    def _result(self, x: Tensor) -> Tensor:
        conv = self._float
        weight = self._weight.dequantize()
        return type(self)._function(
            x, weight, self._bias, conv.stride, conv.padding, conv.output_padding, conv.groups, conv.dilation
        )


class ConvTranspose1d(_Transposed):
    """`tl_nn.ConvTranspose1d` of quantized tensors with a weight of integers. See `Conv1d`.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        output_padding: the number added to one side of the output's size.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        dilation: the distance of the elements under the kernel.
        padding_mode: "zeros", or "reflect" where the layer has it.
        device: the device of the weight.
        dtype: the type of the quantized weight.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 3, 5), 0.5, 10, tq.quint8)
        >>> quantized.ConvTranspose1d(3, 8, 3)(x).shape
        torch.Size([1, 8, 7])
    """

    _FLOAT: Any = nn.ConvTranspose1d
    _SCRIPT_SOURCE = script_of("conv_transpose1d")
    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_Transposed):
    """`tl_nn.ConvTranspose2d` of quantized tensors with a weight of integers. See `Conv2d`.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        output_padding: the number added to one side of the output's size.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        dilation: the distance of the elements under the kernel.
        padding_mode: "zeros", or "reflect" where the layer has it.
        device: the device of the weight.
        dtype: the type of the quantized weight.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 3, 5, 5), 0.5, 10, tq.quint8)
        >>> quantized.ConvTranspose2d(3, 8, 3)(x).shape
        torch.Size([1, 8, 7, 7])
    """

    _FLOAT: Any = nn.ConvTranspose2d
    _SCRIPT_SOURCE = script_of("conv_transpose2d")
    _function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_Transposed):
    """`tl_nn.ConvTranspose3d` of quantized tensors with a weight of integers. See `Conv3d`.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the output.
        kernel_size: the extent of the kernel, one number for all spatial dimensions or one each.
        stride: the distance of its positions.
        padding: the number of positions added on both sides of the input.
        output_padding: the number added to one side of the output's size.
        groups: the number of groups that the channels are divided into.
        bias: whether there is a bias.
        dilation: the distance of the elements under the kernel.
        padding_mode: "zeros", or "reflect" where the layer has it.
        device: the device of the weight.
        dtype: the type of the quantized weight.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 3, 5, 5, 5), 0.5, 10, tq.quint8)
        >>> quantized.ConvTranspose3d(3, 8, 3)(x).shape
        torch.Size([1, 8, 7, 7, 7])
    """

    _FLOAT: Any = nn.ConvTranspose3d
    _SCRIPT_SOURCE = script_of("conv_transpose3d")
    _function = staticmethod(F.conv_transpose3d)
