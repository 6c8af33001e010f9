"""The packed weight of a convolution."""

from __future__ import annotations

from math import prod
from typing import Any

import tl_core
from tl_core import Tensor

from ..dtypes import qint8
from ..tensor import integers_of, made_of, quantizer_of
from ..tensor_quantizer import PerChannel, PerTensor, Quantizer
from .linear import row_parameters

__all__ = ["check_channels", "PackedConvolution"]

_PANEL, _QUAD = 16, 4  # rows of a panel, columns that lie together: `_pack_int8`


class PackedConvolution:
    """The weight of a convolution, of `qint8`, packed for the integer kernels, and its bias.

    Channels of a tap lie together, rounded up to four. A depthwise weight, with one channel and one row for each group,
    lies tap by tap.

    Args:
        weight (Tensor, shape (out_channels, in_channels / groups, ...)): Of `qint8`, with one scale or a
            scale for each output channel.
        bias (Tensor, shape (out_channels,), optional): Of floating numbers.
        groups (int): The groups of channels.

    Raises:
        RuntimeError: If the weight is of another type, or has its scales along another axis.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> w = tq.quantize_per_tensor(tl_core.ones(1, 1, 2), 0.5, 0, tq.qint8)
        >>> x = tq.quantize_per_tensor(tl_core.tensor([[[1.0, 2.0, 3.0]]]), 0.5, 0, tq.quint8)
        >>> PackedConvolution(w, None, 1).of_bytes(x, ((1,), (0,), (1,)), (0.5, 0)).dequantize()
        tensor([[[3., 5.]]])
    """

    __slots__ = ("bias", "groups", "packed", "quantizer", "scales", "shape", "sums", "zero_points")

    shape: tuple[int, ...]
    quantizer: Quantizer

    def __init__(self, weight: Tensor, bias: Tensor | None, groups: int) -> None:
        _check(weight)
        rows = weight.shape[0]
        if bias is not None and tuple(bias.shape) != (rows,):
            raise RuntimeError(f"bias must have the shape ({rows},), but got {tuple(bias.shape)}")
        self.shape, self.quantizer, self.groups = tuple(weight.shape), quantizer_of(weight), groups
        self.bias = None if bias is None else bias.detach().to(tl_core.float32)
        self.packed, self.sums = self._pack(integers_of(weight))
        self.scales, self.zero_points = row_parameters(weight)

    @property
    def _is_depthwise(self) -> bool:
        return self.shape[0] == self.groups and self.shape[1] == 1

    def _pack(self, integers: Tensor) -> tuple[Tensor, Tensor]:
        rows, channels, *kernel = self.shape
        lines = integers.reshape(rows, channels, prod(kernel)).transpose(1, 2)  # a tap's channels together
        if self._is_depthwise:
            return lines.reshape(rows, -1).t().contiguous(), tl_core.zeros(0, dtype=tl_core.int32)
        padded = tl_core.zeros(rows, prod(kernel), -(-channels // _QUAD) * _QUAD, dtype=tl_core.int8)
        padded[:, :, :channels] = lines
        parts = [tl_core._pack_int8(part.flatten(1)) for part in padded.chunk(self.groups)]
        packed, sums = zip(*parts)
        return tl_core.stack(packed), tl_core.cat(sums)

    def weight(self) -> Tensor:
        """The weight, as a tensor of its own."""
        rows, channels, *kernel = self.shape
        if self._is_depthwise:
            return made_of(self.packed.t().reshape(self.shape).contiguous(), self.quantizer)
        groups, panels, quads, _ = self.packed.shape
        lines = self.packed.view(groups, panels, quads, _PANEL, _QUAD).permute(0, 1, 3, 2, 4)
        taps = lines.reshape(groups, panels * _PANEL, prod(kernel), -1)[:, : rows // groups, :, :channels]
        integers = taps.transpose(2, 3).reshape(self.shape)
        return made_of(integers.clone(memory_format=tl_core.contiguous_format), self.quantizer)

    def of_bytes(
        self,
        x: Tensor,
        windows: tuple[Any, Any, Any],
        qparams: tuple[float, int],
        relu: bool = False,
    ) -> Tensor:
        """The convolution of a quantized tensor. Channels of the result lie together in memory.

        Args:
            x (Tensor, shape (batch, in_channels, ...)): Of `quint8` or `qint8`, with one scale.
            windows (tuple of three tuples): Stride, padding and dilation of each axis.
            qparams (float, int): Scale and zero point of the result.
            relu (bool): Whether negative results become 0.
        """
        check_channels(x, self.shape, self.groups)
        quantizer = quantizer_of(x)
        if not isinstance(quantizer, PerTensor):
            raise RuntimeError(f"the input of a quantized layer must have one scale, but got {x.qscheme()}")
        integers = tl_core._int8_convolution(
            integers_of(x), quantizer.scale, quantizer.zero_point, self.packed, self.sums, self.scales,
            self.zero_points, self.bias, self.shape[2:], *windows, self.groups, *qparams, relu,
        )  # fmt: skip
        return made_of(integers, PerTensor(*qparams, quantizer.dtype))

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedConvolution, (self.weight(), self.bias, self.groups)


def check_channels(x: Tensor, shape: tuple[int, ...], groups: int) -> None:
    """Raises RuntimeError unless the input has the channels of a weight, which are padded to whole quads.

    Args:
        x: the input.
        shape: of the weight.
        groups: the groups of channels.
    """
    channels = shape[1] * groups
    if x.dim() == len(shape) and x.shape[1] != channels:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(shape)}, expected input{list(x.shape)} to have {channels} "
            f"channels, but got {x.shape[1]} channels instead"
        )


def _check(weight: Tensor) -> None:
    if weight.dtype is not qint8:
        raise RuntimeError(
            f"the weight of a quantized convolution must be of torch.qint8, but got {weight.dtype}"
        )
    quantizer = quantizer_of(weight)
    if isinstance(quantizer, PerChannel) and (
        quantizer.axis != 0 or quantizer.zero_points.is_floating_point()
    ):
        raise RuntimeError(
            "the scales of a weight must belong to its output channels, with zero points that are integers, but got "
            f"the axis {quantizer.axis} and {quantizer.zero_points.dtype}"
        )
