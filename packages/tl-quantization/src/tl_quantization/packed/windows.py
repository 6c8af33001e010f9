"""A packed convolution together with its stride, padding and dilation, as operators take it."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.extensions.custom_classes import ScriptObject
from tl_nn import functional as F

from ..functions import quantize_per_tensor_dynamic
from ..operators import quantize_numbers
from ..tensor import integers_of, made_of, quantizer_of
from ..tensor_quantizer import PerTensor
from .convolution import PackedConvolution

__all__ = ["ConvolutionWindows"]


class ConvolutionWindows(ScriptObject):
    """A convolution's weight, bias and windows.

    Args:
        weight (Tensor or PackedConvolution): Of `qint8`.
        bias (Tensor, optional): Of floating numbers.
        stride, padding, dilation (sequence of int): Of each axis.
        groups (int): The groups of channels.
        output_padding (sequence of int, optional): For a transposed convolution.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> w = tq.quantize_per_tensor(tl_core.ones(1, 1, 2), 0.5, 0, tq.qint8)
        >>> x = tq.quantize_per_tensor(tl_core.tensor([[[1.0, 2.0, 3.0]]]), 0.5, 0, tq.quint8)
        >>> ConvolutionWindows(w, None, (1,), (0,), (1,), 1).of_bytes(x, 0.5, 0).dequantize()
        tensor([[[3., 5.]]])
    """

    def __init__(
        self,
        weight: Any,
        bias: Tensor | None,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        output_padding: Any = None,
    ) -> None:
        self.stride, self.padding, self.dilation = tuple(stride), tuple(padding), tuple(dilation)
        self.groups, self.bias = groups, bias
        self.output_padding = None if output_padding is None else tuple(output_padding)
        # A transposed weight has the input's channels first, so it stays a tensor.
        is_ready = self.is_transposed or isinstance(weight, PackedConvolution)
        self.packed: Any = weight if is_ready else PackedConvolution(weight, bias, groups)

    @property
    def _qualified_name(self) -> str:  # type: ignore[override]  # files tell two axes and three apart
        axes = max(len(self.stride), 2)
        return f"__torch__.torch.classes.quantized.Conv{axes}dPackedParamsBase"

    @property
    def is_transposed(self) -> bool:
        """Whether the convolution is transposed."""
        return self.output_padding is not None

    def weight(self) -> Any:
        """The weight."""
        return self.packed if self.is_transposed else self.packed.weight()

    def unpack(self) -> tuple[Any, Tensor | None]:
        """The weight and the bias."""
        return self.weight(), self.bias

    def _has_one_axis(self, x: Tensor) -> bool:
        """Whether the windows are of a file, which has one axis as the second of two."""
        return len(self.stride) == 2 and x.dim() == 3 and self.weight().shape[2] == 1

    def of_bytes(
        self, x: Tensor, scale: float, zero_point: int, relu: bool = False, addend: Any = None
    ) -> Any:
        """The convolution of a quantized tensor.

        Args:
            x: the input.
            scale: the scale of the result.
            zero_point: the zero point of the result.
            relu: whether negative results become 0.
            addend: a quantized tensor that is added.
        """
        if self._has_one_axis(x):
            more = None if addend is None else addend.unsqueeze(2)
            planes: Any = x.unsqueeze(2)
            return self.of_bytes(planes, scale, zero_point, relu, more).squeeze(2)
        if not self.is_transposed and addend is None:
            windows = (self.stride, self.padding, self.dilation)
            return self.packed.of_bytes(x, windows, (float(scale), int(zero_point)), relu)
        total = self.of_floats(x.dequantize())
        total = total if addend is None else total + addend.dequantize()
        return quantize_numbers(
            F.relu(total) if relu else total, PerTensor(float(scale), int(zero_point), x.dtype)
        )

    def of_floats(self, x: Tensor) -> Tensor:
        """The convolution of floating numbers with the numbers of the weight.

        Args:
            x: the input.
        """
        if self._has_one_axis(x):
            return self.of_floats(x.unsqueeze(2)).squeeze(2)
        weight, n = self.weight().dequantize(), len(self.stride)
        if self.is_transposed:
            transposed: Any = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
            return transposed(
                x,
                weight,
                self.bias,
                self.stride,
                self.padding,
                self.output_padding,
                self.groups,
                self.dilation,
            )
        convolve: Any = (F.conv1d, F.conv2d, F.conv3d)[n - 1]
        return convolve(x, weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def dynamic(self, x: Tensor, reduce_range: bool) -> Tensor:
        """The convolution of floating numbers that are rounded to bytes by their range.

        Args:
            x: the input.
            reduce_range: whether one bit of the bytes is left unused.
        """
        from ..dtypes import quint8

        return self.of_floats(quantize_per_tensor_dynamic(x, quint8, reduce_range).dequantize())

    def _state(self) -> tuple[Any, ...]:
        """The version, the windows with the weight, and the bias. One axis is the second of two, as in PyTorch."""
        weight, first = self.weight(), (2 - len(self.stride)) * (1,)
        if first:
            weight = made_of(integers_of(weight).unsqueeze(2), quantizer_of(weight))
        none = (0,) * len(first)
        ends = (0,) * len(self.stride) if self.output_padding is None else self.output_padding
        windows = (*first, *self.stride, *none, *self.padding, *first, *self.dilation, *none, *ends)
        numbers = (len(first + self.stride), *windows, self.groups, int(self.is_transposed))
        return "2", [tl_core.tensor(numbers, dtype=tl_core.int16), weight], [self.bias]

    def __repr__(self) -> str:
        return repr(self.unpack())
