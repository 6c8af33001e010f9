"""The graph of pipes that a pipe reads from."""

from __future__ import annotations

from typing import Any, TypeAlias

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse_dps"]

DataPipe: TypeAlias = IterDataPipe | MapDataPipe
DataPipeGraph: TypeAlias = dict[int, tuple[DataPipe, "DataPipeGraph"]]


def traverse_dps(datapipe: Any) -> dict[int, tuple[Any, Any]]:
    """The graph `{id: (pipe, graph of its sources)}`.

    Raises RuntimeError for an object that is no pipe.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> len(traverse_dps(IterableWrapper(range(3))))
        1
    """
    if not isinstance(datapipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"expected IterDataPipe or MapDataPipe, got {type(datapipe).__name__}")
    below: dict[int, tuple[Any, Any]] = {}
    for source in _sources(vars(datapipe)):
        below |= traverse_dps(source)
    return {id(datapipe): (datapipe, below)}


def _sources(value: Any, depth: int = 3) -> list[Any]:
    """The pipes among attributes, in containers and in the helpers of forks and shuffles."""
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        return [value]
    if depth == 0 or isinstance(value, (str, bytes)):
        return []
    if isinstance(value, dict):
        items: Any = value.values()
    elif isinstance(value, (list, tuple)):
        items = value
    else:
        items = [getattr(value, name) for name in ("datapipe", "main_datapipe") if hasattr(value, name)]
    return [pipe for item in items for pipe in _sources(item, depth - 1)]
