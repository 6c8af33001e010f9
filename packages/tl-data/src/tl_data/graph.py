"""Which pipes a pipe is made of."""

from __future__ import annotations

from typing import Any, TypeAlias

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse_dps"]

DataPipe: TypeAlias = IterDataPipe | MapDataPipe
DataPipeGraph: TypeAlias = dict[int, tuple[DataPipe, "DataPipeGraph"]]


def traverse_dps(datapipe: Any) -> dict[int, tuple[Any, Any]]:
    """`{id: (pipe, the same of what it reads)}`.

    Raises RuntimeError for what is no pipe.

    Example:
        >>> from tl_data.datapipes.iter import IterableWrapper
        >>> len(traverse_dps(IterableWrapper(range(3))))
        1
    """
    if not isinstance(datapipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"expected IterDataPipe or MapDataPipe, got {type(datapipe).__name__}")
    below: dict[int, tuple[Any, Any]] = {}
    for source in _sources(vars(datapipe)):
        below |= traverse_dps(source)
    return {id(datapipe): (datapipe, below)}


def _sources(held: Any, depth: int = 3) -> list[Any]:
    """The pipes among attributes, in containers and in what forks and shuffles keep."""
    if isinstance(held, (IterDataPipe, MapDataPipe)):
        return [held]
    if depth == 0 or isinstance(held, (str, bytes)):
        return []
    if isinstance(held, dict):
        items: Any = held.values()
    elif isinstance(held, (list, tuple)):
        items = held
    else:
        items = [held.datapipe] if hasattr(held, "datapipe") else []
    return [pipe for item in items for pipe in _sources(item, depth - 1)]
