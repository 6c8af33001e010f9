"""A step that calls a function with each sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..datapipe import MapDataPipe, functional_datapipe

__all__ = ["MapperMapDataPipe", "default_fn"]


def default_fn(data: Any) -> Any:
    """The sample, unchanged.

    Args:
        data: the sample.
    """
    return data


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe[Any]):
    """`fn` of each sample.

    Example:
        >>> from tl_data.compat.datapipes.map import SequenceWrapper
        >>> SequenceWrapper([1, 2]).map(lambda x: 10 * x)[1]
        20
    """

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any] = default_fn) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)
