"""Memory by category over time: parameters, gradients, activations and the rest.

The recording determines the category of a tensor. Parameters and the state of optimizers belong to the modules and
optimizers that ran. A gradient is a tensor that reached a leaf. The backward uses an activation again. Other memory of
the backward is detail of autograd. Memory from before the recording is an input. All else is temporary.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Iterator
from typing import Any

from tl_autograd.profiler_results import ProfilerResult
from tl_autograd.recorded_event import Kind, RecordedEvent, is_tensor
from tl_core.memory.whole_files import write_whole

__all__ = ["Action", "Category", "Key", "MemoryProfile", "MemoryProfileTimeline", "TensorKey"]


class Category(enum.Enum):
    """The category of memory."""

    INPUT = enum.auto()
    TEMPORARY = enum.auto()
    ACTIVATION = enum.auto()
    GRADIENT = enum.auto()
    AUTOGRAD_DETAIL = enum.auto()
    PARAMETER = enum.auto()
    OPTIMIZER_STATE = enum.auto()


class Action(enum.Enum):
    """The kind of a change of memory."""

    PREEXISTING = enum.auto()
    CREATE = enum.auto()
    INCREMENT_VERSION = enum.auto()
    DESTROY = enum.auto()


@dataclasses.dataclass(frozen=True)
class Key:
    """An owner of a device's memory."""

    device: Any


@dataclasses.dataclass(frozen=True)
class TensorKey(Key):
    """One allocation of a tensor: `id` is unique, later allocations may reuse the address."""

    id: int
    address: int


# A key with the version of its elements.
KeyAndID = tuple[Key, int]
TensorAndID = tuple[TensorKey, int]


_CATEGORY_TO_COLORS = {
    Category.PARAMETER: "#2e7d32",
    Category.OPTIMIZER_STATE: "#c9a227",
    Category.INPUT: "#212121",
    Category.TEMPORARY: "#8e44ad",
    Category.ACTIVATION: "#c0392b",
    Category.GRADIENT: "#3b7ddd",
    Category.AUTOGRAD_DETAIL: "#5dade2",
    None: "#95a5a6",
}
_CATEGORY_TO_INDEX = {category: index for index, category in enumerate(_CATEGORY_TO_COLORS)}
_ACTION_TO_INDEX = {action: action.value for action in Action}


class _Life:
    """One allocation; `begin` is None if the memory is older than the profile."""

    def __init__(self, number: int, address: int, begin: int | None, size: int, in_backward: bool) -> None:
        self.key = TensorKey("cpu", number, address)
        self.begin, self.end, self.size = begin, 0, size
        self.in_backward = in_backward
        self.is_gradient = self.used_in_backward = False
        self.known: Category | None = None
        self.writes: list[int] = []

    @property
    def category(self) -> Category:
        """The category of the allocation."""
        if self.known is not None:
            return self.known
        if self.is_gradient:
            return Category.GRADIENT
        if self.begin is None:
            return Category.INPUT
        if self.in_backward:
            return Category.AUTOGRAD_DETAIL
        return Category.ACTIVATION if self.used_in_backward else Category.TEMPORARY


class MemoryProfile:
    """The memory of a recording with shapes, stacks and memory.

    Args:
        result: the result of a profile that has ended.
    """

    def __init__(self, result: ProfilerResult) -> None:
        self._result = result
        self._lives: list[_Life] = []
        self._live: dict[int, _Life] = {}
        events = result.recorded
        self._backward = _inside(events, (Kind.NODE, Kind.EVALUATION))
        self._order = sorted(range(len(events)), key=lambda i: events[i].start)
        for index in self._order:
            self._read(index, events[index])
        for address, name in result.known_tensors.items():
            self._name(address, Category[name])

    def _read(self, index: int, event: RecordedEvent) -> None:
        if event.kind == Kind.MEMORY:
            self._allocated_or_freed(index, event)
        elif event.kind in (Kind.OPERATOR, Kind.NODE):
            for value in _tensors(event.values or ()):
                life = self._of(value)
                if life is None:
                    continue
                life.used_in_backward |= self._backward[index]
                life.is_gradient |= event.kind == Kind.NODE and event.name.endswith("AccumulateGrad")
            if event.kind == Kind.OPERATOR and _writes(event.name):
                target = next(_tensors((event.values or ())[:1]), None)
                life = self._of(target) if target else None
                if life is not None:
                    life.writes.append(event.end)

    def _allocated_or_freed(self, index: int, event: RecordedEvent) -> None:
        if event.number > 0:
            self._begin(event.what, event.number, event.start, self._backward[index])
            return
        life = self._live.pop(event.what, None)
        if life is None:
            life = self._begin(event.what, -event.number)
            del self._live[event.what]
        life.end = event.start

    def _begin(self, address: int, size: int, start: int | None = None, in_backward: bool = False) -> _Life:
        life = _Life(len(self._lives), address, start, size, in_backward)
        self._lives.append(life)
        self._live[address] = life
        return life

    def _of(self, value: Any) -> _Life | None:
        address, sizes = value[2], value[6]
        if not address:
            return None
        life = self._live.get(address)
        if life is None:
            size = value[3].itemsize
            for n in sizes:
                size *= n
            life = self._begin(address, size)
        return life

    def _name(self, address: int, category: Category) -> None:
        life = self._live.get(address)
        if life is not None:
            life.known = category

    @property
    def timeline(self) -> tuple[tuple[int, Action, tuple[Key, int], int], ...]:
        """The changes: (nanoseconds, action, (key of the memory, number of writes), bytes)."""
        changes: list[tuple[int, Action, tuple[Key, int], int]] = []
        for life in self._lives:
            if life.begin is None:
                changes.append((-1, Action.PREEXISTING, (life.key, 0), life.size))
            else:
                changes.append((life.begin, Action.CREATE, (life.key, 0), life.size))
            changes += [
                (at, Action.INCREMENT_VERSION, (life.key, i), life.size) for i, at in enumerate(life.writes)
            ]
            if life.end:
                changes.append((life.end, Action.DESTROY, (life.key, len(life.writes)), life.size))
        return tuple(sorted(changes, key=lambda e: e[0]))

    def category_of(self, key: TensorKey) -> Category:
        """The category of the memory."""
        return self._lives[key.id].category


def _inside(events: list[RecordedEvent], kinds: tuple[int, ...]) -> list[bool]:
    inside: list[bool] = []
    for event in events:
        inside.append(event.kind in kinds or (event.parent >= 0 and inside[event.parent]))
    return inside


def _tensors(values: Any) -> Iterator[Any]:
    for value in values:
        if is_tensor(value):
            yield value
        elif isinstance(value, list):
            yield from _tensors(value)


def _writes(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


class MemoryProfileTimeline:
    """Writes the memory of a profile by category.

    Args:
        memory_profile: a `MemoryProfile`.
    """

    def __init__(self, memory_profile: MemoryProfile) -> None:
        self.memory_profile = memory_profile
        self.timeline = memory_profile.timeline
        self._start = memory_profile._result.trace_start_ns()

    def _coalesce_timeline(self, device_str: str = "cpu") -> tuple[list[int], list[list[int]]]:
        """(microseconds, [bytes by category]) after each change. The first bytes have no category."""
        sizes = [0] * (len(Category) + 1)
        times: list[int] = []
        rows: list[list[int]] = []
        for at, action, (key, _), size in self.timeline:
            if action is Action.INCREMENT_VERSION or key.device != device_str.partition(":")[0]:
                continue
            assert isinstance(key, TensorKey)
            index = self.memory_profile.category_of(key).value
            sizes[index] += -size if action is Action.DESTROY else size
            moment = max(at, self._start) // 1000
            if times and times[-1] == moment:
                rows[-1] = list(sizes)
                continue
            times.append(moment)
            rows.append(list(sizes))
        return times, rows

    def export(self, path: str, device: str) -> None:
        """Writes the file in the format of the name's end.

        Args:
            path: ".html", ".raw.json.gz", or another name for JSON, compressed if it ends with ".gz".
            device: "cpu".
        """
        if path.endswith(".html"):
            self.export_memory_timeline_html(path, device)
        elif path.endswith("raw.json.gz"):
            self.export_memory_timeline_raw(path, device)
        else:
            self.export_memory_timeline(path, device)

    def export_memory_timeline(self, path: str, device_str: str) -> None:
        """Writes `[times, [bytes by category]]` as JSON."""
        times, rows = self._coalesce_timeline(device_str)
        _dump(path, [times, rows])

    def export_memory_timeline_raw(self, path: str, device_str: str) -> None:
        """Writes each change as `(nanoseconds, action, bytes, category)`."""
        raw = []
        for at, action, (key, _), size in self.timeline:
            if key.device != device_str.partition(":")[0]:
                continue
            assert isinstance(key, TensorKey)
            category = self.memory_profile.category_of(key)
            raw.append((at, _ACTION_TO_INDEX[action], size, category.value))
        _dump(path, raw)

    def export_memory_timeline_html(self, path: str, device_str: str, figsize: tuple[int, int] = (20, 12),
                                    title: str | None = None) -> None:  # fmt: skip
        """Writes a self-contained page with the stacked bytes of the categories over time."""
        from tl_profiler.report import timeline_page

        times, rows = self._coalesce_timeline(device_str)
        series = [
            (c.name if c else "UNKNOWN", color, [r[c.value if c else 0] for r in rows])
            for c, color in _CATEGORY_TO_COLORS.items()
        ]
        page = timeline_page(title or "Memory by category", times, series, figsize[1] * 36)

        def write(to: str) -> None:
            with open(to, "w", encoding="utf-8") as file:
                file.write(page)

        write_whole(path, write)


def _dump(path: str, data: Any) -> None:
    def write(to: str) -> None:
        with open(to, "w", encoding="utf-8") as file:
            json.dump(data, file)

    write_whole(path, write)
