"""The ragged structure of a nested tensor: where each component begins and how long it is."""

from __future__ import annotations

import copy
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.nested.nested_int import NestedInt, ragged_id

__all__ = ["Ragged"]


class Ragged:
    """Offsets, and lengths where components do not fill the space between; shared by all tensors of a structure.

    What is computed from them is kept: the lengths as ints, their extremes, the indices of the rows.

    Args:
        offsets: where each begins, int64, with the end.
        lengths: how long each is; None where the next begins behind it.
        min_length: the least length; None if it isn't known.
        max_length: the largest length; None if it isn't known.
    """

    def __init__(
        self,
        offsets: Tensor,
        lengths: Tensor | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
    ) -> None:
        self.offsets, self.lengths = offsets, lengths
        self.size = NestedInt(ragged_id(offsets if lengths is None else lengths))
        self._min, self._max = min_length, max_length
        self._counts: list[int] | None = None
        self._starts: list[int] | None = None
        self._length_tensor: Tensor | None = None

    @property
    def batch(self) -> int:
        """How many components."""
        return self.offsets.shape[0] - 1

    @property
    def length_tensor(self) -> Tensor:
        """The lengths, on the device of the offsets."""
        if self._length_tensor is None:
            self._length_tensor = self.offsets.diff() if self.lengths is None else self.lengths
        return self._length_tensor

    @property
    def counts(self) -> list[int]:
        """The lengths as ints."""
        if self._counts is None:
            self._counts = self.length_tensor.tolist()
        return self._counts

    @property
    def starts(self) -> list[int]:
        """Where the components begin, as ints."""
        if self._starts is None:
            self._starts = self.offsets.tolist()[:-1]
        return self._starts

    @property
    def min_length(self) -> int:
        """The least length; 0 without components."""
        if self._min is None:
            self._min = min(self.counts, default=0)
        return self._min

    @property
    def max_length(self) -> int:
        """The greatest length; 0 without components."""
        if self._max is None:
            self._max = max(self.counts, default=0)
        return self._max

    @property
    def total(self) -> int:
        """The sum of the lengths."""
        return sum(self.counts)

    def rows(self) -> Tensor:
        """The indices of the components' rows, one component after the other."""
        lengths = self.length_tensor.long()
        ends = lengths.cumsum(0)
        shifts = self.offsets[:-1].long() - (ends - lengths)
        return _C.arange(self.total) + shifts.repeat_interleave(lengths)

    def compact(self) -> Ragged:
        """The structure of the same components without space between them."""
        return Ragged(offsets_of(self.length_tensor), None, self._min, self._max)

    def matches(self, other: Ragged) -> bool:
        """Whether both are one structure."""
        return self is other or self.size == other.size

    def __deepcopy__(self, memo: dict[int, Any]) -> Ragged:
        lengths = None if self.lengths is None else copy.deepcopy(self.lengths, memo)
        return Ragged(copy.deepcopy(self.offsets, memo), lengths, self._min, self._max)

    def convert_parts(self, convert: Any) -> Ragged:
        """The structure whose tensors are the results of a function; lengths that are known stay known.

        Args:
            convert: receives the offsets, and the lengths.
        """
        lengths = None if self.lengths is None else convert(self.lengths)
        result = Ragged(convert(self.offsets), lengths, self._min, self._max)
        result._counts, result._starts = self._counts, self._starts
        return result

    def to(self, device: Any) -> Ragged:
        """The structure on another device."""
        if self.offsets.device == device:
            return self
        lengths = None if self.lengths is None else self.lengths.to(device)
        self.counts, self.starts  # noqa: B018  # read while there is memory to read
        moved = Ragged(self.offsets.to(device), lengths, self.min_length, self.max_length)
        moved._counts, moved._starts, moved.size = self._counts, self._starts, self.size
        return moved


def offsets_of(lengths: Tensor) -> Tensor:
    """0, and the cumulative sums of lengths."""
    zero = _C.zeros(1, dtype=_C.int64, device=lengths.device)
    return _C.cat([zero, lengths.long().cumsum(0)])
