"""Sources of streams."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

from ..datapipe import IterDataPipe

__all__ = ["IterableWrapperIterDataPipe"]


class IterableWrapperIterDataPipe(IterDataPipe[Any]):
    """The items of an iterable, which each pass copies first unless `deepcopy=False`.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(3)).map(lambda x: x + 10))
        [10, 11, 12]
    """

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        return iter(copy.deepcopy(self.iterable) if self.deepcopy else self.iterable)

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]
