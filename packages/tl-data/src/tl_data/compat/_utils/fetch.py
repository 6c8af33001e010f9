"""`tl_data.fetch` under PyTorch's names and with PyTorch's arguments."""

from collections.abc import Callable
from typing import Any

from tl_data.fetch import IterableFetcher, MapFetcher


class _BaseDatasetFetcher:
    """Fetcher of batches.

    Args:
        dataset: the map-style or iterable-style dataset.
        auto_collation: whether keys come in batches.
        collate_fn: function of a list of samples that returns the batch.
        drop_last: whether a last smaller batch is dropped.
    """

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> None:
        self.dataset, self.auto_collation = dataset, auto_collation
        self.collate_fn, self.drop_last = collate_fn, drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """The batch of some keys, or without batching the sample of one."""
        raise NotImplementedError


class _MapDatasetFetcher(_BaseDatasetFetcher):
    def fetch(self, possibly_batched_index: Any) -> Any:
        """The batch of some keys, or without batching the sample of one."""
        own = MapFetcher(self.dataset, self.auto_collation, self.collate_fn)
        return own.fetch(possibly_batched_index)


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self._own = IterableFetcher(dataset, auto_collation, collate_fn, drop_last)

    def fetch(self, possibly_batched_index: Any) -> Any:
        """The batch of as many samples as there are keys, or without batching the next sample."""
        keys = possibly_batched_index
        return self._own.fetch(len(keys) if self.auto_collation else keys)
