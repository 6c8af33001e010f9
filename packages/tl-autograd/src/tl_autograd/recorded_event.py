"""Profiling: events as the core records them."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Kind", "RecordedEvent", "concrete", "is_tensor", "shape_of"]


class Kind:
    """The kind of an event, by the core's numbers."""

    OPERATOR, NODE, EVALUATION, RANGE, MODULE, CALL, NATIVE_CALL, MEMORY, RESULTS, MARK = range(10)


class RecordedEvent(NamedTuple):
    """A recorded event. Times are in nanoseconds of the steady clock.

    `number` is the number of the graph's node that a call made or that ran, and the bytes of an event of memory.

    Args:
        kind: a number of `Kind`.
        name: the name of the operator, node or block.
        overload: the overload of the operator.
        start: the start of the event.
        end: the end of the event.
        thread: the number of the thread.
        system_thread: the system's number of the thread.
        number: a number that depends on the kind: bytes, a sequence number.
        stack: the Python lines around it.
        parent: the index of the event around it; -1 for none.
        values: the recorded arguments.
        what: an address or a further name.
        scope: operator, node or labelled block.
        total: the bytes in use afterwards.
    """

    kind: int
    name: str
    overload: str
    start: int
    end: int
    thread: int
    system_thread: int
    number: int
    stack: int
    parent: int
    values: tuple[Any, ...] | None
    what: int
    scope: int
    total: int


class TensorSeen(NamedTuple):
    """The fields of a tensor in a recording."""

    word: str
    impl: int
    memory: int
    dtype: Any
    device: Any
    layout: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


def is_tensor(value: Any) -> bool:
    """Whether a recorded value is a tensor."""
    return isinstance(value, tuple) and len(value) == 8 and value[0] == "tensor"


def shape_of(value: Any) -> Any:
    """The sizes of a tensor, a list of sizes for a list of tensors, [] for other values."""
    if is_tensor(value):
        return list(value[6])
    if isinstance(value, list) and value and all(v is None or is_tensor(v) for v in value):
        return [[] if v is None else list(v[6]) for v in value]
    return []


def concrete(value: Any) -> Any:
    """The value itself, "" for tensors."""
    if is_tensor(value) or value is None:
        return "" if value is not None else None
    if isinstance(value, list):
        return "" if any(is_tensor(v) for v in value) else value
    if isinstance(value, tuple):
        return value[2]
    return value
