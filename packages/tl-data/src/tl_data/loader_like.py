"""Loaders of other libraries, which give the iterators what the reference's iterators read of a loader."""

from __future__ import annotations

from typing import Any

__all__ = ["LoaderLike", "completed"]

ITERABLE = 1  # `_DatasetKind.Iterable`


def completed(loader: Any) -> Any:
    """The loader, or one around it that has what it lacks of a `DataLoader`.

    Args:
        loader: the loader.
    """
    return loader if hasattr(loader, "_take_resumed") else LoaderLike(loader)


class LoaderLike:
    """A loader with the reference's attributes and a dataset of the style that its `_dataset_kind` says.

    Args:
        loader: the loader.
    """

    arena_size: int | None = None
    epoch = 0
    _iterator: Any = None
    _progress: Any = None
    _reported_length: int | None = None

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._iterable = loader._dataset_kind == ITERABLE
        # Of a stream, a list of keys says how long a batch is.
        keys = next(iter(loader._index_sampler), None) if self._iterable and loader._auto_collation else None
        self.batch_size = None if keys is None else len(keys)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def _take_resumed(self) -> None:
        """No state was loaded: it has no `load_state_dict`."""
