"""Fetchers of batches, for the main process, worker processes and threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import Tensor

from . import collate as collation
from .dataset import Resumable, bulk_method, skip, take

__all__ = ["IterableFetcher", "MapFetcher", "fetcher"]


def fetcher(
    dataset: Any,
    batching: bool,
    collate_fn: Callable[[Any], Any],
    drop_last: bool,
    iterable: bool,
    state: dict[str, Any] | None = None,
) -> Any:
    """The fetcher for a dataset of either style.

    Args:
        dataset: the map-style or iterable-style dataset.
        batching: whether keys come in batches.
        collate_fn: function of a list of samples that returns the batch.
        drop_last: whether a last smaller batch is dropped.
        iterable: whether the dataset is iterable-style.
        state: result of `IterableFetcher.state` to resume from; None at the beginning.
    """
    if iterable:
        return IterableFetcher(dataset, batching, collate_fn, drop_last, state)
    return MapFetcher(dataset, batching, collate_fn)


class MapFetcher:
    """Batches of a map-style dataset, in one call per batch if the dataset supports it.

    Args:
        dataset: the map-style or iterable-style dataset.
        batching: whether keys come in batches.
        collate_fn: function of a list of samples that returns the batch.
    """

    def __init__(self, dataset: Any, batching: bool, collate_fn: Callable[[Any], Any]) -> None:
        self._dataset, self._batching, self.collate = dataset, batching, collate_fn
        self._many = bulk_method(dataset, "__getitems__")
        plain = collate_fn is collation.default_collate
        self._get_batch = bulk_method(dataset, "__getbatch__") if plain else None

    def fetch(self, keys: Any) -> Any:
        """The batch of some keys, or without batching the sample of one.

        An error of the dataset gets a note with the key of the sample.
        """
        if not self._batching:
            return self.collate(self._single(keys))
        if self._get_batch is not None and _are_numbers(keys):
            table = collation.default_collate_fn_map
            if table.get(Tensor) is collation.collate_tensor_fn:
                # A tuple of keys would be the index of one element.
                batch = self._ask(self._get_batch, keys if isinstance(keys, Tensor) else list(keys))
                if batch is not NotImplemented:
                    return batch
        keys = keys.tolist() if isinstance(keys, Tensor) else keys
        return self.collate(self._ask(self._many, keys) if self._many is not None else self._each(keys))

    def _single(self, key: Any) -> Any:
        try:
            return self._dataset[key]
        except Exception as error:
            error.add_note(f"while the sample {key!r} was fetched")
            raise

    def _ask(self, many: Callable[[Any], Any], keys: Any) -> Any:
        try:
            return many(keys)
        except Exception as error:
            listed = keys.tolist() if isinstance(keys, Tensor) else keys
            error.add_note(f"while the samples {listed!r} were fetched at once")
            raise

    def _each(self, keys: Any) -> list[Any]:
        samples: list[Any] = []
        try:
            for key in keys:
                samples.append(self._dataset[key])
        except Exception as error:
            error.add_note(f"while the sample {key!r} was fetched")
            raise
        return samples


def _are_numbers(keys: Any) -> bool:
    return isinstance(keys, Tensor) or set(map(type, keys)) == {int}


class IterableFetcher:
    """Batches of an iterable-style dataset, in its own order.

    It resumes from the state of the dataset's iterator or of the dataset, whichever is `Resumable`. Else it reads and
    drops the samples that were read before. An epoch has one iterator, of which only `next` is called.

    Args:
        dataset: the map-style or iterable-style dataset.
        batching: whether keys come in batches.
        collate_fn: function of a list of samples that returns the batch.
        drop_last: whether a last smaller batch is dropped.
        state: result of `IterableFetcher.state` to resume from; None at the beginning.
    """

    def __init__(
        self,
        dataset: Any,
        batching: bool,
        collate_fn: Callable[[Any], Any],
        drop_last: bool,
        state: dict[str, Any] | None = None,
    ) -> None:
        self._dataset, self._batching, self.collate, self._drop_last = (
            dataset,
            batching,
            collate_fn,
            drop_last,
        )
        self._read = 0
        self._ended = False
        self._samples = iter(dataset) if state is None else self._resume(state)

    def _resume(self, state: dict[str, Any]) -> Any:
        if "dataset" in state:
            self._dataset.load_state_dict(state["dataset"])
        samples = iter(self._dataset)
        if "iterator" in state:
            samples.load_state_dict(state["iterator"])
        if "skip" in state:
            self._read = state["skip"]
            skip(samples, self._read)
        return samples

    def state(self) -> dict[str, Any]:
        """Plain data to resume the stream at its position."""
        if isinstance(self._samples, Resumable):
            return {"iterator": self._samples.state_dict()}
        if isinstance(self._dataset, Resumable):
            return {"dataset": self._dataset.state_dict()}
        return {"skip": self._read}

    def fetch(self, count: Any) -> Any:
        """The batch of the next `count` samples, or without batching the next sample; StopIteration at the end."""
        if self._ended:
            raise StopIteration
        try:
            if not self._batching:
                batch = next(self._samples)
                self._read += 1
            else:
                batch = list(take(self._samples, count))
                self._read += len(batch)
                self._ended = len(batch) < count
        except StopIteration:
            self._ended = True
            raise
        except Exception as error:
            error.add_note(f"while the samples from number {self._read} on were read")
            raise
        if self._batching and (not batch or (self._ended and self._drop_last)):
            raise StopIteration
        return self.collate(batch)
