"""Profiling: events as a tree, each with the fields of its kind and with numbers of its tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tl_autograd.profiler_kinds import EventType, RecordScope
from tl_autograd.recorded_event import Kind, RecordedEvent, is_tensor

__all__ = ["AllocationFields", "BackendFields", "KinetoFields", "OutOfMemoryFields", "ProfilerEvent", "PyCallFields",
           "PyCCallFields", "PyFrameState", "TensorMetadata", "TorchOpFields", "VulkanFields",
           "build_tree"]  # fmt: skip


@dataclass(frozen=True)
class TensorMetadata:
    """The metadata of a tensor. `id` and `allocation_id` number its memory from allocation to release. Addresses are
    used again, these numbers are not.

    Args:
        impl_ptr: the address of the tensor.
        storage_data_ptr: the address of its memory.
        id: the number of the storage.
        allocation_id: the number of its allocation.
        layout: the layout.
        device: the device.
        dtype: the type of the elements.
        sizes: the sizes.
        strides: the strides.
    """

    impl_ptr: int
    storage_data_ptr: int | None
    id: int | None
    allocation_id: int | None
    layout: Any
    device: Any
    dtype: Any
    sizes: list[int]
    strides: list[int]

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)


@dataclass
class TorchOpFields:
    """The fields of an operator, a node of the backward or a labelled block.

    Args:
        name: its name.
        inputs: the arguments.
        scope: whether it is an operator, a node of the backward or a labelled block.
        sequence_number: the number that binds a node to its operator; -1 for none.
        allow_tf32_cublas: whether TensorFloat-32 was allowed.
    """

    name: str
    inputs: list[Any]
    scope: RecordScope
    sequence_number: int
    allow_tf32_cublas: bool = False


@dataclass
class AllocationFields:
    """The fields of an allocation, or of a release with a negative `alloc_size`.

    Args:
        ptr: the address.
        id: the number of the storage.
        allocation_id: the number of its allocation.
        alloc_size: the bytes, negative for a release.
        total_allocated: the bytes in use afterwards.
        total_reserved: the reserved bytes afterwards.
        device: the device.
    """

    ptr: int
    id: int | None
    allocation_id: int | None
    alloc_size: int
    total_allocated: int
    total_reserved: int
    device: Any


@dataclass(frozen=True)
class PyFrameState:
    """A line of a Python program.

    Args:
        line_number: the number of the line.
        file_name: the file.
        function_name: the function.
    """

    line_number: int
    file_name: str
    function_name: str


@dataclass
class PyCallFields:
    """The fields of a call of a Python function.

    Args:
        callsite: the line that calls.
        caller: the line of the caller.
        module: the module that is called, or None.
        optimizer: the optimizer that is called, or None.
    """

    callsite: PyFrameState
    caller: PyFrameState | None
    module: Any = None
    optimizer: Any = None


@dataclass
class PyCCallFields:
    """The fields of a call of a built-in function."""

    caller: PyFrameState | None


class BackendFields:
    """The fields of work of a backend of TorchScript. tl records no such event."""


class KinetoFields:
    """The fields of work of an accelerator. tl records no such event."""


class OutOfMemoryFields:
    """The fields of a failed allocation."""


class VulkanFields:
    """The fields of work through Vulkan. tl records no such event."""


@dataclass(eq=False)
class ProfilerEvent:
    """A node of the tree.

    Args:
        name: the name of the operator, node or block.
        overload_name: the overload of the operator.
        tag: the kind of event.
        extra_fields: the fields of this kind.
        start_time_ns: the start, in nanoseconds of the steady clock.
        end_time_ns: the end, in nanoseconds of the steady clock.
        start_tid: the thread.
        correlation_id: the number of the event, unique in the process.
        id: the number of the event.
        parent: the event around this event, or None.
        children: the events within this event.
    """

    name: str
    overload_name: str
    tag: EventType
    extra_fields: Any
    start_time_ns: int
    end_time_ns: int
    start_tid: int
    correlation_id: int
    id: int = 0
    parent: ProfilerEvent | None = None
    children: list[ProfilerEvent] = field(default_factory=list)

    @property
    def duration_time_ns(self) -> int:
        """The duration, in nanoseconds."""
        return self.end_time_ns - self.start_time_ns

    @property
    def typed(self) -> tuple[EventType, Any]:
        """(the kind, the fields of the kind)."""
        return self.tag, self.extra_fields

    def __repr__(self) -> str:
        return f"<ProfilerEvent {self.name} of {len(self.children)} children>"


class _Memory:
    """Numbers of memory blocks. Each allocation has a new number until its release."""

    def __init__(self) -> None:
        self._live: dict[int, int] = {}
        self._next = 0

    def of(self, address: int) -> int | None:
        if not address:
            return None
        number = self._live.get(address)
        if number is None:
            number = self._live[address] = self._next
            self._next += 1
        return number

    def allocate(self, address: int) -> int | None:
        self._live.pop(address, None)
        return self.of(address)

    def free(self, address: int) -> int | None:
        number = self.of(address)
        self._live.pop(address, None)
        return number


_LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


def _tensor(value: Any, memory: _Memory) -> TensorMetadata:
    import tl_core

    _, impl, address, dtype, device, layout, sizes, strides = value
    number = memory.of(address)
    return TensorMetadata(impl, address or None, number, number, getattr(tl_core, _LAYOUTS[layout]), device, dtype,
                          list(sizes), list(strides))  # fmt: skip


def _input(value: Any, memory: _Memory) -> Any:
    if is_tensor(value):
        return _tensor(value, memory)
    if isinstance(value, list):
        items = [_input(v, memory) for v in value]
        return items if any(isinstance(f, TensorMetadata) for f in items) else value
    return value if isinstance(value, (bool, int, float, complex)) else None


def _frame(name: str) -> PyFrameState:
    file, _, rest = name.rpartition("(")
    line, _, function = rest.partition("): ")
    return PyFrameState(int(line) if line.isdigit() else 0, file, function)


def build_tree(events: Iterable[RecordedEvent], first_number: int) -> list[ProfilerEvent]:
    """The outermost events, in the order of their starts, with their children in the same order."""
    recorded = list(events)
    nodes: dict[int, ProfilerEvent] = {}
    memory = _Memory()
    roots: list[ProfilerEvent] = []
    for index in sorted(range(len(recorded)), key=lambda i: recorded[i].start):
        event = recorded[index]
        if event.kind == Kind.RESULTS:
            continue
        node = nodes[index] = ProfilerEvent(event.name, event.overload, _tag(event), None, event.start, event.end,
                                            event.thread, first_number + index, first_number + index)  # fmt: skip
        parent = nodes.get(event.parent)
        node.parent = parent
        (roots if parent is None else parent.children).append(node)
        node.extra_fields = _fields(event, node, memory)
    return roots


def _tag(event: RecordedEvent) -> EventType:
    return {Kind.MEMORY: EventType.Allocation, Kind.CALL: EventType.PyCall, Kind.MODULE: EventType.PyCall,
            Kind.NATIVE_CALL: EventType.PyCCall}.get(event.kind, EventType.TorchOp)  # fmt: skip


def _caller(node: ProfilerEvent) -> PyFrameState | None:
    for outer in _outer(node):
        if isinstance(outer.extra_fields, PyCallFields):
            return outer.extra_fields.callsite
    return None


def _outer(node: ProfilerEvent) -> Iterator[ProfilerEvent]:
    outer = node.parent
    while outer is not None:
        yield outer
        outer = outer.parent


def _fields(event: RecordedEvent, node: ProfilerEvent, memory: _Memory) -> Any:
    if event.kind == Kind.MEMORY:
        number = (memory.allocate if event.number > 0 else memory.free)(event.what)
        import tl_core

        return AllocationFields(
            event.what, number, number, event.number, event.total, 0, tl_core.device("cpu")
        )
    if event.kind in (Kind.CALL, Kind.MODULE):
        return PyCallFields(_frame(event.name), _caller(node))
    if event.kind == Kind.NATIVE_CALL:
        return PyCCallFields(_caller(node))
    scope = {Kind.NODE: RecordScope.BACKWARD_FUNCTION, Kind.RANGE: RecordScope.USER_SCOPE}
    return TorchOpFields(event.name, [_input(v, memory) for v in event.values or ()],
                         scope.get(event.kind, RecordScope.FUNCTION), event.number)  # fmt: skip
