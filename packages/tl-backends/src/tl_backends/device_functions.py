"""The functions of the device modules. Several modules that share a row stand together."""

from __future__ import annotations

from collections import OrderedDict

from tl_backends.device_answers import (
    new,
    nothing,
    on_entry,
    refuse,
    refuse_if_true,
    refuse_index,
    refuse_init,
    refuse_nvtx,
    refuse_state,
    refuse_states,
    refuse_unless_none,
    take_seed,
    value,
)
from tl_backends.device_rows import Row

__all__ = ["FUNCTIONS"]


# fmt: off
FUNCTIONS: dict[str, tuple[Row, ...]] = {
    "cuda xpu": (
        ("_is_compiled() -> bool",
         "Whether the build has the device's runtime: False.", value(False)),
        ("_lazy_init() -> None",
         "Starts the device's runtime, of which there is none."),
        ("_lazy_call(callable: Any, **kwargs: Any) -> None",
         "Calls a function when the device's runtime is started; it never is.", nothing),
        ("init() -> None",
         """Starts the device's runtime.

Raises:
    AssertionError: there is no device.
"""),
    ),
    "cuda xpu mps": (
        ("_is_in_bad_fork() -> bool",
         "Whether the process is a fork of one that had started the device's runtime: False.", value(False)),
    ),
    "cuda xpu mtia": (
        ("is_initialized() -> bool",
         "Whether the device's runtime has been started: False.", value(False)),
    ),
    "cuda": (
        ("check_error(res: int) -> None",
         "Raises the error of a code that the CUDA runtime gave.", refuse("{name}({res!r})")),
        ("cudart() -> Any",
         """The CUDA runtime library.

Raises:
    AssertionError: there is none.
"""),
        ("ipc_collect() -> None",
         """Frees memory that other processes have given back.

Raises:
    AssertionError: there is no device.
"""),
        ("get_sync_debug_mode() -> int",
         """What happens at an operation that makes the CPU wait: 0 nothing, 1 a warning, 2 an error.

Raises:
    AssertionError: there is no device.
"""),
        ("set_sync_debug_mode(debug_mode: int | str) -> None",
         """Sets what happens at an operation that makes the CPU wait: "default", "warn" or "error".

Raises:
    AssertionError: there is no device.
""", refuse("{name}({debug_mode!r})")),
    ),
    "cuda.comm": (
        ("broadcast(tensor: Any, devices: Any = None, *, out: Any = None) -> Any",
         """Copies a tensor to devices.

Args:
    tensor: the tensor, on any device.
    devices: the devices to copy to; None if `out` is given.
    out: tensors that take the copies, one a device, instead of new ones.
""", refuse("comm.{name}")),
        ("broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int = 10485760) -> Any",
         """Copies tensors to devices, small ones together.

Args:
    tensors: the tensors, all on the first of the devices.
    devices: the devices to copy to.
    buffer_size: the bytes of the buffer in which small tensors travel together.
""", refuse("comm.{name}")),
        ("reduce_add(inputs: Any, destination: Any = None) -> Any",
         "Adds up tensors of several devices on one.", refuse("comm.{name}")),
        ("reduce_add_coalesced(inputs: Any, destination: Any = None, buffer_size: int = 10485760) -> Any",
         """Adds up lists of tensors of several devices on one, small ones together.

Args:
    inputs: a list of tensors for each device.
    destination: the device of the results; None for the current one.
    buffer_size: the bytes of the buffer in which small tensors travel together.
""", refuse("comm.{name}")),
        ("""scatter(
            tensor: Any, devices: Any = None, chunk_sizes: Any = None, dim: int = 0, streams: Any = None, *,
            out: Any = None
        ) -> Any""",
         """Deals the parts of a tensor out to devices.

Args:
    tensor: the tensor to be dealt out.
    devices: the devices that get a part each; None if `out` is given.
    chunk_sizes: the sizes of the parts along `dim`; None for equal ones.
    dim: the dimension that is cut.
    streams: the streams that copy, one a device; None for the current ones.
    out: tensors that take the parts instead of new ones.
""", refuse("comm.{name}")),
        ("gather(tensors: Any, dim: int = 0, destination: Any = None, *, out: Any = None) -> Any",
         """Joins tensors of several devices on one.

Args:
    tensors: the tensors to be joined, on several devices.
    dim: the dimension along which they are joined.
    destination: the device of the result; None for the current one, "cpu" for the host.
    out: a tensor that takes the result instead of a new one.
""", refuse("comm.{name}")),
    ),
    "cuda.gds": (
        ("gds_register_buffer(s: Any) -> None",
         "Prepares a storage for transfers."),
        ("gds_deregister_buffer(s: Any) -> None",
         "Undoes `gds_register_buffer`."),
    ),
    "cuda.graphs": (
        ("graph_pool_handle() -> Any",
         "A new name for the memory of recorded work.", refuse(error=RuntimeError)),
        ("is_current_stream_capturing() -> bool",
         "Whether work is being recorded: False.", value(False)),
        ("""make_graphed_callables(
            callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False,
            pool: Any = None
        ) -> Any""",
         """Functions that replay what was recorded of others.

Args:
    callables: a function or module, or a tuple of them.
    sample_args: arguments of each call, whose shapes all later calls have.
    num_warmup_iters: how often each is run before it is recorded.
    allow_unused_input: whether inputs that no result depends on have gradient None instead of raising.
    pool: the memory that the record uses; None for its own.
"""),
    ),
    "cuda.jiterator": (
        ("_create_jit_fn(code_string: str, **kwargs: Any) -> Callable",
         "A function that runs a piece of C++ on each element."),
        ("_create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs: Any) -> Callable",
         "A function that runs a piece of C++ with several results on each element."),
    ),
    "cuda.memory xpu.memory": (
        ("empty_cache() -> None",
         "Gives memory that is kept for reuse back to the device; there is none.", nothing),
        ("memory_stats(device: Any = None) -> dict[str, Any]",
         "The statistics of a device's allocator: empty.", new(OrderedDict)),
        ("memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]",
         "The statistics of a device's allocator as a dictionary of dictionaries: empty.", new(dict)),
        ("memory_allocated(device: Any = None) -> int",
         "The bytes that tensors take now: 0.", value(0)),
        ("max_memory_allocated(device: Any = None) -> int",
         "The most bytes that tensors have taken: 0.", value(0)),
        ("memory_reserved(device: Any = None) -> int",
         "The bytes that the allocator holds now: 0.", value(0)),
        ("max_memory_reserved(device: Any = None) -> int",
         "The most bytes that the allocator has held: 0.", value(0)),
        ("mem_get_info(device: Any = None) -> tuple[int, int]",
         "The free and the total bytes of a device."),
        ("reset_peak_memory_stats(device: Any = None) -> None",
         "Starts the measurement of the highest values anew."),
        ("reset_accumulated_memory_stats(device: Any = None) -> None",
         "Starts the counts of all that happened anew."),
    ),
    "cuda.memory": (
        ("host_memory_stats() -> dict[str, Any]",
         "The statistics of the allocator of pinned memory: empty.", new(OrderedDict)),
        ("host_memory_stats_as_nested_dict() -> dict[str, Any]",
         "The statistics of the allocator of pinned memory as a dictionary of dictionaries: empty.", new(dict)),
        ("reset_accumulated_host_memory_stats() -> None",
         "Starts the counts of all that happened to pinned memory anew."),
        ("reset_peak_host_memory_stats() -> None",
         "Starts the measurement of the highest values of pinned memory anew."),
        ("memory_summary(device: Any = None, abbreviated: bool = False) -> str",
         "The statistics as a table to be read."),
        ("memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> Any",
         "All blocks that the allocator holds."),
        ("list_gpu_processes(device: Any = None) -> str",
         "The processes that use a device, and their memory, as text."),
        ("get_per_process_memory_fraction(device: Any = None) -> float",
         "The share of a device's memory that this process may take."),
        ("set_per_process_memory_fraction(fraction: float, device: Any = None) -> None",
         "Sets the share of a device's memory that this process may take.", refuse("{name}({fraction!r})")),
        ("caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int",
         """Allocates bytes on a device and returns their address.

Args:
    size: the number of bytes.
    device: the device; None for the selected one.
    stream: the stream that uses the memory first; None for the current one.
""", refuse("{name}({size!r})")),
        ("caching_allocator_delete(mem_ptr: int) -> None",
         "Frees what `caching_allocator_alloc` has given."),
        ("caching_allocator_enable(value: bool = True) -> None",
         "Lets memory be kept for reuse, or not; there is none to keep.", nothing),
        ("get_allocator_backend() -> str",
         "The name of the allocator in use."),
        ("change_current_allocator(allocator: Any) -> None",
         "Makes another allocator the one in use."),
    ),
    "cuda.nccl": (
        ("is_available(tensors: Any) -> bool",
         "Whether NCCL could take these tensors: False.", value(False)),
        ("version() -> tuple[int, ...]",
         "The version of NCCL."),
        ("""all_reduce(
            inputs: Any, outputs: Any = None, op: int = 0, streams: Any = None, comms: Any = None
        ) -> None""",
         """Reduces tensors of several devices, and gives each device the result.

Args:
    inputs: a tensor for each device, all of one size.
    outputs: the tensors that take the results; None for `inputs`.
    op: the number of the reduction; 0 adds.
    streams: a stream for each device; None for the current ones.
    comms: a communicator for each device; None for those of NCCL.
"""),
        ("""reduce(
            inputs: Any, output: Any = None, root: int = 0, op: int = 0, streams: Any = None, comms: Any = None, *,
            outputs: Any = None
        ) -> None""",
         """Reduces tensors of several devices on one.

Args:
    inputs: a tensor for each device, all of one size.
    output: the tensor that takes the result; None for that of the root.
    root: the position of the device that has the result.
    op: the number of the reduction; 0 adds.
    streams: a stream for each device; None for the current ones.
    comms: a communicator for each device; None for those of NCCL.
    outputs: an older form of `output`: a list with the tensor at the root.
"""),
        ("broadcast(inputs: Any, root: int = 0, streams: Any = None, comms: Any = None) -> None",
         """Copies the tensor of one device into those of the others.

Args:
    inputs: a tensor for each device, all of one size.
    root: the position of the device that is copied.
    streams: a stream for each device; None for the current ones.
    comms: a communicator for each device; None for those of NCCL.
"""),
        ("all_gather(inputs: Any, outputs: Any, streams: Any = None, comms: Any = None) -> None",
         """Joins tensors of several devices, and gives each device the result.

Args:
    inputs: a tensor for each device, all of one size.
    outputs: a tensor for each device that takes all of them.
    streams: a stream for each device; None for the current ones.
    comms: a communicator for each device; None for those of NCCL.
"""),
        ("""reduce_scatter(
            inputs: Any, outputs: Any, op: int = 0, streams: Any = None, comms: Any = None
        ) -> None""",
         """Reduces tensors of several devices, and gives each device a part of the result.

Args:
    inputs: a tensor for each device, all of one size.
    outputs: a tensor for each device that takes its part.
    op: the number of the reduction; 0 adds.
    streams: a stream for each device; None for the current ones.
    comms: a communicator for each device; None for those of NCCL.
"""),
    ),
    "cuda.nvtx": (
        ("range_push(msg: str) -> int",
         "Begins a named range inside the current one; returns how many it is in.", refuse_nvtx),
        ("range_pop() -> int",
         "Ends the innermost range; returns how many it was in.", refuse_nvtx),
        ("range_start(msg: str) -> int",
         "Begins a named range that any thread may end; returns its handle.", refuse_nvtx),
        ("range_end(range_id: int) -> None",
         "Ends the range with a handle.", refuse_nvtx),
        ("mark(msg: str) -> None",
         "Marks a moment.", refuse_nvtx),
        ("range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]",
         """A named range around a `with` block.

Args:
    msg: the name, a format.
    args, kwargs: what is put into it.
""",
         on_entry(refuse_nvtx, "nvtx.range_push")),
    ),
    "cuda.profiler": (
        ("start() -> None",
         "Lets the profiler collect."),
        ("stop() -> None",
         "Lets the profiler stop collecting."),
        ("profile() -> Iterator[None]",
         "Lets the profiler collect within a `with` block.", on_entry(refuse(), "cuda.profiler.start")),
    ),
    "cuda.properties xpu": (
        ("is_bf16_supported(including_emulation: bool = True) -> bool",
         "Whether the selected device computes with bfloat16: False, as there is none.", value(False)),
        ("get_arch_list() -> list[str]",
         "The architectures that kernels were compiled for: none.", new(list)),
        ("get_gencode_flags() -> str",
         "The compiler's flags for these architectures: none.", value("")),
        ("get_device_name(device: Any = None) -> str",
         "The name of a device."),
        ("get_device_properties(device: Any = None) -> Any",
         "All properties of a device."),
    ),
    "cuda.properties xpu mtia": (
        ("get_device_capability(device: Any = None) -> Any",
         "What a device can do: a major and a minor number, or a dictionary for XPU devices."),
    ),
    "cuda.properties": (
        ("is_tf32_supported() -> bool",
         "Whether the selected device computes with TensorFloat-32: False, as there is none.", value(False)),
        ("utilization(device: Any = None) -> int",
         "The percentage of the last moments in which the device computed."),
        ("memory_usage(device: Any = None) -> int",
         "The percentage of the last moments in which the device's memory was read or written."),
        ("device_memory_used(device: Any = None) -> int",
         "The bytes of a device's memory in use, by all processes."),
        ("temperature(device: Any = None) -> int",
         "The temperature of a device, in degrees Celsius."),
        ("power_draw(device: Any = None) -> int",
         "The power that a device draws, in milliwatts."),
        ("clock_rate(device: Any = None) -> int",
         "The clock rate of a device, in megahertz."),
    ),
    "cuda.random xpu.random mtia": (
        ("get_rng_state(device: Any = None) -> Any",
         "The state of a device's generator, as a tensor of bytes.", refuse_state("get_rng_state({device!r})")),
        ("set_rng_state(new_state: Any, device: Any = None) -> None",
         "Sets the state of a device's generator.", refuse_state("set_rng_state(…, {device!r})")),
    ),
    "cuda.random xpu.random": (
        ("get_rng_state_all() -> list",
         "The states of all devices' generators: an empty list.", new(list)),
        ("initial_seed() -> int",
         "The seed of the selected device's generator."),
        ("manual_seed_all(seed: int) -> None",
         """Seeds the generators of all devices, if there are any.

Raises:
    ValueError: the seed isn't a number.
""", take_seed),
        ("seed() -> None",
         "Seeds the generator of the selected device, if there is one, with a random number.", nothing),
        ("seed_all() -> None",
         "Seeds the generators of all devices, if there are any, with one random number.", nothing),
        ("set_rng_state_all(new_states: Iterable[Any]) -> None",
         "Sets the states of all devices' generators: of none, from an empty list.", refuse_states),
    ),
    "cuda.random xpu.random mps": (
        ("manual_seed(seed: int) -> None",
         """Seeds the generator of the selected device, if there is one.

Raises:
    ValueError: the seed isn't a number.
""", take_seed),
    ),
    "cuda.selection xpu mtia mps accelerator": (
        ("is_available() -> bool",
         "Whether a device of this kind can be used: False.", value(False)),
        ("device_count() -> int",
         "The number of devices of this kind: 0.", value(0)),
    ),
    "cuda.selection xpu mtia": (
        ("current_device() -> int",
         "The index of the selected device."),
        ("set_device(device: Any) -> None",
         "Selects a device, by its index or name; a negative index selects nothing.", refuse_index),
        ("synchronize(device: Any = None) -> None",
         "Waits until a device, the selected one if none is given, has done all its work."),
    ),
    "cuda.selection": (
        ("can_device_access_peer(device: Any, peer_device: Any) -> bool",
         "Whether one device can read the memory of another.", refuse("{name}({device!r}, {peer_device!r})")),
    ),
    "cuda.streams xpu.streams mtia.streams": (
        ("current_stream(device: Any = None) -> Any",
         "The current stream of a device, the selected one if none is given."),
    ),
    "xpu": (
        ("is_current_stream_capturing() -> bool",
         "Whether the current stream records a graph: False.", value(False)),
    ),
    "cuda.streams mtia.streams": (
        ("default_stream(device: Any = None) -> Any",
         "The stream that is the current one at the start."),
    ),
    "cuda.streams xpu.streams": (
        ("set_stream(stream: Any) -> None",
         "Makes a stream the current one; None changes nothing.", refuse_unless_none("stream")),
        ("get_stream_from_external(data_ptr: int, device: Any = None) -> Any",
         "The stream that another library has made."),
    ),
    "cuda.streams": (
        ("current_blas_handle() -> int",
         "The address of the handle of cuBLAS."),
    ),
    "cuda.tunable": (
        ("is_enabled() -> bool",
         "Whether the choice is made by measurement: False.", value(False)),
        ("tuning_is_enabled() -> bool",
         "Whether what hasn't been measured yet will be: False.", value(False)),
        ("record_untuned_is_enabled() -> bool",
         "Whether what hasn't been measured is written down: False.", value(False)),
        ("enable(val: bool = True) -> None",
         "Lets the choice be made by measurement, or not.", refuse_if_true("val")),
        ("tuning_enable(val: bool = True) -> None",
         "Lets what hasn't been measured yet be measured, or not.", refuse_if_true("val")),
        ("record_untuned_enable(val: bool = True) -> None",
         "Lets what hasn't been measured be written down, or not.", refuse_if_true("val")),
        ("get_results() -> tuple",
         "What has been measured: nothing.", value(())),
        ("get_validators() -> tuple",
         "What must be equal for results to be used again: nothing.", value(())),
        ("get_filename() -> str",
         "The file of results."),
        ("set_filename(filename: str, insert_device_ordinal: bool = False) -> None",
         "Sets the file of results.", refuse("{name}({filename!r})")),
        ("read_file(filename: str | None = None) -> bool",
         "Reads results from a file."),
        ("get_max_tuning_duration() -> int",
         "The most milliseconds spent on one choice."),
        ("set_max_tuning_duration(duration: int) -> None",
         "Sets the most milliseconds spent on one choice."),
        ("get_max_tuning_iterations() -> int",
         "The most runs spent on one choice."),
        ("set_max_tuning_iterations(iterations: int) -> None",
         "Sets the most runs spent on one choice."),
        ("get_rotating_buffer_size() -> int",
         "The megabytes that inputs are spread over, so that no run finds them in the cache."),
        ("set_rotating_buffer_size(buffer_size: int) -> None",
         "Sets the megabytes that inputs are spread over."),
        ("tune_gemm_in_file(filename: str) -> None",
         "Measures the matrix products that a file lists.", refuse("{name}({filename!r})")),
        ("mgpu_tune_gemm_in_file(filename_pattern: str, num_gpus: int) -> None",
         "Measures the matrix products that several files list, on several devices.",
         refuse("{name}({filename_pattern!r})")),
        ("write_file(filename: str | None = None) -> bool",
         """Whether results were written to the file: False, as there are none.

Args:
    filename: the file; None for that of `set_filename`.
""", value(False)),
        ("write_file_on_exit(val: bool) -> None",
         """Whether results are written when the process ends: there are none, whatever is set.

Args:
    val: whether they would be.
""", nothing),
    ),
    "mtia": (
        ("init() -> None",
         """Starts MTIA.

Raises:
    AssertionError: there is no device.
""", refuse_init),
        ("""record_memory_history(
            enabled: str | None = "all", stacks: str = "python", max_entries: int = 0
        ) -> None""",
         """Keeps where memory was allocated, for a snapshot.

Args:
    enabled: what is recorded: "all", "state", or None to stop, which does nothing here.
    stacks: whose stacks are kept: "python" or "all", C++ too.
    max_entries: how many events are kept; 0 for all.
""", refuse_unless_none("enabled")),
        ("snapshot() -> dict[str, Any]",
         "All blocks that the allocator holds."),
    ),
    "mtia mps": (
        ("empty_cache() -> None",
         "Gives memory that is kept for reuse back to the device."),
    ),
    "mtia.memory": (
        ("memory_stats(device: Any = None) -> dict[str, Any]",
         "The statistics of a device's allocator: empty.", new(dict)),
    ),
    "mtia.streams": (
        ("set_stream(stream: Stream) -> None",
         "Makes a stream the current one."),
    ),
    "mps": (
        ("seed() -> None",
         "Seeds the device's generator with a random number."),
        ('get_rng_state(device: Any = "mps") -> Any',
         "The state of the device's generator, as a tensor of bytes."),
        ('set_rng_state(new_state: Any, device: Any = "mps") -> None',
         "Sets the state of the device's generator."),
        ("synchronize() -> None",
         "Waits until the device has done all its work."),
        ("set_per_process_memory_fraction(fraction: float) -> None",
         "Sets the share of the device's memory that this process may take.", refuse("{name}({fraction!r})")),
        ("current_allocated_memory() -> int",
         "The bytes that tensors take now."),
        ("driver_allocated_memory() -> int",
         "The bytes that the driver has given to this process."),
        ("recommended_max_memory() -> int",
         "The most bytes that this process should take."),
        ("compile_shader(source: str) -> Any",
         "The functions of a Metal program."),
    ),
    "mps.profiler": (
        ("is_metal_capture_enabled() -> bool",
         "Whether the system lets Metal's work be captured: False.", value(False)),
        ("is_capturing_metal() -> bool",
         "Whether Metal's work is being captured: False.", value(False)),
        ('start(mode: str = "interval", wait_until_completed: bool = False) -> None',
         "Begins to report work to the system's profiler."),
        ("stop() -> None",
         "Ends what `start` began."),
        ('profile(mode: str = "interval", wait_until_completed: bool = False) -> Iterator[None]',
         "Reports the work of a `with` block to the system's profiler.", on_entry(refuse(), "mps.profiler.start")),
        ("metal_capture(fname: str) -> Iterator[None]",
         "Writes the work of a `with` block to a file.", on_entry(refuse("{name}({fname!r})"))),
    ),
    "cpu": (
        ("is_available() -> bool",
         "Whether there is a CPU: True.", value(True)),
        ("is_initialized() -> bool",
         "Whether it is ready: True.", value(True)),
        ("device_count() -> int",
         "The number of CPU devices: always 1, however many cores it has.", value(1)),
        ("current_device() -> str",
         'The selected CPU device: always "cpu".', value("cpu")),
        ("set_device(device: Any) -> None",
         "Selects a CPU device; as there is one only, nothing happens.", nothing),
        ("synchronize(device: Any = None) -> None",
         "Waits until all work is done, which it always is.", nothing),
    ),
    "accelerator": (
        ("current_accelerator(check_available: bool = False) -> Any",
         """The kind of the device, as a `device` without an index; None, as there is none.

Args:
    check_available: whether a device that isn't ready counts as none.

Example:
    >>> import tl_backends.accelerator
    >>> print(tl_backends.accelerator.current_accelerator())
    None
""", value(None)),
        ("current_device_index() -> int",
         "The index of the selected device."),
        ("set_device_index(device: Any, /) -> None",
         "Selects a device, by its index or name.", refuse("{name}({device!r})")),
        ("current_stream(device: Any = None, /) -> Any",
         "The current stream of a device, the selected one if none is given."),
        ("synchronize(device: Any = None, /) -> None",
         "Waits until a device, the selected one if none is given, has done all its work."),
        ("set_stream(stream: Any) -> None",
         "Makes a stream the current one, and its device the selected one."),
        ("empty_cache() -> None",
         "Gives memory that no tensor uses back to the system."),
        ("empty_host_cache() -> None",
         "Gives pinned memory that no tensor uses back to the system."),
        ("get_memory_info(device_index: Any = None, /) -> tuple[int, int]",
         "The free bytes of a device, and all of them."),
        ("memory_allocated(device_index: Any = None, /) -> int",
         "The bytes that tensors on a device hold."),
        ("max_memory_allocated(device_index: Any = None, /) -> int",
         "The most bytes that tensors on a device have held."),
        ("memory_reserved(device_index: Any = None, /) -> int",
         "The bytes of a device that the allocator keeps."),
        ("max_memory_reserved(device_index: Any = None, /) -> int",
         "The most bytes of a device that the allocator has kept."),
        ("memory_stats(device_index: Any = None, /) -> dict[str, Any]",
         "Counts of the allocator of a device."),
        ("reset_accumulated_memory_stats(device_index: Any = None, /) -> None",
         "Counts what is allocated and freed from now on."),
        ("reset_peak_memory_stats(device_index: Any = None, /) -> None",
         "Counts the most bytes from now on."),
        ("get_device_capability(device: Any = None, /) -> dict[str, Any]",
         "What a device can do."),
    ),
}
# fmt: on
