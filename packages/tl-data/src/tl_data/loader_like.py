"""Loaders of other libraries, which have the attributes that PyTorch's iterators read of a loader."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["Loader", "LoaderLike", "complete"]

ITERABLE = 1  # `_DatasetKind.Iterable`


class Loader(Protocol):
    """The attributes of a loader that its iterators read."""

    dataset: Any
    batch_size: int | None
    num_workers: int
    collate_fn: Any
    pin_memory: bool
    drop_last: bool
    timeout: float
    worker_init_fn: Any
    multiprocessing_context: Any
    generator: Any
    arena_size: int | None
    epoch: int
    _iterable: bool
    _progress: Any

    @property
    def _auto_collation(self) -> bool: ...

    @property
    def _index_sampler(self) -> Any: ...

    def _take_resumed(self) -> Any: ...


def complete(loader: Any) -> Any:
    """The loader, or a wrapper that adds the missing attributes of a `DataLoader`.

    Args:
        loader: a `DataLoader`, or an object with the attributes of PyTorch's loader.
    """
    return loader if hasattr(loader, "_take_resumed") else LoaderLike(loader)


class LoaderLike:
    """A loader with PyTorch's attributes; its `_dataset_kind` is the style of the dataset.

    Args:
        loader: an object with the attributes of PyTorch's loader.
    """

    arena_size: int | None = None
    epoch = 0
    _iterator: Any = None
    _progress: Any = None
    _reported_length: int | None = None

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._iterable = loader._dataset_kind == ITERABLE
        # For a stream, the length of a list of keys is the batch size.
        keys = next(iter(loader._index_sampler), None) if self._iterable and loader._auto_collation else None
        self.batch_size = None if keys is None else len(keys)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def _take_resumed(self) -> None:
        """None: such a loader has no `load_state_dict`."""
