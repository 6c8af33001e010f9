"""Steps that group samples, and ungroup them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tl_data.dataset import take

from ..datapipe import DataChunk, IterDataPipe, functional_datapipe, lengths

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe[Any]):
    """Batches of `batch_size` samples; the last may be smaller, or is dropped.

    Args:
        datapipe: the source pipe.
        batch_size: the samples of a batch.
        drop_last: whether a last smaller batch is dropped.
        wrapper_class: class of a batch, called with the list of samples.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(5)).batch(2))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk
    ) -> None:
        if batch_size <= 0:
            raise AssertionError(f"Batch size is required to be larger than 0! Got batch_size={batch_size}")
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __iter__(self) -> Iterator[Any]:
        samples = iter(self.datapipe)
        while batch := list(take(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.wrapper_class(batch)

    def __len__(self) -> int:
        (count,) = lengths(self, self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The elements of batches, `unbatch_level` deep; -1 flattens lists at every depth.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([[1, 2], [3]]).unbatch())
        [1, 2, 3]
    """

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        if unbatch_level < -1:
            raise ValueError(f"unbatch_level must be -1 or >= 0, got {unbatch_level}")
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for element in self.datapipe:
            yield from self._apart(element, self.unbatch_level)

    def _apart(self, element: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level < 0 and not isinstance(element, list)):
            yield element
            return
        if not isinstance(element, list):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the pipe")
        for item in element:
            yield from self._apart(item, level if level < 0 else level - 1)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Lists of samples with equal `group_key_fn` (with `keep_key`: pairs of key and list).

    A group is yielded when it has `group_size` samples. When the buffer has `buffer_size` samples, the largest group is
    removed. It must have `guaranteed_group_size` samples unless `drop_remaining` drops smaller groups.

    Args:
        datapipe: the source pipe.
        group_key_fn: function of a sample that returns the key of its group.
        keep_key: whether to yield pairs of key and list.
        buffer_size: maximum number of buffered samples.
        group_size: number of samples of a full group; None yields groups when the buffer is full.
        guaranteed_group_size: minimum size of a group that is yielded early.
        drop_remaining: whether smaller groups are dropped instead of raising RuntimeError.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(["ant", "bee", "asp"]).groupby(lambda word: word[0]))
        [['ant', 'asp'], ['bee']]
    """

    def __init__(
        self,
        datapipe: Any,
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        for name, size in (("group_size", group_size), ("guaranteed_group_size", guaranteed_group_size)):
            if size is not None and not 0 < size <= (
                buffer_size if name == "group_size" else group_size or 0
            ):
                raise ValueError(
                    f"{name}={size} fits neither buffer_size={buffer_size} nor group_size={group_size}"
                )
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.buffer_size, self.group_size = buffer_size, group_size
        self.guaranteed_group_size = group_size if guaranteed_group_size is None else guaranteed_group_size
        self.drop_remaining = drop_remaining

    def __iter__(self) -> Iterator[Any]:
        groups: dict[Any, list[Any]] = {}
        count = 0
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            group = groups.setdefault(key, [])
            group.append(sample)
            count += 1
            if len(group) == self.group_size:
                count -= len(group)
                yield self._chunk(key, groups.pop(key))
            elif count == self.buffer_size:
                key, group = self._largest(groups)
                count -= len(group)
                if self._is_enough(group):
                    yield self._chunk(key, group)
        for key, group in groups.items():
            if not self.drop_remaining or self._is_enough(group):
                yield self._chunk(key, group)

    def _chunk(self, key: Any, group: list[Any]) -> Any:
        return (key, DataChunk(group)) if self.keep_key else DataChunk(group)

    def _is_enough(self, group: list[Any]) -> bool:
        return self.guaranteed_group_size is None or len(group) >= self.guaranteed_group_size

    def _largest(self, groups: dict[Any, list[Any]]) -> tuple[Any, list[Any]]:
        key = max(groups, key=lambda k: len(groups[k]))
        group = groups.pop(key)
        if not self._is_enough(group) and not self.drop_remaining:
            raise RuntimeError(
                f"the largest group, {key!r}, has {len(group)} samples when buffer_size={self.buffer_size} is full; "
                f"guaranteed_group_size={self.guaranteed_group_size} asks for more"
            )
        return key, group
