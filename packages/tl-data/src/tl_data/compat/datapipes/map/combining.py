"""Steps that join maps."""

from __future__ import annotations

from typing import Any

from ..datapipe import MapDataPipe, functional_datapipe

__all__ = ["ConcaterMapDataPipe", "ZipperMapDataPipe"]


def _check(datapipes: tuple[Any, ...]) -> tuple[Any, ...]:
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    for pipe in datapipes:
        if not isinstance(pipe, MapDataPipe):
            raise TypeError(f"Expected all inputs to be `MapDataPipe`, got {type(pipe).__name__}")
    return datapipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe[Any]):
    """Maps of 0, 1, … one after the other.

    Example:
        >>> from tl_data.compat.datapipes.map import SequenceWrapper
        >>> SequenceWrapper([1, 2]).concat(SequenceWrapper([7]))[2]
        7
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = _check(datapipes)

    def __getitem__(self, index: int) -> Any:
        offset = 0
        for pipe in self.datapipes:
            if index - offset < len(pipe):
                return pipe[index - offset]
            offset += len(pipe)
        raise IndexError(f"index {index} is out of range of {offset} samples")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe[Any]):
    """Tuples of one sample of each map; as many as the shortest has.

    Example:
        >>> from tl_data.compat.datapipes.map import SequenceWrapper
        >>> SequenceWrapper([1, 2]).zip(SequenceWrapper("ab"))[1]
        (2, 'b')
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = _check(datapipes)

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))
