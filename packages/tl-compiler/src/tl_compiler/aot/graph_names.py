"""The names of graphs while they are compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = [
    "get_aot_compilation_context",
    "get_aot_graph_name",
    "get_graph_being_compiled",
    "graph_in_compilation",
]

_being_compiled: list[str] = []
_count = [0]


@contextlib.contextmanager
def graph_in_compilation(name: str) -> Iterator[None]:
    """A region in which a compiler has a graph.

    Args:
        name: "forward", "backward" or "inference".
    """
    before, _being_compiled[:] = list(_being_compiled), [name]
    try:
        yield
    finally:
        _being_compiled[:] = before


def next_function() -> int:
    """The number of the next function that becomes graphs."""
    _count[0] += 1
    return _count[0] - 1


def get_aot_compilation_context() -> tuple[list[str], str, int]:
    """The graphs that a compiler has now, the name of the model, and the number of the function.

    Example:
        >>> get_aot_compilation_context()[1]
        'model'
    """
    return list(_being_compiled), "model", max(_count[0] - 1, 0)


def get_aot_graph_name() -> str:
    """The name of the graph that a compiler has now, for files.

    Example:
        >>> get_aot_graph_name().startswith("model_")
        True
    """
    names, model, number = get_aot_compilation_context()
    return f"{model}__{'_'.join(names)}_{number}"


get_graph_being_compiled = get_aot_graph_name
