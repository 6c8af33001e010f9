"""The packed weight of a linear layer."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.extensions.custom_classes import ScriptObject

from ..dtypes import qint8
from ..tensor import integers_of, made_of, quantizer_of
from ..tensor_quantizer import PerChannel, PerTensor, Quantizer

__all__ = ["check_columns", "PackedLinear"]

_PANEL, _QUAD = 16, 4  # rows of a panel, columns that lie together: `_pack_int8`


class PackedLinear(ScriptObject):
    """The weight of a linear layer, of `qint8`, packed for the integer kernels, and its bias.

    The packed weight takes the memory of the weight, rounded up to 16 rows and 4 columns. Threads may share it.

    Args:
        weight (Tensor, shape (out_features, in_features)): Of `qint8`, with one scale or a scale a row.
        bias (Tensor, shape (out_features,), optional): Of floating numbers.

    Raises:
        RuntimeError: If the weight is of another type or shape, or has its scales along another axis.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> w = tq.quantize_per_tensor(tl_core.tensor([[1.0, 2.0]]), 0.5, 0, tq.qint8)
        >>> PackedLinear(w, tl_core.tensor([0.5])).of_floats(tl_core.tensor([[1.0, 1.0]]))
        tensor([[3.5000]])
    """

    _qualified_name = "__torch__.torch.classes.quantized.LinearPackedParamsBase"

    shape: tuple[int, int]
    quantizer: Quantizer

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        _check(weight)
        rows, columns = weight.shape
        if bias is not None and tuple(bias.shape) != (rows,):
            raise RuntimeError(f"bias must have the shape ({rows},), but got {tuple(bias.shape)}")
        self.shape, self.quantizer = (rows, columns), quantizer_of(weight)
        self.bias = None if bias is None else bias.detach().to(tl_core.float32)
        self.packed, self.sums = tl_core._pack_int8(integers_of(weight))
        self.scales, self.zero_points = row_parameters(weight)

    def weight(self) -> Tensor:
        """The weight, as a tensor of its own."""
        rows, columns = self.shape
        panels, quads, _ = self.packed.shape
        lines = self.packed.view(panels, quads, _PANEL, _QUAD).permute(0, 2, 1, 3)
        integers = lines.reshape(panels * _PANEL, quads * _QUAD)[:rows, :columns]
        # a copy without the padding, which files would have otherwise
        return made_of(integers.clone(memory_format=tl_core.contiguous_format), self.quantizer)

    def unpack(self) -> tuple[Tensor, Tensor | None]:
        """The weight and the bias."""
        return self.weight(), self.bias

    def of_floats(
        self, x: Tensor, reduce_range: bool = True, relu: bool = False, bias: Tensor | None = None
    ) -> Tensor:
        """The layer's result for floating numbers, which are rounded to bytes by their range.

        Args:
            x (Tensor, shape (..., in_features)): Of float32.
            reduce_range (bool): Whether one bit of the bytes is left unused.
            relu (bool): Whether negative results become 0.
            bias (Tensor, optional): In place of the layer's own.

        Raises:
            RuntimeError: If a number isn't finite.
        """
        check_columns(x, self.shape[1])
        return tl_core._int8_linear_dynamic(
            x, self.packed, self.sums, self.scales, self.zero_points, self.bias if bias is None else bias,
            reduce_range, relu,
        )  # fmt: skip

    def of_bytes(self, x: Tensor, scale: float, zero_point: int, relu: bool = False) -> Tensor:
        """The layer's result for a quantized tensor, with a scale and a zero point.

        Args:
            x (Tensor, shape (..., in_features)): Of `quint8` or `qint8`, with one scale.
            scale, zero_point (float, int): Of the result.
            relu (bool): Whether negative results become 0.
        """
        check_columns(x, self.shape[1])
        quantizer = quantizer_of(x)
        if not isinstance(quantizer, PerTensor):
            raise RuntimeError(f"the input of a quantized layer must have one scale, but got {x.qscheme()}")
        integers = tl_core._int8_linear(
            integers_of(x), quantizer.scale, quantizer.zero_point, self.packed, self.sums, self.scales,
            self.zero_points, self.bias, scale, zero_point, relu,
        )  # fmt: skip
        return made_of(integers, PerTensor(scale, zero_point, quantizer.dtype))

    def _state(self) -> tuple[Any, ...]:
        return self.unpack()

    def __repr__(self) -> str:
        return repr(self.unpack())


def check_columns(x: Tensor, columns: int) -> None:
    """Raises RuntimeError unless the last dimension has the columns of a weight, which is padded to whole quads.

    Args:
        x: the input.
        columns: of the weight.
    """
    if x.dim() and x.shape[-1] != columns:
        raise RuntimeError(
            f"the last dimension of the input must have {columns} elements, the columns of the weight, but got shape "
            f"{tuple(x.shape)}"
        )


def _check(weight: Tensor) -> None:
    if weight.dtype is not qint8 or weight.dim() != 2:
        raise RuntimeError(
            f"the weight of a quantized linear layer must be a matrix of torch.qint8, but got {weight.dtype} of "
            f"shape {tuple(weight.shape)}"
        )
    quantizer = quantizer_of(weight)
    if isinstance(quantizer, PerChannel) and (
        quantizer.axis != 0 or quantizer.zero_points.is_floating_point()
    ):
        raise RuntimeError(
            "the scales of a weight must belong to its rows, with zero points that are integers, but got the axis "
            f"{quantizer.axis} and {quantizer.zero_points.dtype}"
        )


def row_parameters(weight: Tensor) -> tuple[Tensor, Tensor | None]:
    """The scale of each row as float32, and its zero point as int32, or None if all are 0.

    Args:
        weight: quantized, with one scale or a scale for each slice of the first axis.
    """
    quantizer, rows = quantizer_of(weight), weight.shape[0]
    if isinstance(quantizer, PerTensor):
        scales = tl_core.full((rows,), quantizer.scale)
        zeros = tl_core.full((rows,), quantizer.zero_point, dtype=tl_core.int32)
        return scales, zeros if quantizer.zero_point else None
    zeros = quantizer.zero_points.to(tl_core.int32)
    return quantizer.scales.to(tl_core.float32), zeros if bool(zeros.any()) else None
