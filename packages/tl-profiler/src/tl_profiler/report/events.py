"""The events of a page: those that the page shows, packed as columns of small numbers.

A column holds unsigned integers: first the lowest byte of each number, then the next byte of each, as deflate shortens
equal bytes in a row best. Times are nanoseconds and stored as differences, signed numbers in zigzag order.

>>> zigzag([0, -1, 1, -2])
[0, 1, 2, 3]
"""

from __future__ import annotations

import array
import sys
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, cast

from tl_autograd.recorded_event import Kind
from tl_profiler.report.frames import file_of, is_runner

__all__ = ["MOST_EVENTS", "Columns", "Events", "pack", "select", "zigzag"]

# A page of so many events has some five megabytes. Beyond, the shortest calls of Python functions are left out.
MOST_EVENTS = 750_000

_CALLS = (Kind.CALL, Kind.NATIVE_CALL)
_TYPES = {"start": "d", "bytes": "d", "address": "d", "duration": "f", "name": "I", "stack": "I", "parent": "i",
          "thread": "H", "kind": "B"}  # fmt: skip

Columns = dict[str, Sequence[Any]]


class Events:
    """The events of a recording as columns of Python numbers.

    Args:
        data: the columns of `ProfilerResult.columns()`, as bytes.

    Attributes:
        columns (dict of str to sequence): the start and duration in microseconds, bytes and address of memory, indices
            of name, stack and thread, the parent's index or -1, the kind.
        omissions (int): the number of calls that `select` left out because they are short.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.names: list[str] = data["names"]
        self.columns: Columns = {
            name: memoryview(data[name]).cast(cast(Any, code)) for name, code in _TYPES.items()
        }
        self.omissions = 0

    def __len__(self) -> int:
        return len(self.columns["kind"])


def select(events: Events, most: int = MOST_EVENTS) -> None:
    """Leaves out the calls of runners and imports, and the shortest calls beyond a number of events.

    The calls that a runner makes itself go with it, but the code of the modules that it starts stays. Operators,
    modules, ranges and memory stay, so that the sums of the tables are those of all events.

    Args:
        events: the events, which are changed in place.
        most: the number of events from which on short calls are left out.
    """
    keep = _outside_runners(events)
    surplus = sum(keep) - most
    if surplus > 0:
        events.omissions = _omit_short(events, keep, surplus)
    if not all(keep):
        events.columns = _gather(events.columns, keep)


def _outside_runners(events: Events) -> bytearray:
    runner = bytearray(is_runner(file_of(name)) for name in events.names)
    module = bytearray(name.endswith(": <module>") for name in events.names)
    kinds, names, parents = events.columns["kind"], events.columns["name"], events.columns["parent"]
    keep = bytearray(b"\1") * len(events)
    for i, kind in enumerate(kinds):
        if kind in _CALLS:
            inner = parents[i] >= 0 and not keep[parents[i]] and not module[names[i]]
            keep[i] = not (runner[names[i]] or inner)
    return keep


def _omit_short(events: Events, keep: bytearray, surplus: int) -> int:
    kinds, durations = events.columns["kind"], events.columns["duration"]
    calls = sorted((durations[i], i) for i, kind in enumerate(kinds) if keep[i] and kind in _CALLS)
    for _, i in calls[:surplus]:
        keep[i] = 0
    return min(surplus, len(calls))


def _gather(columns: Columns, keep: bytearray) -> Columns:
    """The columns of the events to keep; the parent of an event is the nearest one that is kept."""
    ranks = list(accumulate(keep, initial=0))
    nearest: list[int] = []
    for i, parent in enumerate(columns["parent"]):
        nearest.append(i if keep[i] else nearest[parent] if parent >= 0 else -1)
    positions = [i for i, flag in enumerate(keep) if flag]
    result: Columns = {name: [column[i] for i in positions] for name, column in columns.items()}
    above = (columns["parent"][i] for i in positions)
    result["parent"] = [ranks[nearest[p]] if p >= 0 and nearest[p] >= 0 else -1 for p in above]
    return result


def zigzag(numbers: Iterable[int]) -> list[int]:
    """Returns signed numbers in zigzag order: 0, -1, 1, -2, ….

    Example:
        >>> zigzag([3, -3])
        [6, 5]
    """
    return [n << 1 if n >= 0 else (-n << 1) - 1 for n in numbers]


def pack(columns: Columns) -> tuple[list[tuple[str, int, str]], bytes]:
    """Returns (name, bytes a number, coding) of each column, and the columns' bytes one after the other.

    The coding is "plain", "zigzag", "differences" (zigzag, to the number before) or "distances" (zigzag, from the
    event's own index back).
    """
    starts = [round(1000 * t) for t in columns["start"]]
    numbers = {address: rank for rank, address in enumerate(dict.fromkeys(columns["address"]))}
    codes = {
        "start": ("differences", zigzag(b - a for a, b in zip([0, *starts], starts, strict=False))),
        "duration": ("plain", [max(0, round(1000 * t)) for t in columns["duration"]]),
        "bytes": ("zigzag", zigzag(int(n) for n in columns["bytes"])),
        "address": ("plain", [numbers[a] for a in columns["address"]]),
        "parent": ("distances", zigzag(i - p for i, p in enumerate(columns["parent"]))),
        **{name: ("plain", list(columns[name])) for name in ("name", "stack", "thread", "kind")},
    }
    planes = {name: _planes(values) for name, (_, values) in codes.items()}
    layout = [(name, width, codes[name][0]) for name, (width, _) in planes.items()]
    return layout, b"".join(body for _, body in planes.values())


def _planes(values: list[int]) -> tuple[int, bytes]:
    width = max(1, (max(values, default=0).bit_length() + 7) // 8)
    packed = array.array("Q", values)
    if sys.byteorder == "big":
        packed.byteswap()
    body = packed.tobytes()
    return width, b"".join(body[k::8] for k in range(width))
