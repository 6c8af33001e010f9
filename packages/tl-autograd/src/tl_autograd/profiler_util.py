"""What a profile consists of: events, averages over events of one name, and their table."""

from __future__ import annotations

import bisect
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
    "StringTable",
]


class Interval:
    """A stretch of time, in microseconds."""

    def __init__(self, start: float, end: float):
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A piece of work on an accelerator."""

    name: str
    device: int
    duration: float


class StringTable(defaultdict):
    """Texts by what they stand for; a text that is missing stands for itself."""

    def __missing__(self, key: Any) -> Any:
        self[key] = key
        return key


class MemRecordsAcc:
    """Finds those of many memory records that lie in a stretch of time.

    Args:
        mem_records: objects or pairs (object, …) whose first part has `start_ns()`.
    """

    def __init__(self, mem_records: Sequence[Any]):
        self._records = sorted(mem_records, key=self._start)
        self._starts = [self._start(r) for r in self._records]

    @staticmethod
    def _start(record: Any) -> int:
        return (record[0] if isinstance(record, (list, tuple)) else record).start_ns()

    def in_interval(self, start_ns: int, end_ns: int) -> Iterator[Any]:
        """The records that begin within it."""
        first, last = bisect.bisect_left(self._starts, start_ns), bisect.bisect_right(self._starts, end_ns)
        yield from self._records[first:last]


class FunctionEvent:
    """One call of an operator, or one labelled block. Times are in microseconds."""

    def __init__(
        self, name: str, start_us: float, end_us: float, thread: int = 0, is_user_annotation: bool = False
    ):
        self.name = self.key = name
        self.time_range = Interval(start_us, end_us)
        self.thread, self.is_user_annotation = thread, is_user_annotation
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.count = 1

    @property
    def cpu_time_total(self) -> float:
        """Its whole duration."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """Its duration without what ran inside it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def cpu_time(self) -> float:
        """As `cpu_time_total`."""
        return self.cpu_time_total

    def __repr__(self) -> str:
        return f"<FunctionEvent name={self.name} cpu_time={self.cpu_time_total:.3f}us>"


class FunctionEventAvg:
    """The sums of all events of one name."""

    def __init__(self, key: str | None = None):
        self.key = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0

    @property
    def cpu_time(self) -> float:
        """The mean duration."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def add(self, event: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Counts an event, or the events of another sum."""
        self.key = self.key or event.key
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return f"<FunctionEventAvg key={self.key} count={self.count} self_cpu_time={self.self_cpu_time_total:.3f}us>"


class EventList(list):
    """Events, or sums of events, that print as a table."""

    def nest(self) -> None:
        """Finds which event ran inside which: the innermost that covers it."""
        open_: list[FunctionEvent] = []
        for e in sorted(self, key=lambda e: (e.time_range.start, -e.time_range.end)):
            while open_ and open_[-1].time_range.end < e.time_range.end:
                open_.pop()
            if open_:
                e.cpu_parent = open_[-1]
                open_[-1].cpu_children.append(e)
            open_.append(e)

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0) -> EventList:
        """One sum a name."""
        if group_by_input_shapes or group_by_stack_n:
            raise NotImplementedError("key_averages groups by name only: shapes and stacks are not recorded")
        sums: dict[str, FunctionEventAvg] = {}
        for e in self:
            sums.setdefault(e.key, FunctionEventAvg(e.key)).add(e)
        return EventList(sums.values())

    def total_average(self) -> FunctionEventAvg:
        """The sum of all."""
        total = FunctionEventAvg("Total")
        for e in self:
            total.add(e)
        return total

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all operators, none counted twice."""
        return sum(e.self_cpu_time_total for e in self)

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
              top_level_events_only: bool = False, time_unit: str | None = None) -> str:  # fmt: skip
        """The events as text, one a line.

        Args:
            sort_by: an attribute such as "self_cpu_time_total", "cpu_time_total", "cpu_time" or "count"; the largest
                come first.
            time_unit: "s", "ms" or "us"; None chooses for each number.
        """
        events = [e for e in self if not top_level_events_only or getattr(e, "cpu_parent", None) is None]
        if sort_by:
            events.sort(key=lambda e: getattr(e, sort_by), reverse=True)
        whole = self.self_cpu_time_total or 1.0
        rows = [
            (_short(e.key, max_name_column_width), f"{100 * e.self_cpu_time_total / whole:.2f}%",
             _time(e.self_cpu_time_total, time_unit), _time(e.cpu_time_total, time_unit), _time(e.cpu_time, time_unit),
             str(e.count))
            for e in (events[:row_limit] if row_limit >= 0 else events)
        ]  # fmt: skip
        text = _aligned(("Name", "Self CPU %", "Self CPU", "CPU total", "CPU time avg", "# of Calls"), rows)
        last = f"Self CPU time total: {_time(self.self_cpu_time_total, time_unit)}"
        return "\n".join([*([header] if header else []), text, last]) + "\n"

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events as a file for chrome://tracing."""
        events = [
            {"name": e.key, "ph": "X", "ts": e.time_range.start, "dur": e.cpu_time_total, "tid": e.thread,
             "pid": "CPU functions", "args": {}}
            for e in self
        ]  # fmt: skip
        with open(path, "w", encoding="utf-8") as file:
            json.dump(events, file)

    def __str__(self) -> str:
        return self.table()


def _short(name: str | None, width: int) -> str:
    text = name or ""
    return text if len(text) <= width else text[: width - 3] + "..."


def _time(us: float, unit: str | None) -> str:
    unit = unit or ("s" if us >= 1e6 else "ms" if us >= 1e3 else "us")
    return f"{us / {'s': 1e6, 'ms': 1e3, 'us': 1.0}[unit]:.3f}{unit}"


def _aligned(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    rule = "  ".join("-" * w for w in widths)
    told = ["  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) for line in lines]
    return "\n".join([rule, told[0], rule, *told[1:], rule])
