"""A packed convolution together with its stride, padding and dilation, as operators take it."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_nn import functional as F

from ..functions import quantize_per_tensor_dynamic
from ..operators import quantize_numbers
from ..tensor import QuantizedTensor
from ..tensor_quantizer import PerTensor
from .convolution import PackedConvolution

__all__ = ["ConvolutionWindows"]


class ConvolutionWindows:
    """A convolution's weight, bias and windows.

    Args:
        weight (QuantizedTensor): Of `qint8`.
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

    __slots__ = ("bias", "dilation", "groups", "output_padding", "packed", "padding", "stride")

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
        self.packed: Any = weight if self.is_transposed else PackedConvolution(weight, bias, groups)

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

    def of_bytes(
        self, x: QuantizedTensor, scale: float, zero_point: int, relu: bool = False, addend: Any = None
    ) -> Any:
        """The convolution of a quantized tensor.

        Args:
            x: the input.
            scale: the scale of the result.
            zero_point: the zero point of the result.
            relu: whether negative results become 0.
            addend: a quantized tensor that is added.
        """
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

    def __reduce__(self) -> tuple[Any, ...]:
        return ConvolutionWindows, (
            *self.unpack(), self.stride, self.padding, self.dilation, self.groups, self.output_padding,
        )  # fmt: skip

    def __repr__(self) -> str:
        return repr(self.unpack())
