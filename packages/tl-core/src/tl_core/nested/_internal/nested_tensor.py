"""Jagged nested tensors from their parts and back."""

from __future__ import annotations

from typing import Any

from tl_core._C import Tensor
from tl_core.nested.construction import jagged_from_tensors
from tl_core.nested.ragged import Ragged
from tl_core.nested.tensor import NestedTensor, view_of_values

__all__ = [
    "NestedTensor",
    "ViewNestedFromBuffer",
    "buffer_from_jagged",
    "jagged_from_list",
    "nested_view_from_values_offsets",
    "nested_view_from_values_offsets_lengths",
]


def nested_view_from_values_offsets(
    values: Tensor,
    offsets: Tensor,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> NestedTensor:
    """A nested tensor on the memory of `values`."""
    return nested_view_from_values_offsets_lengths(values, offsets, None, ragged_idx, min_seqlen, max_seqlen)


def nested_view_from_values_offsets_lengths(
    values: Tensor,
    offsets: Tensor,
    lengths: Tensor | None,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> NestedTensor:
    """A nested tensor on the memory of `values`, perhaps with space between components."""
    return view_of_values(values, Ragged(offsets, lengths, min_seqlen, max_seqlen), ragged_idx)


def buffer_from_jagged(jagged: NestedTensor) -> Tensor:
    """The values: a view."""
    return jagged.values()


def jagged_from_list(
    tensors: list[Tensor], offsets: Tensor | None, dtype: Any = None, device: Any = None
) -> tuple[NestedTensor, Tensor]:
    """The components as a nested tensor, and its offsets: those given, or new ones."""
    nested = jagged_from_tensors([t.to(dtype=dtype or t.dtype, device=device or t.device) for t in tensors])
    if offsets is None:
        return nested, nested.offsets()
    return view_of_values(nested.values(), Ragged(offsets), nested._ragged_idx), offsets


class ViewNestedFromBuffer:
    """The older form of `nested_view_from_values_offsets`."""

    @staticmethod
    def apply(values: Tensor, offsets: Tensor, metadata_cache: dict[str, int] | None = None) -> NestedTensor:
        """A nested tensor on the memory of `values`."""
        cache = metadata_cache or {}
        return nested_view_from_values_offsets(
            values, offsets, min_seqlen=cache.get("min_seqlen"), max_seqlen=cache.get("max_seqlen")
        )
