"""A step that groups samples."""

from __future__ import annotations

from typing import Any

from ..datapipe import DataChunk, MapDataPipe, functional_datapipe

__all__ = ["BatcherMapDataPipe"]


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe[Any]):
    """Batches of `batch_size` samples; the last may be smaller, or is dropped.

    Args:
        datapipe: the source pipe.
        batch_size: the samples of a batch.
        drop_last: whether a last smaller batch is dropped.
        wrapper_class: class of a batch, called with the list of samples.

    Example:
        >>> from tl_data.compat.datapipes.map import SequenceWrapper
        >>> SequenceWrapper(range(5)).batch(2)[1]
        [2, 3]
    """

    def __init__(
        self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk
    ) -> None:
        if batch_size <= 0:
            raise AssertionError(f"Batch size is required to be larger than 0! Got batch_size={batch_size}")
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"batch {index} of {len(self)}")
        first = index * self.batch_size
        last = min(first + self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[i] for i in range(first, last)])

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
