"""The packed table of an embedding."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.extensions.custom_classes import ScriptObject

from ..dtypes import bits_of, quint4x2, quint8
from ..packing import pack_bits, unpack_bits
from ..tensor import integers_of, is_quantized_tensor, made_of, quantizer_of
from ..tensor_quantizer import PerChannel

__all__ = ["PackedEmbedding", "look_up", "scale_dtype"]

_MODES = ("sum", "mean", "max")


def scale_dtype(bits: int) -> Any:
    """The type of the scale and the bias behind a row.

    Args:
        bits: the bits of an integer: 8, 4 or 2.

    Example:
        >>> scale_dtype(8), scale_dtype(4)
        (torch.float32, torch.float16)
    """
    return tl_core.float32 if bits == 8 else tl_core.float16


class PackedEmbedding(ScriptObject):
    """The rows of a table of 8 or 4 bits, each with its scale and its bias, `-zero_point * scale`.

    The scales of 8 bits are of float32, those of 4 bits of float16. A row takes `columns + 8` bytes, or half of the
    columns and 4 bytes.

    Args:
        weight (Tensor, shape (rows, columns)): Of `quint8` or `quint4x2`, with a scale and a floating zero
            point for each row.

    Raises:
        RuntimeError: If the weight is of another type, shape or scheme.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> table = tl_core.tensor([[1.0, 2.0], [3.0, 5.0]])
        >>> w = tq.quantize_per_channel(table, tl_core.ones(2), tl_core.zeros(2), 0, tq.quint4x2)
        >>> PackedEmbedding(w).rows(tl_core.tensor([1]))
        tensor([[3., 5.]])
    """

    _qualified_name = "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase"

    def __init__(self, weight: Tensor) -> None:
        self.quantizer = _check(weight)
        self.bits, self.columns = bits_of(weight.dtype), weight.shape[1]
        scales, zeros = self.quantizer.scales.float(), self.quantizer.zero_points.float()
        tails = tl_core.stack([scales, -zeros * scales], 1).to(scale_dtype(self.bits))
        self.packed = tl_core.cat([pack_bits(integers_of(weight), self.bits), tails.view(tl_core.uint8)], 1)

    def weight(self) -> Tensor:
        """The table, as a tensor of its own."""
        tail = 2 * scale_dtype(self.bits).itemsize
        return made_of(unpack_bits(self.packed[:, :-tail], self.bits, self.columns), self.quantizer)

    def unpack(self) -> Tensor:
        """The table, as a tensor of its own."""
        return self.weight()

    def rows(self, indices: Tensor) -> Tensor:
        """The numbers of rows.

        Args:
            indices (Tensor): Of int64 or int32.

        Returns:
            Of float32, with the shape of `indices` and a dimension for the columns.

        Raises:
            RuntimeError: If an index names no row.
        """
        flat = indices.flatten()
        bags = tl_core.arange(flat.numel())
        return self.bags(flat, bags).unflatten(0, tuple(indices.shape))

    def bags(self, indices: Tensor, offsets: Tensor | None, **options: Any) -> Tensor:
        """Sums or means of rows.

        Args:
            indices (Tensor): A vector of all bags, or a matrix with a bag a row.
            offsets (Tensor, optional): The position of the first index of each bag in the vector.
            options: those of `look_up`.

        Raises:
            RuntimeError: If an index names no row, or an argument is of another type or shape.
        """
        return look_up(self.packed, self.bits, indices, offsets, **options)[:, : self.columns]

    def _state(self) -> tuple[Any, ...]:
        return 1, [self.weight()], [], [self.bits]  # the version, tensors, numbers of either type

    def __repr__(self) -> str:
        return repr(self.weight())


def _check(weight: Any) -> PerChannel:
    if not is_quantized_tensor(weight) or weight.dtype not in (quint8, quint4x2) or weight.dim() != 2:
        kind = weight.dtype if isinstance(weight, Tensor) else type(weight).__name__
        shape = f" of shape {tuple(weight.shape)}" if isinstance(weight, Tensor) else ""
        raise RuntimeError(
            f"the weight of an embedding must be a matrix of torch.quint8 or torch.quint4x2, but got {kind}{shape}"
        )
    quantizer = quantizer_of(weight)
    if (
        not isinstance(quantizer, PerChannel)
        or quantizer.axis != 0
        or not quantizer.zero_points.is_floating_point()
    ):
        raise RuntimeError(
            "the weight of an embedding must have a scale and a floating zero point for each row "
            f"(torch.per_channel_affine_float_qparams), but got {weight.qscheme()}"
        )
    return quantizer


def look_up(
    packed: Tensor,
    bits: int,
    indices: Tensor,
    offsets: Tensor | None,
    *,
    mode: int | str = "sum",
    per_sample_weights: Tensor | None = None,
    mapping: Tensor | None = None,
    include_last_offset: bool = False,
) -> Tensor:
    """Sums or means of the rows of a packed table.

    Args:
        packed: the table, of uint8, with the scale and the bias of each row behind it.
        bits: the bits of an integer: 8, 4 or 2.
        indices: a vector of all bags, or a matrix with a bag a row.
        offsets: the position of the first index of each bag in the vector.
        mode: "sum", "mean", or 0, 1.
        per_sample_weights: a factor for each index.
        mapping: the row of each index in a table that has lost rows, -1 for rows that are lost.
        include_last_offset: whether the last offset is the end of the last bag.

    Returns:
        A row for each bag, of float32.

    Raises:
        RuntimeError: an index names no row, or an argument is of another type or shape.

    Example:
        >>> scale = tl_core.tensor([2.0, 1.0]).view(tl_core.uint8)
        >>> row = tl_core.cat([tl_core.tensor([3], dtype=tl_core.uint8), scale])
        >>> look_up(row[None], 8, tl_core.tensor([[0, 0]]), None)
        tensor([[14.]])
    """
    number = _MODES.index(mode) if isinstance(mode, str) and mode in _MODES else mode
    if number not in (0, 1):
        raise RuntimeError(f"mode must be 'sum' or 'mean' for a table of integers, but got {mode!r}")
    if indices.dim() not in (1, 2):
        raise RuntimeError(f"indices must be 1D or 2D, but got {indices.dim()}D")
    if indices.dim() == 2:
        if offsets is not None:
            raise RuntimeError("offsets must be None for 2D indices, whose rows are the bags")
        offsets = tl_core.arange(indices.shape[0]) * indices.shape[1]
    if offsets is None:
        word = "byte" if bits == 8 else f"{bits}bit"
        raise RuntimeError(f"embedding_bag_{word} expects offsets to be set for 1D indices.")
    flat = indices.flatten()
    if mapping is not None:
        flat = tl_core.index_select(mapping, 0, flat).to(tl_core.int64)
    factors = None if per_sample_weights is None else per_sample_weights.flatten()
    return tl_core._quantized_embedding_bag(packed, bits, flat, offsets, number, factors, include_last_offset)
