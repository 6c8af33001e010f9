"""Profiling: what a profile consists of: events, averages over events of one name, and their table."""

from __future__ import annotations

import bisect
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

from tl_autograd.profiler_kinds import DeviceType
from tl_autograd.profiler_table import build_table, format_memory, format_time, format_time_share
from tl_core.memory.whole_files import replacing

__all__ = ["EventList", "FormattedTimesMixin", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel",
           "MEMORY_EVENT_NAME", "MemRecordsAcc", "OUT_OF_MEMORY_EVENT_NAME", "StringTable"]  # fmt: skip

MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"

_build_table, _format_memory, _format_time = build_table, format_memory, format_time
_format_time_share = format_time_share


class Interval:
    """A stretch of time, in microseconds.

    Example:
        >>> Interval(10.0, 25.0).elapsed_us()
        15.0
    """

    __slots__ = ("end", "start")

    def __init__(self, start: float, end: float):
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A piece of work on an accelerator.

    Args:
        name: its name.
        device: the accelerator.
        duration: microseconds.

    Example:
        >>> Kernel("gemm", 0, 12.5)
        Kernel(name='gemm', device=0, duration=12.5)
    """

    name: str
    device: int
    duration: float


class StringTable(defaultdict):
    """Texts by what they stand for; a text that is missing stands for itself.

    Example:
        >>> StringTable()["add"]
        'add'
    """

    def __missing__(self, key: Any) -> Any:
        self[key] = key
        return key


class MemRecordsAcc:
    """Finds those of many memory records that lie in a stretch of time.

    Args:
        mem_records: objects or pairs (object, …) whose first part has `start_ns()`.

    Example:
        >>> list(MemRecordsAcc([]).in_interval(0, 9))
        []
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


class FormattedTimesMixin:
    """Times as texts, and means over the calls.

    Example:
        >>> import tl_core
        >>> from tl_autograd.profiler import profile
        >>> with profile() as run:
        ...     total = tl_core.ones(2).sum()
        ...
        >>> event = run.key_averages()[0]
        >>> isinstance(event, FormattedTimesMixin), event.cpu_time_str.endswith("us")
        (True, True)
    """

    count: int
    cpu_time_total: float
    device_time_total: float
    self_cpu_time_total: float
    self_device_time_total: float

    @property
    def cpu_time(self) -> float:
        """The mean duration."""
        return 0.0 if self.count == 0 else 1.0 * self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """The mean time on an accelerator."""
        return 0.0 if self.count == 0 else 1.0 * self.device_time_total / self.count

    @property
    def cuda_time(self) -> float:
        """As `device_time`."""
        return self.device_time

    @property
    def cpu_time_str(self) -> str:
        """`cpu_time` as a text."""
        return format_time(self.cpu_time)

    @property
    def device_time_str(self) -> str:
        """`device_time` as a text."""
        return format_time(self.device_time)

    @property
    def cpu_time_total_str(self) -> str:
        """`cpu_time_total` as a text."""
        return format_time(self.cpu_time_total)

    @property
    def device_time_total_str(self) -> str:
        """`device_time_total` as a text."""
        return format_time(self.device_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """`self_cpu_time_total` as a text."""
        return format_time(self.self_cpu_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        """`self_device_time_total` as a text."""
        return format_time(self.self_device_time_total)


class FunctionEvent(FormattedTimesMixin):
    """One call of an operator, one node of the backward or one labelled block. Times are in microseconds.

    Args:
        id: a number of its own.
        name: what ran.
        thread: 1, 2, …: the thread it ran in.
        start_us: when it began, since the profile did.
        end_us: when it ended.
        sequence_nr: the number of the graph's node that the call made, or that ran; -1: none.
        fwd_thread: of a node of the backward, the thread of the call that made it.
        overload_name: the overload.
        input_shapes: the shapes of the arguments.
        stack: the lines of Python around it, innermost first.
        scope: whether it is an operator, a node or a labelled block.
        use_device: the accelerator, or None.
        cpu_memory_usage: bytes allocated less bytes given back.
        device_memory_usage: the same on the accelerator.
        is_async: whether it ended elsewhere than it began.
        is_remote: whether it ran in another process.
        node_id: the process; -1 for this one.
        device_type: where it ran.
        device_index: which one.
        device_resource_id: the thread or stream.
        is_legacy: whether the older profiler made it.
        flops: the operations; None if they aren't known.
        trace_name: its name in traces.
        concrete_inputs: the scalar arguments.
        kwinputs: the keyword arguments.
        is_user_annotation: whether the program labelled it.
        activity_type: the kind of event.
        metadata_json: further facts as JSON.
        is_python_function: whether it is a call of a Python function.
        flow_id: the number of an arrow in traces; 0 for none.
        flow_type: the kind of arrow.
        flow_start: whether the arrow begins here.
        external_id: the number that binds it to the program's own.
        linked_correlation_id: the event it was caused by.
        extra_meta: further facts.
        structured_input_shapes, structured_input_strides: the shapes and strides of the arguments, nested as they
            are.
        input_dtypes: the types of the arguments.
        python_id, python_parent_id, python_module_id: the numbers of the Python call, of the call around it, and
            of its module.

    Example:
        >>> event = FunctionEvent(0, "add", 1, 10.0, 25.0)
        >>> event.name, event.cpu_time_total
        ('add', 15.0)
    """

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float,
                 overload_name: str | None = None, fwd_thread: int | None = None,
                 input_shapes: Sequence[Any] | None = None, stack: Sequence[str] | None = None, scope: int = 0,
                 use_device: str | None = None, cpu_memory_usage: int = 0, device_memory_usage: int = 0,
                 is_async: bool = False, is_remote: bool = False, sequence_nr: int = -1, node_id: int = -1,
                 device_type: DeviceType = DeviceType.CPU, device_index: int = 0,
                 device_resource_id: int | None = None, is_legacy: bool = False, flops: int | None = None,
                 trace_name: str | None = None, concrete_inputs: Sequence[Any] | None = None,
                 kwinputs: dict[str, Any] | None = None, is_user_annotation: bool = False, *,
                 is_python_function: bool = False, activity_type: str | None = None,
                 metadata_json: str | None = None, flow_id: int | None = None, flow_type: int | None = None,
                 flow_start: bool | None = None, external_id: int = 0, linked_correlation_id: int = 0,
                 extra_meta: Any = None, structured_input_shapes: Any = None,
                 structured_input_strides: Any = None, input_dtypes: Any = None, python_id: int = -1,
                 python_parent_id: int = -1, python_module_id: int = -1) -> None:  # fmt: skip
        self.id, self.node_id, self.name = id, node_id, name
        self.overload_name = overload_name or ""
        self.trace_name = name if trace_name is None else trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.kernels: list[Kernel] = []
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes: Any = [] if input_shapes is None else input_shapes
        self.concrete_inputs: Any = [] if concrete_inputs is None else concrete_inputs
        self.kwinputs = {} if kwinputs is None else kwinputs
        self.stack: Any = [] if stack is None else stack
        self.scope, self.use_device = scope, use_device
        self.cpu_memory_usage, self.device_memory_usage = cpu_memory_usage, device_memory_usage
        self.is_async, self.is_remote, self.sequence_nr = is_async, is_remote, sequence_nr
        self.device_type, self.device_index = device_type, device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.is_legacy, self.flops, self.is_user_annotation = is_legacy, flops, is_user_annotation
        self.self_cpu_percent = self.total_cpu_percent = self.total_device_percent = -1
        self.is_python_function, self.activity_type = is_python_function, activity_type
        self.external_id, self.linked_correlation_id = external_id, linked_correlation_id
        self.extra_meta, self.metadata_json = extra_meta, metadata_json
        self.flow_id, self.flow_type, self.flow_start = flow_id, flow_type, flow_start
        self.structured_input_shapes, self.structured_input_strides = (
            structured_input_shapes,
            structured_input_strides,
        )
        self.input_dtypes = input_dtypes
        self.python_id, self.python_parent_id = python_id, python_parent_id
        self.python_module_id = python_module_id

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Notes work on an accelerator that the call began."""
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Notes an event that ran inside this one."""
        if not isinstance(child, FunctionEvent):
            raise AssertionError(f"Expected child to be a FunctionEvent, but got {type(child)}")
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Says which event this one ran inside."""
        if not isinstance(parent, FunctionEvent):
            raise AssertionError(f"Expected parent to be a FunctionEvent, but got {type(parent)}")
        self.cpu_parent = parent

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes allocated less bytes given back, without what ran inside."""
        if self.is_async or self.device_type != DeviceType.CPU:
            return 0
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:
        """The same on an accelerator."""
        if self.is_async or self.device_type != DeviceType.CPU:
            return 0
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Its whole duration."""
        return self.time_range.elapsed_us() if self.device_type == DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Its duration without what ran inside it."""
        if self.is_async or self.device_type != DeviceType.CPU:
            return 0
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self) -> float:  # type: ignore[override]
        """Time of the accelerator's work that it and what ran inside it began."""
        if self.is_async or not self.use_device:
            return 0
        return sum(k.duration for k in self.kernels) + sum(c.device_time_total for c in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:  # type: ignore[override]
        """The same without what ran inside it."""
        if self.is_async or not self.use_device:
            return 0
        return self.device_time_total - sum(child.device_time_total for child in self.cpu_children)

    cuda_time_total, self_cuda_time_total = device_time_total, self_device_time_total
    self_cuda_memory_usage = self_device_memory_usage

    @property
    def key(self) -> str:
        """What sums are made by: the name."""
        return self.name

    def __repr__(self) -> str:
        device = self.use_device or "None"
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} {device}_time={self.device_time_str} "
            f"name={self.name} thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage} "
            f"is_async={self.is_async} is_remote={self.is_remote} seq_nr={self.sequence_nr} "
            f"is_legacy={self.is_legacy}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """The sums of all events of one key.

    Example:
        >>> total = FunctionEventAvg()
        >>> for start in (0.0, 50.0):
        ...     _ = total.add(FunctionEvent(0, "add", 1, start, start + 10.0))
        ...
        >>> total.count, total.cpu_time
        (2, 10.0)
    """

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id, self.is_async, self.is_remote = 0, False, False
        self.use_device: str | None = None
        self.cpu_time_total = self.device_time_total = 0.0
        self.self_cpu_time_total = self.self_device_time_total = 0.0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: Any = None
        self.scope: int | None = None
        self.cpu_memory_usage = self.device_memory_usage = 0
        self.self_cpu_memory_usage = self.self_device_memory_usage = 0
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU
        self.is_legacy, self.flops, self.is_user_annotation = False, 0, False

    def add(self, other: FunctionEvent | FunctionEventAvg) -> Self:
        """Counts an event, or the events of another sum."""
        if self.key is None:
            self.key, self.node_id, self.is_async, self.is_remote = (
                other.key, other.node_id, other.is_async, other.is_remote)  # fmt: skip
            self.cpu_parent, self.cpu_children = other.cpu_parent, other.cpu_children
            self.overload_name = other.overload_name
            self.input_shapes, self.stack, self.scope = other.input_shapes, other.stack, other.scope
            self.device_type, self.is_legacy = other.device_type, other.is_legacy
            self.use_device, self.is_user_annotation = other.use_device, other.is_user_annotation
        self.cpu_time_total += other.cpu_time_total
        self.device_time_total += other.device_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.self_device_time_total += other.self_device_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.device_memory_usage += other.device_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.self_device_memory_usage += other.self_device_memory_usage
        self.count += other.count
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>"
        )


_METRICS = (
    "self_cpu_time_total",
    "self_cuda_time_total",
    "self_xpu_time_total",
    "self_privateuse1_time_total",
)


class EventList(list):
    """Events, or sums of events, that print as a table.

    Args:
        args: the events.
        use_device: the accelerator whose times are shown, or None.
        profile_memory: whether memory is shown.
        with_flops: whether operations are shown.

    Example:
        >>> import tl_core
        >>> from tl_autograd.profiler import profile
        >>> with profile() as run:
        ...     total = tl_core.ones(2).sum()
        ...
        >>> type(run.function_events).__name__, len(run.function_events) > 0
        ('EventList', True)
    """

    def __init__(self, *args: Any, use_device: str | None = None, profile_memory: bool = False,
                 with_flops: bool = False) -> None:  # fmt: skip
        super().__init__(*args)
        self._use_device, self._profile_memory, self._with_flops = use_device, profile_memory, with_flops
        self._tree_built = False

    def _build_tree(self) -> None:
        """Finds which event ran inside which: the innermost of its thread that covers it."""
        self._populate_cpu_children()
        self._tree_built = True

    def _populate_cpu_children(self) -> None:
        by_thread: dict[tuple[int, int], list[FunctionEvent]] = defaultdict(list)
        for e in self:
            if not e.is_async and e.device_type == DeviceType.CPU:
                by_thread[e.thread, e.node_id].append(e)
        for events in by_thread.values():
            _nest(events)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all events, none counted twice."""
        return sum(e.self_cpu_time_total for e in self)

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int | None = 55, max_shapes_column_width: int = 80,
              header: str | None = None, top_level_events_only: bool = False,
              time_unit: str | None = None) -> str:  # fmt: skip
        """The events as text, one a line.

        Args:
            sort_by: an attribute such as "self_cpu_time_total", "cpu_time_total", "cpu_time", "cpu_memory_usage" or
                "count"; the largest come first.
            row_limit: so many lines at most; negative: all.
            max_src_column_width: of the lines of the program.
            max_name_column_width: of names.
            max_shapes_column_width: of shapes.
            header: a line above.
            top_level_events_only: leave out what ran inside something else.
            time_unit: "s", "ms" or "us"; None chooses for each number.
        """
        return build_table(self, sort_by, header, row_limit, max_src_column_width, max_name_column_width,
                           max_shapes_column_width, self._with_flops, self._profile_memory, top_level_events_only,
                           time_unit)  # fmt: skip

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events as a file for chrome://tracing.

        Raises:
            OSError: it cannot be written; nothing stays of it.
        """
        events = [
            {"name": e.trace_name, "ph": "X", "ts": e.time_range.start, "dur": e.time_range.elapsed_us(),
             "tid": e.thread if not e.is_remote else f'" node_id:{e.node_id}, thread_id:{e.thread} "',
             "pid": "CPU functions", "args": {}}
            for e in self
        ]  # fmt: skip
        with replacing(path) as unfinished, open(unfinished, "w", encoding="utf-8") as file:
            json.dump(events, file)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` takes."""
        return list(_METRICS)

    def export_stacks(self, path: str, metric: str) -> None:
        """Writes a line for each event with a stack: the frames, outermost first, and the number.

        Flame graph tools read it.

        Args:
            path: the file.
            metric: "self_cpu_time_total" or "self_cuda_time_total".

        Raises:
            ValueError: another metric.
            OSError: it cannot be written; nothing stays of it.
        """
        if metric not in _METRICS:
            raise ValueError("metric should be one of: " + str(list(_METRICS)))
        plain = str.maketrans(" ;\t\n", "____")
        with replacing(path) as unfinished, open(unfinished, "w", encoding="utf-8") as file:
            for e in self:
                value = int(getattr(e, metric.replace("cuda", "device").replace("xpu", "device")
                                    .replace("privateuse1", "device")))  # fmt: skip
                if e.stack and value > 0:
                    frames = ";".join(frame.translate(plain) for frame in reversed(e.stack))
                    file.write(f"{frames} {value}\n")

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:  # fmt: skip
        """One sum a name.

        Args:
            group_by_input_shapes: events of one name with different shapes are summed apart.
            group_by_stack_n: so are those whose innermost so many frames differ.
            group_by_overload_name: and those of different overloads.

        Returns:
            The sums, in the order in which their first events came.
        """
        sums: dict[tuple[Any, ...], FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for e in self:
            key = [
                str(e.key),
                str(e.node_id),
                str(e.device_type),
                str(e.is_legacy),
                str(e.is_user_annotation),
            ]
            if group_by_overload_name:
                key.append(e.overload_name)
            if group_by_input_shapes:
                key.append(str(e.input_shapes))
            key += (e.stack or ())[:group_by_stack_n]
            sums[tuple(key)].add(e)
        averages = EventList(sums.values(), use_device=self._use_device, profile_memory=self._profile_memory,
                             with_flops=self._with_flops)  # fmt: skip
        for s in averages:
            s.stack = (s.stack or [])[:group_by_stack_n]
            if not group_by_input_shapes:
                s.input_shapes = ""
            if not group_by_overload_name:
                s.overload_name = ""
        return averages

    def total_average(self) -> FunctionEventAvg:
        """The sum of all."""
        total = FunctionEventAvg()
        for e in self:
            total += e
            total.key = None
        total.key = "Total"
        return total

    def __str__(self) -> str:
        return self.table()


def _nest(events: Iterable[FunctionEvent]) -> None:
    open_: list[FunctionEvent] = []
    for e in sorted(events, key=lambda e: (e.time_range.start, -e.time_range.end)):
        while open_ and open_[-1].time_range.end < e.time_range.end:
            open_.pop()
        if open_:
            open_[-1].append_cpu_child(e)
            if e.cpu_parent is None:
                e.set_cpu_parent(open_[-1])
        open_.append(e)
