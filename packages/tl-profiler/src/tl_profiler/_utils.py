"""Readers of the tree of events: traversals, self times, idle accelerators."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tl_autograd.profiler import profile as _profile
from tl_autograd.profiler_kinds import DeviceType, EventType

__all__ = ["BasicEvaluation", "EventKey", "EventMetrics", "Interval", "index_of_first_match", "traverse_bfs",
           "traverse_dfs"]  # fmt: skip


def _children(event: Any) -> Iterable[Any]:
    return event.children


def _traverse(tree: Iterable[Any], next_fn: Callable[[Any], Any],
              children_fn: Callable[[Any], Iterable[Any]] = _children,
              reverse: bool = False) -> Iterator[Any]:  # fmt: skip
    order = reversed if reverse else list
    remaining = deque(order(list(tree)))
    while remaining:
        event = next_fn(remaining)
        yield event
        remaining.extend(order(list(children_fn(event))))


def traverse_dfs(
    tree: Iterable[Any], children_fn: Callable[[Any], Iterable[Any]] = _children
) -> Iterator[Any]:
    """Each event before those inside it."""
    return _traverse(tree, lambda q: q.pop(), children_fn, reverse=True)


def traverse_bfs(
    tree: Iterable[Any], children_fn: Callable[[Any], Iterable[Any]] = _children
) -> Iterator[Any]:
    """Level by level."""
    return _traverse(tree, lambda q: q.popleft(), children_fn, reverse=False)


@dataclass
class EventMetrics:
    """Times of an event, in nanoseconds. `queue_depth` is the number of kernels that wait."""

    duration_time_ns: int = 0
    self_time_ns: int = 0
    idle_time_ns: int = 0
    queue_depth: int = 0

    @property
    def fraction_idle_time(self) -> float:
        """The fraction of the time in which the accelerator is idle."""
        return 0.0 if self.duration_time_ns == 0 else self.idle_time_ns / self.duration_time_ns


@dataclass
class Interval:
    """An interval of time and the number of kernels that wait in it."""

    start: int
    end: int
    queue_depth: int = 0


class EventKey:
    """An event as the key of a table, compared by identity."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def __hash__(self) -> int:
        return hash(self.event.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventKey) and bool(self.event.id == other.event.id)

    def __repr__(self) -> str:
        return f"{self.event.name}"

    def intervals_overlap(self, intervals: Sequence[Interval]) -> int:
        """The nanoseconds of the event inside the union of the intervals."""
        total, reached = 0, self.event.start_time_ns
        for i in sorted(intervals, key=lambda i: i.start):
            start, end = max(i.start, reached), min(i.end, self.event.end_time_ns)
            if start < end:
                total += end - start
                reached = end
        return total


@dataclass
class _Queue:
    """The launches of an accelerator's kernels, and the kernels."""

    ordered: list[Any]
    kernels: list[Any]


class BasicEvaluation:
    """Computes the times in which an accelerator waits for the program.

    Args:
        prof: a profile that has ended.
    """

    def __init__(self, prof: _profile) -> None:
        self.profile = prof
        self.metrics: dict[EventKey, EventMetrics] = {}
        self.compute_self_time()
        self.event_keys = sorted(self.metrics, key=lambda e: e.event.start_time_ns)
        self.events = [e.event for e in self.event_keys]
        self.cuda_events: list[Any] = []
        self.queue_depth_list = self.compute_queue_depth()
        self.compute_idle_time()

    def _result(self) -> Any:
        result = self.profile.kineto_results
        if result is None:
            raise AssertionError("the profile has no results: it hasn't ended")
        return result

    def compute_self_time(self) -> None:
        """Records each event's time without the time of its children."""
        for event in traverse_dfs(self._result().experimental_event_tree()):
            own = event.duration_time_ns - sum(c.duration_time_ns for c in event.children)
            key = EventKey(event)
            if key in self.metrics:
                raise AssertionError(f"Duplicate id: {event.id}, {event.name}")
            self.metrics[key] = EventMetrics(duration_time_ns=event.duration_time_ns, self_time_ns=own)

    def compute_queue_depth(self) -> list[Interval]:
        """Returns the depth of the accelerator's queue over time and records it for each event."""
        events = self._result().events()
        queue = _Queue(
            sorted((e for e in events if _launches(e)), key=lambda e: e.start_ns()),
            sorted((e for e in events if e.device_type() == DeviceType.CUDA), key=lambda e: e.start_ns()),
        )
        self.cuda_events = sorted(queue.ordered + queue.kernels, key=lambda e: e.start_ns())
        done_of = {k.linked_correlation_id(): i for i, k in enumerate(queue.kernels)}
        intervals: list[Interval] = []
        moments = sorted([*self.cuda_events, *self.events], key=_start)
        current, ordered = -1, -1
        for event in moments:
            start, end = _start(event), _end(event)
            if hasattr(event, "device_type"):
                if event.device_type() == DeviceType.CUDA:
                    current = max(current, queue.kernels.index(event))
                elif event.linked_correlation_id() in done_of:
                    ordered = max(ordered, done_of[event.linked_correlation_id()])
            while current + 1 < len(queue.kernels) and _start(queue.kernels[current + 1]) <= start:
                current += 1
            depth = max(ordered - current, 0) if ordered >= 0 else 0
            if hasattr(event, "device_type"):
                intervals.append(Interval(start, end, depth))
            else:
                self.metrics[EventKey(event)].queue_depth = depth
        return intervals

    def compute_idle_time(self) -> None:
        """Records for each event the time in which the accelerator is idle."""
        idle: list[Interval] = []
        began = 0
        empty = False
        if self.queue_depth_list and self.events:
            idle += [
                Interval(self.events[0].start_time_ns, self.queue_depth_list[0].start),
                Interval(self.queue_depth_list[-1].end, self.events[-1].end_time_ns),
            ]
        for point in self.queue_depth_list:
            if point.queue_depth == 0 and not empty:
                began, empty = point.end, True
            if point.queue_depth > 0 and empty:
                idle.append(Interval(began, point.start))
                empty = False
        for key in self.metrics:
            self.metrics[key].idle_time_ns = key.intervals_overlap(idle)

    def rank_events(self, length: int) -> list[EventKey]:
        """The events that delay the accelerator most: it idles after them."""
        intervals = list(reversed(self.queue_depth_list))
        depths = [e.queue_depth for e in intervals]
        bottom, top = 0, 4
        falls: list[Interval] = []
        i = 0
        while i < len(depths):
            if depths[i] > bottom:
                i += 1
                continue
            j = index_of_first_match(depths, lambda x: x >= top, i, None)
            if j is None:
                break
            rest = max(range(i, j + 1), key=lambda k: depths[k])
            falls.append(Interval(intervals[j].start, intervals[i].start if rest >= i else intervals[i].end))
            i = j + 1
        candidates = [k for k in self.metrics if k.intervals_overlap(falls)]
        if not candidates:
            return []
        own = [float(self.metrics[k].self_time_ns) for k in candidates]
        idle = [self.metrics[k].fraction_idle_time for k in candidates]
        scored = sorted(
            zip(_standardize(own), _standardize(idle), candidates, strict=True),
            key=lambda s: -(s[0] + 0.6 * s[1]),
        )
        return [key for _, _, key in scored[:length]]

    def get_optimizable_events(self, length: int = 1, print_enable: bool = True) -> list[EventKey]:
        """Returns the events of `rank_events`, and prints them if `print_enable`."""
        keys = self.rank_events(length)
        if print_enable:
            print("Optimizable events:\n" if keys else "No events to optimize\n", end="")
            for e in keys:
                idle = self.metrics[e].fraction_idle_time * 100
                print("-" * 80, f"Event:                {e}", f"Source code location: {source_code_location(e.event)}",
                      f"Percentage idle time: {idle:.2f}%", "-" * 80, sep="\n")  # fmt: skip
        return keys


def _launches(event: Any) -> bool:
    name = event.name if isinstance(event.name, str) else event.name()
    return name.lower() == "cudalaunchkernel"


def _start(event: Any) -> int:
    return event.start_ns() if hasattr(event, "start_ns") else event.start_time_ns


def _end(event: Any) -> int:
    return event.start_ns() + event.duration_ns() if hasattr(event, "start_ns") else event.end_time_ns


def _standardize(values: list[float]) -> list[float]:
    mean = sum(values) / len(values)
    deviation = (sum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1)) ** 0.5
    return [(v - mean) / deviation if deviation else 0.0 for v in values]


def index_of_first_match(seq: Sequence[Any], predicate: Callable[[Any], bool], start: int = 0,
                         end: int | None = None) -> int | None:  # fmt: skip
    """The index of the first that the predicate accepts, from `start` to before `end`, or None."""
    last = len(seq) if end is None or end >= len(seq) else end
    return next((i for i in range(start, last) if predicate(seq[i])), None)


def argmax(seq: Sequence[Any], key: Callable[[Any], Any] = lambda x: x, start: int = 0,
           end: int | None = None) -> int | None:  # fmt: skip
    """The index of the largest, from `start` to before `end`, or None of an empty range."""
    part = seq[start:end]
    return max(range(len(part)), key=lambda i: key(part[i])) + start if len(part) else None


def source_code_location(event: Any) -> str:
    """The Python line of the event, from the recorded Python calls."""
    while event:
        if event.tag in (EventType.PyCall, EventType.PyCCall) and re.match(r".*\.py\(.*\)", event.name):
            return str(event.name)
        event = event.parent
    return "No source code location found"
