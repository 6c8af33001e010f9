"""`quantized::` operators of embeddings, on packed tables and on matrices of bytes."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

from ..observed_fake_quantization import choose_qparams_optimized
from ..packed.embedding import PackedEmbedding, look_up, scale_dtype
from ..packing import pack_bits
from .registry import define

__all__: list[str] = []


def _pack_rows(bits: int, name: str) -> Any:
    """The operator that rounds each row of a table of floating numbers to integers."""

    def call(
        weight: Tensor, optimized_qparams: bool = False, nbins: int = 200, ratio: float = 0.16
    ) -> Tensor:
        lines = _lines(name, weight, bits)
        if optimized_qparams:
            low, high = _searched_range(lines, bits, nbins, ratio)
        elif lines.shape[1]:
            low, high = lines.amin(1), lines.amax(1)
        else:
            low = high = lines.new_zeros(lines.shape[0])
        return _round_rows(weight, lines, low, high, bits)

    return call


def _pack_rows_between(bits: int, name: str) -> Any:
    """The operator that rounds the rows of a table to integers between bounds of their own, without a search."""

    def call(weight: Tensor, rowwise_min_max: Tensor, *search: Any, **options: Any) -> Tensor:
        lines, limits = _lines(name, weight, bits), rowwise_min_max.reshape(-1, 2).float()
        if limits.shape[0] != lines.shape[0]:
            raise RuntimeError(
                f"{name}: rowwise_min_max must have a pair of numbers for each of {lines.shape[0]} rows, but got the "
                f"shape {tuple(rowwise_min_max.shape)}"
            )
        return _round_rows(weight, lines, limits[:, 0], limits[:, 1], bits)

    return call


def _lines(name: str, weight: Tensor, bits: int) -> Tensor:
    """The rows of a table as a matrix of float32.

    Raises:
        RuntimeError: the table is of another type or shape.
    """
    if weight.dtype not in (tl_core.float32, tl_core.float16):
        raise RuntimeError(f"'{name}' only support float32 or float16.")
    if weight.dim() < 2:
        raise RuntimeError(f"{name}: weight must have at least 2 dimensions, but got {weight.dim()}")
    per = 8 // bits
    if weight.shape[-1] % per:
        raise RuntimeError(f"q{name} only works for the number of columns a multiple of {per}")
    return weight.reshape(-1, weight.shape[-1]).float()


def _searched_range(lines: Tensor, bits: int, nbins: int, ratio: float) -> tuple[Tensor, Tensor]:
    """The bounds of each row that lose least, by a greedy search."""
    pairs = [choose_qparams_optimized(row, row.numel(), nbins, ratio, bits) for row in lines]
    return tl_core.cat([low for _, low in pairs]), tl_core.cat([high for high, _ in pairs])


def _round_rows(weight: Tensor, lines: Tensor, low: Tensor, high: Tensor, bits: int) -> Tensor:
    """Rows of integers and their scales and biases, as bytes.

    Args:
        weight: the table, whose leading dimensions the result has.
        lines: its rows, as a matrix.
        low: the number of the integer 0, for each row.
        high: the number of the largest integer.
        bits: the bits of an integer.
    """
    most, kind = (1 << bits) - 1, scale_dtype(bits)
    if bits == 8:
        scales, inverses = (high - low) / most, most / (high - low + 1e-8)
    else:  # the integers belong to the bias and the scale that float16 holds
        low = low.to(kind).float()
        scales = tl_core.where(high == low, 1.0, (high - low) / most).to(kind).float()
        inverses = tl_core.where(scales == 0, 1.0, 1.0 / scales)
        scales = tl_core.where(inverses.isinf(), 1.0, scales)
        inverses = tl_core.where(inverses.isinf(), 1.0, inverses)
    steps = ((lines - low[:, None]) * inverses[:, None]).round()
    integers = steps.nan_to_num(0.0).clamp(0, most).to(tl_core.uint8)
    tails = tl_core.stack([scales, low], 1).to(kind).view(tl_core.uint8)
    rows = tl_core.cat([pack_bits(integers, bits), tails], 1)
    return rows.reshape(*weight.shape[:-1], rows.shape[1])


def _unpack_rows(bits: int) -> Any:
    """The operator that returns the numbers of rows of integers."""

    def call(weight: Tensor) -> Tensor:
        rows = weight.reshape(-1, weight.shape[-1])
        numbers = look_up(rows, bits, tl_core.arange(rows.shape[0]), tl_core.arange(rows.shape[0]))
        return numbers.reshape(*weight.shape[:-1], numbers.shape[1])

    return call


def _bag(bits: int) -> Any:
    """The operator of bags on a matrix of bytes, or on a packed table."""

    def call(
        weight: Any,
        indices: Tensor,
        offsets: Tensor | None = None,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        pruned_weights: bool = False,
        per_sample_weights: Tensor | None = None,
        compressed_indices_mapping: Tensor | None = None,
        include_last_offset: bool = False,
    ) -> Tensor:
        mapping = compressed_indices_mapping if pruned_weights else None
        options: dict[str, Any] = {"mode": mode, "per_sample_weights": per_sample_weights}
        options |= {"mapping": mapping, "include_last_offset": include_last_offset}
        if isinstance(weight, PackedEmbedding):
            return _of_bits(weight, bits).bags(indices, offsets, **options)
        return look_up(weight, bits, indices, offsets, **options)

    return call


def _rows(bits: int) -> Any:
    def call(weight: Any, indices: Tensor, pruned_weights: bool = False) -> Tensor:
        return _of_bits(weight, bits).rows(indices)

    return call


def _of_bits(weight: Any, bits: int) -> PackedEmbedding:
    if not isinstance(weight, PackedEmbedding) or weight.bits != bits:
        kind = f"{weight.bits} bits" if isinstance(weight, PackedEmbedding) else type(weight).__name__
        raise RuntimeError(f"weight must be a packed table of {bits} bits, but got {kind}")
    return weight


_INDICES = (
    "Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, "
    "Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool include_last_offset=False"
)
_SEARCH = "bool optimized_qparams=False, int nbins=200, float ratio=0.16"
_OPERATORS = {
    "embedding_bag_prepack(Tensor weight) -> %Embedding W_prepack": PackedEmbedding,
    "embedding_bag_unpack(%Embedding W_prepack) -> Tensor W_origin": PackedEmbedding.unpack,
    "embedding_bag_byte_prepack(Tensor weight) -> Tensor": _pack_rows(8, "embedding_bag_byte_prepack"),
    "embedding_bag_byte_prepack_with_rowwise_min_max(Tensor weight, Tensor rowwise_min_max) -> Tensor": (
        _pack_rows_between(8, "embedding_bag_byte_prepack_with_rowwise_min_max")
    ),
    f"embedding_bag_byte(%Embedding weight, {_INDICES}) -> Tensor": _bag(8),
    f"embedding_bag_4bit(%Embedding weight, {_INDICES}) -> Tensor": _bag(4),
    "embedding_byte(%Embedding weight, Tensor indices, bool pruned_weights=False) -> Tensor": _rows(8),
    "embedding_4bit(%Embedding weight, Tensor indices, bool pruned_weights=False) -> Tensor": _rows(4),
}
for _bits in (4, 2):
    _name = f"embedding_bag_{_bits}bit_prepack"
    _OPERATORS[f"{_name}(Tensor weight, {_SEARCH}) -> Tensor"] = _pack_rows(_bits, _name)
    _OPERATORS[
        f"{_name}_with_rowwise_min_max(Tensor weight, Tensor rowwise_min_max, {_SEARCH}) -> Tensor"
    ] = _pack_rows_between(_bits, f"{_name}_with_rowwise_min_max")
for _bits, _word in ((8, "byte"), (4, "4bit"), (2, "2bit")):
    _OPERATORS[f"embedding_bag_{_word}_unpack(Tensor weight) -> Tensor"] = _unpack_rows(_bits)
    _OPERATORS[f"embedding_bag_{_word}_rowwise_offsets(Tensor weight, {_INDICES}) -> Tensor"] = _bag(_bits)
define("quantized", _OPERATORS)
