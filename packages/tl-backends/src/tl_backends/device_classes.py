"""The classes of the device modules: streams, events, recorded graphs, pools of memory."""

from __future__ import annotations

from tl_backends.device_answers import hold, nothing, refuse, refuse_unsupported, select_device_of
from tl_backends.device_rows import Class
from tl_backends.devices import AbsentEvent, AbsentStream, SelectedDevice

__all__ = ["CLASSES"]


_SELECTS = """A `with` block in which another device is selected; None and -1 select nothing.

Args:
    device: an index, or a name such as "{kind}:0".
"""
_STREAM = """A queue of work of {device} devices.

Args:
    device: the device; None for the selected one.
    priority: the lower the number, the sooner its work is done.
    kwargs: further options of the driver.

Raises:
    RuntimeError: there is no device.
"""
_EVENT = """A point in a queue of work of {device} devices.

Args:
    enable_timing: whether it remembers when it was reached.
    blocking: whether `wait` blocks the host.
    interprocess: whether other processes may use it.

Raises:
    RuntimeError: there is no device.
"""
CLASSES = (
    Class("cuda.selection xpu mtia", "device", _SELECTS, base=SelectedDevice),
    Class(
        "cuda.selection xpu",
        "device_of(obj: Any)",
        """A `with` block in which the device of a tensor is selected; a tensor on the CPU selects nothing.

Args:
    obj: a tensor or a storage.
""",
        select_device_of,
        base="device",
    ),
    Class("cuda.streams xpu.streams", "Stream", _STREAM, base=AbsentStream),
    Class(
        "mtia.streams",
        "Stream(device: Any = None, *, priority: int = 0)",
        _STREAM,
        refuse_unsupported("Stream"),
        base=AbsentStream,
    ),
    Class(
        "cuda.streams",
        "ExternalStream(stream_ptr: int, device: Any = None, **kwargs: Any)",
        """A queue of work that another library has made.

Args:
    stream_ptr: the address of its handle.
    device: the device; None for the selected one.
    kwargs: further options of the driver.

Raises:
    RuntimeError: there is no device.
""",
        refuse_unsupported("Stream"),
        base="Stream",
    ),
    Class(
        "cuda.streams",
        """Event(
        enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    )""",
        _EVENT.replace(
            "\n\nRaises", "\n    external: whether a recorded graph treats it as a node of its own.\n\nRaises"
        ),
        refuse_unsupported("Event"),
        base=AbsentEvent,
        members=(
            (
                'classmethod from_ipc_handle(cls, device: Any, handle: bytes) -> "Event"',
                "The event that another process has given away.",
            ),
            ("ipc_handle(self) -> bytes", "What another process needs to use the event."),
        ),
    ),
    Class(
        "mtia.streams",
        """Event(
        device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    )""",
        _EVENT.replace("Args:", "Args:\n    device: the device; None for the selected one."),
        refuse_unsupported("Event"),
        base=AbsentEvent,
    ),
    Class(
        "xpu.streams mps.event",
        "Event(enable_timing: bool = False)",
        """A point in the work of {device} devices.

Args:
    enable_timing: whether it remembers when it was reached.

Raises:
    RuntimeError: there is no device.
""",
        refuse_unsupported("Event"),
        base=AbsentEvent,
    ),
    Class(
        "cuda.memory",
        "CUDAPluggableAllocator(path_to_so_file: str, alloc_fn_name: str, free_fn_name: str)",
        """An allocator from a shared library.

Args:
    path_to_so_file: the library.
    alloc_fn_name: its function `void* alloc(ssize_t size, int device, cudaStream_t stream)`.
    free_fn_name: its function `void free(void* ptr, ssize_t size, int device, cudaStream_t stream)`.
""",
        refuse("{name}({path_to_so_file!r})"),
    ),
    Class(
        "cuda.memory",
        "MemPool(allocator: Any = None, use_on_oom: bool = False, no_split: bool = False)",
        """A pool of memory of its own.

Args:
    allocator: where it takes its memory from; None for the allocator in use.
    use_on_oom: whether others may take from it before they run out of memory.
    no_split: whether its blocks are handed out whole.
""",
        refuse(error=RuntimeError),
        members=(
            ("property id(self) -> tuple[int, int]", "What the pool is called in a snapshot."),
            ("property allocator(self) -> Any", "Where the pool takes its memory from."),
            ("use_count(self) -> int", "How many hold the pool."),
            ("snapshot(self, include_traces: bool = True) -> Any", "All blocks of the pool."),
        ),
    ),
    Class(
        "cuda.memory",
        "MemPoolContext(pool: MemPool)",
        "Makes a pool the active one as long as it lives.",
        refuse(error=RuntimeError),
        members=(("staticmethod active_pool() -> MemPool | None", "The active pool: None.", nothing),),
    ),
    Class(
        "cuda.memory",
        "use_mem_pool(pool: MemPool, device: Any = None)",
        "A `with` block in which memory is taken from a pool.",
        hold,
        members=(
            ("__enter__(self) -> Self", None, refuse("use_mem_pool")),
            ("__exit__(self, *error: object) -> None", None, nothing),
        ),
    ),
    Class(
        "cuda.graphs",
        "CUDAGraph(keep_graph: bool = False)",
        """Recorded work.

Raises:
    RuntimeError: there is no device.
""",
        refuse(error=RuntimeError),
        members=(
            (
                """capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None""",
                "Begins to record.",
            ),
            ("capture_end(self) -> None", "Ends the record."),
            ("replay(self) -> None", "Does the recorded work."),
            ("reset(self) -> None", "Forgets the recorded work."),
            ("pool(self) -> Any", "What the memory of the recorded work is called."),
            ("enable_debug_mode(self) -> None", "Keeps what `debug_dump` writes."),
            ("debug_dump(self, debug_path: str) -> None", "Writes the recorded work to a file."),
        ),
    ),
    Class(
        "cuda.graphs",
        """graph(
        cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global",
        enable_annotations: bool = False, check_input_liveness: bool = False
    )""",
        """A `with` block whose work is recorded.

Args:
    cuda_graph: what takes the record.
    pool: the memory that the record uses; None for its own.
    stream: the stream that is recorded; None for one of its own.
    capture_error_mode: which calls of the driver are errors meanwhile: "global", "thread_local" or "relaxed".
    enable_annotations: whether ranges of the profiler are kept with the nodes.
    check_input_liveness: whether `replay` makes sure that the inputs' memory is still held.
""",
        refuse(error=RuntimeError),
        members=(
            ("__enter__(self) -> Self", None, refuse("graph")),
            ("__exit__(self, *error: object) -> None", None, nothing),
        ),
    ),
    Class(
        "cuda.gds",
        "GdsFile(filename: str, flags: int)",
        "A file for transfers.",
        refuse("{name}({filename!r})"),
        members=(
            ("register_handle(self) -> None", "Prepares the file for transfers."),
            ("deregister_handle(self) -> None", "Undoes `register_handle`."),
            ("load_storage(self, storage: Any, offset: int = 0) -> None", "Reads a storage from the file."),
            ("save_storage(self, storage: Any, offset: int = 0) -> None", "Writes a storage to the file."),
        ),
    ),
)
