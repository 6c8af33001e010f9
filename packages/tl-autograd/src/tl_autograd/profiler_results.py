"""Profiling: the events of a recording as a list, as a tree and as a trace."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from tl_autograd.event_tree import build_tree
from tl_autograd.flop_formulas import flops_of
from tl_autograd.profiler_kinds import DeviceType, RecordScope
from tl_autograd.profiler_util import FunctionEvent, FunctionEventAvg
from tl_autograd.recorded_event import Kind, RecordedEvent, concrete, is_tensor, shape_of
from tl_core.base import recording
from tl_core.memory.whole_files import write_whole

__all__ = ["FunctionEvents", "KinetoEvent", "ProfilerResult", "source_lines"]


def source_lines(stack: int) -> list[str]:
    """The frames of a recorded stack, innermost first: "train.py(12): step"."""
    lines = _known_stacks.get(stack)
    if lines is None:
        lines = [f"{file}({line}): {function}" for file, line, function in recording.stack_frames(stack)]
        _known_stacks[stack] = lines
    return lines


_known_stacks: dict[int, list[str]] = {0: []}


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Switches the garbage collector off: it would scan millions of events that stay alive."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class KinetoEvent:
    """An event whose fields are methods."""

    def __init__(self, event: RecordedEvent, number: int) -> None:
        self._event, self._number = event, number

    def name(self) -> str:
        """The name of the operator, node or block."""
        return self._event.name

    def overload_name(self) -> str:
        """The overload of an operator."""
        return self._event.overload

    def device_type(self) -> DeviceType:
        """The CPU."""
        return DeviceType.CPU

    def device_index(self) -> int:
        """-1: the CPU has no number."""
        return -1

    def device_resource_id(self) -> int:
        """The system's number of the thread."""
        return self._event.system_thread

    def start_ns(self) -> int:
        """The start, in nanoseconds of the steady clock."""
        return self._event.start

    def end_ns(self) -> int:
        """The end, in nanoseconds of the steady clock."""
        return self._event.end

    def duration_ns(self) -> int:
        """The duration, in nanoseconds."""
        return self._event.end - self._event.start

    def start_thread_id(self) -> int:
        """1, 2, …: the thread."""
        return self._event.thread

    end_thread_id = start_thread_id

    def fwd_thread_id(self) -> int:
        """In a node of the backward, the thread of the forward call. Otherwise 0."""
        return self._event.thread if self._event.kind in (Kind.NODE, Kind.EVALUATION) else 0

    def correlation_id(self) -> int:
        """The number of the event, unique in the process."""
        return self._number

    def linked_correlation_id(self) -> int:
        """0: the profiler records no work of accelerators."""
        return 0

    def sequence_nr(self) -> int:
        """The number of the graph's node; -1 without a node."""
        return -1 if self._event.kind == Kind.MEMORY else self._event.number

    def scope(self) -> int:
        """The `RecordScope` of the event, as a number."""
        return _scope(self._event)

    def shapes(self) -> list[Any]:
        """The shapes of the inputs."""
        return [shape_of(v) for v in self._event.values or ()]

    def has_shapes(self) -> bool:
        """Whether inputs were recorded."""
        return bool(self._event.values)

    def dtypes(self) -> list[str]:
        """The dtypes of the inputs; "" for a value that is no tensor."""
        return [str(v[3]) if is_tensor(v) else "" for v in self._event.values or ()]

    def concrete_inputs(self) -> list[Any]:
        """The inputs that are no tensors."""
        return [concrete(v) for v in self._event.values or ()]

    def stack(self) -> list[str]:
        """The Python frames of the call, innermost first."""
        return source_lines(self._event.stack)

    def nbytes(self) -> int:
        """The bytes of an event of memory; otherwise 0."""
        return self._event.number if self._event.kind == Kind.MEMORY else 0

    def is_async(self) -> bool:
        """False: an event ends in the thread of its start."""
        return False

    def is_user_annotation(self) -> bool:
        """Whether it is a labelled block."""
        return self._event.kind == Kind.RANGE

    def is_python_function(self) -> bool:
        """Whether it is a call of a Python function."""
        return self._event.kind in (Kind.CALL, Kind.NATIVE_CALL, Kind.MODULE)


def _scope(event: RecordedEvent) -> int:
    if event.kind == Kind.RANGE:
        return int(RecordScope.USER_SCOPE)
    return int(event.kind == Kind.NODE)


class ProfilerResult:
    """The events that were recorded between two moments of a program.

    Args:
        recording: the recording of `tl_core`.
        extra: events of other processes, as `(pid, name, category, start, end)`; times as in `RecordedEvent`.
        known_tensors: the descriptions of memory that was alive at the end, by address.
    """

    _numbers = 0

    def __init__(self, recording: Any, extra: Sequence[tuple[int, str, str, int, int]] = (),
                 known_tensors: dict[int, str] | None = None) -> None:  # fmt: skip
        self._recording, self.extra, self.known_tensors = recording, list(extra), dict(known_tensors or {})
        self._first = ProfilerResult._numbers + 1
        ProfilerResult._numbers += len(recording)

    @cached_property
    def recorded(self) -> list[RecordedEvent]:
        """All events by thread, in the order of their starts."""
        with without_collection():
            return list(map(RecordedEvent._make, self._recording.events()))

    def event(self, index: int) -> RecordedEvent:
        """The event at an index."""
        return RecordedEvent._make(self._recording.event(index))

    def sums(self, modules: bool, shapes: bool, stacks: bool,
             operations: Callable[[int], int] | None) -> list[tuple[int, ...]]:  # fmt: skip
        """Sums over equal events: (index of the first, count, time, own time, memory, own memory,
        operations); nanoseconds and bytes."""
        return list(self._recording.sums(modules, shapes, stacks, operations))

    @property
    def forgotten(self) -> int:
        """The number of old events that were dropped for newer ones."""
        return int(self._recording.forgotten)

    def trace_start_ns(self) -> int:
        """The start of the recording, in nanoseconds of the steady clock."""
        return int(self._recording.start)

    def trace_end_ns(self) -> int:
        """The end of the recording, in nanoseconds of the steady clock."""
        return int(self._recording.end)

    def events(self) -> list[KinetoEvent]:
        """All events except those that hold the results of other events."""
        return [
            KinetoEvent(e, self._first + i) for i, e in enumerate(self.recorded) if e.kind != Kind.RESULTS
        ]

    def experimental_event_tree(self) -> list[Any]:
        """The outermost events, each with its children."""
        return self._tree

    @cached_property
    def _tree(self) -> list[Any]:
        return build_tree(self.recorded, self._first)

    def columns(self) -> dict[str, Any]:
        """The events as columns of numbers."""
        return dict(self._recording.columns())

    def trace_activities(self) -> list[str]:
        """The kinds of collected activity: the CPU's."""
        return ["CPU"]

    def save(self, path: str, metadata: dict[str, str] | None = None, links: bool = True) -> None:
        """Writes a Chrome trace; `metadata` are JSON texts beside the events."""
        head, tail = self._frame(metadata or {})
        write_whole(path, lambda to: self._recording.write_chrome_trace(to, head, tail, links))

    def _frame(self, metadata: dict[str, str]) -> tuple[str, str]:
        first = {
            "schemaVersion": 1,
            "deviceProperties": [],
            "host_name": platform.node(),
            "displayTimeUnit": "ms",
        }
        head = json.dumps(first)[:-1]
        for key, value in metadata.items():
            head += f", {json.dumps(key)}: {value}"
        events = ",\n".join(json.dumps(e) for e in [self._process_name(), *self._extra_events()])
        separator = ",\n" if len(self._recording) else ""
        span = "".join(",\n" + json.dumps(e) for e in self._span())
        return head + ',\n"traceEvents": [\n' + events + separator, span + "\n]}\n"

    def _process_name(self) -> dict[str, Any]:
        return {"ph": "M", "name": "process_name", "ts": self.trace_start_ns() / 1e3, "pid": os.getpid(), "tid": 0,
                "args": {"name": os.path.basename(sys.executable or "python")}}  # fmt: skip

    def _extra_events(self) -> Iterable[dict[str, Any]]:
        for pid, name, category, start, end in self.extra:
            yield {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": pid, "ts": start / 1e3,
                   "dur": (end - start) / 1e3, "args": {}}  # fmt: skip
        for pid in sorted({e[0] for e in self.extra}):
            yield {"ph": "M", "name": "process_name", "ts": self.trace_start_ns() / 1e3, "pid": pid, "tid": 0,
                   "args": {"name": "worker"}}  # fmt: skip

    def _span(self) -> Iterable[dict[str, Any]]:
        start, end = self.trace_start_ns(), self.trace_end_ns()
        yield {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
               "ts": start / 1e3, "dur": (end - start) / 1e3, "args": {"Op count": 0}}  # fmt: skip
        yield {"ph": "M", "name": "process_sort_index", "ts": start / 1e3, "pid": "Spans", "tid": 0,
               "args": {"sort_index": 536870912}}  # fmt: skip
        mark = {"ph": "i", "s": "g", "pid": "Traces", "tid": "Trace PyTorch Profiler"}
        yield {**mark, "name": "Iteration Start: PyTorch Profiler", "ts": start / 1e3}
        # A nanosecond later: the start and the duration of an open event, added as floats, may exceed the end.
        yield {**mark, "name": "Record Window End", "ts": (end + 1) / 1e3}


# ---- events for tables
_SHOWN = frozenset({Kind.OPERATOR, Kind.NODE, Kind.EVALUATION, Kind.RANGE, Kind.MARK})
_ELEMENTWISE = re.compile(r"aten::(add|mul)_?$")


class FunctionEvents:
    """Makes the events of tables from a result: nested, with memory, FLOPs and stacks.

    Args:
        result: the recorded events.
        shapes: whether events have shapes.
        with_flops: whether operations are estimated.
        with_modules: whether calls of modules are listed.
        overloads: whether events have the names of overloads.
        concrete_inputs: whether events have scalar arguments.
    """

    def __init__(self, result: ProfilerResult, shapes: bool = True, with_flops: bool = False,
                 with_modules: bool = False, overloads: bool = False,
                 concrete_inputs: bool = True) -> None:  # fmt: skip
        self._result, self._with_flops, self._overloads = result, with_flops, overloads
        self._shapes, self._concrete = shapes, concrete_inputs
        self._nodes: dict[int, FunctionEvent] = {}
        self._with_modules = with_modules
        self._shown = _SHOWN | {Kind.MODULE} if with_modules else _SHOWN

    def make(self) -> list[FunctionEvent]:
        """The events in the order of their starts."""
        with without_collection():
            return self._all()

    def _all(self) -> list[FunctionEvent]:
        events: list[FunctionEvent] = []
        for index, event in enumerate(self._result.recorded):
            if event.kind in self._shown:
                events.append(self._add(index, event))
            elif event.kind == Kind.MEMORY:
                events += self._count_memory(event)
        events += self._from_elsewhere()
        events.sort(key=lambda e: e.time_range.start)
        return events

    def sums(self, by_shape: bool, by_stack: bool) -> list[FunctionEventAvg]:
        """Sums over events of one name and overload, and on request of equal shapes and stacks."""
        operations = self._operations_at if self._with_flops else None
        rows = self._result.sums(self._with_modules, by_shape, by_stack, operations)
        return [self._sum(*row) for row in rows] + [FunctionEventAvg().add(e) for e in self._from_elsewhere()]

    def _sum(self, index: int, count: int, time: int, own_time: int, memory: int, own_memory: int,
             operations: int) -> FunctionEventAvg:  # fmt: skip
        average = FunctionEventAvg().add(self._alone(index))
        average.cpu_children, average.count, average.flops = None, count, operations
        average.cpu_time_total, average.self_cpu_time_total = time / 1e3, own_time / 1e3
        average.cpu_memory_usage, average.self_cpu_memory_usage = memory, own_memory
        return average

    def _alone(self, index: int) -> FunctionEvent:
        """An event with its parents, without its children."""
        event = self._result.event(index)
        if event.kind == Kind.MEMORY:
            return self._memory_alone(event)
        node, outer = self._event(index, event), event.parent
        while outer >= 0:
            around = self._result.event(outer)
            if around.kind in self._shown:
                node.cpu_parent = self._alone(outer)
                break
            outer = around.parent
        return node

    def _operations_at(self, index: int) -> int:
        node = self._event(index, self._result.event(index))
        return int(flops_of(node.name, node.input_shapes, node.concrete_inputs, True) or 0)

    def _add(self, index: int, event: RecordedEvent) -> FunctionEvent:
        node = self._nodes[index] = self._event(index, event)
        parent = self._parent(event)
        if parent is not None:
            node.cpu_parent = parent
            parent.cpu_children.append(node)
        if self._with_flops and event.kind == Kind.OPERATOR:
            self._count_flops(node)
        return node

    def _event(self, index: int, event: RecordedEvent) -> FunctionEvent:
        result, start = self._result, self._result.trace_start_ns()
        values, keywords = (event.values or ()) if self._shapes else (), {}
        shapes = [shape_of(v) for v in values] if event.kind != Kind.RANGE else []
        if values and isinstance(values[0], str) and values[0].startswith("\0"):
            (shapes, keywords), values = json.loads(values[0][1:]), ()
        node = FunctionEvent(
            result._first + index, event.name, event.thread, (event.start - start) / 1e3, (event.end - start) / 1e3,
            event.overload if self._overloads else "", KinetoEvent(event, 0).fwd_thread_id(),
            shapes, source_lines(event.stack), _scope(event), sequence_nr=event.number,
            concrete_inputs=[concrete(v) for v in values] if self._concrete else [], kwinputs=keywords,
            is_user_annotation=event.kind == Kind.RANGE, device_index=0)  # fmt: skip
        node.flops = 0
        return node

    def _parent(self, event: RecordedEvent) -> FunctionEvent | None:
        index = event.parent
        while index >= 0:
            node = self._nodes.get(index)
            if node is not None:
                return node
            index = self._result.recorded[index].parent
        return None

    # The innermost of nested operators counts, but a sum inside a product is a part of the product.
    def _count_flops(self, event: FunctionEvent) -> None:
        count = flops_of(event.name, event.input_shapes, event.concrete_inputs, True)
        if not count:
            return
        outer = event.cpu_parent
        while outer is not None:
            if outer.flops:
                if _ELEMENTWISE.match(event.name):
                    return
                outer.flops = 0
            outer = outer.cpu_parent
        event.flops = count

    def _count_memory(self, event: RecordedEvent) -> list[FunctionEvent]:
        owner = self._parent(event)
        if owner is None:
            return [self._memory_alone(event)]
        while owner is not None:
            owner.cpu_memory_usage += event.number
            owner = owner.cpu_parent
        return []

    def _memory_alone(self, event: RecordedEvent) -> FunctionEvent:
        at = (event.start - self._result.trace_start_ns()) / 1e3
        return FunctionEvent(self._result._first, event.name, event.thread, at, at,
                             cpu_memory_usage=event.number, device_index=0, flops=0)  # fmt: skip

    def _from_elsewhere(self) -> list[FunctionEvent]:
        start = self._result.trace_start_ns()
        return [
            FunctionEvent(0, name, pid, (begin - start) / 1e3, (end - start) / 1e3, is_user_annotation=True, flops=0)
            for pid, name, _, begin, end in self._result.extra
        ]  # fmt: skip
