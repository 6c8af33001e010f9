"""`torch.cuda.memory`'s pictures of memory: where there is no CUDA device, of the memory of the CPU's tensors."""

import inspect
from typing import Any

import tl_core
from tl_backends.device_kind import CUDA
from tl_core.memory import history as memory_history

__all__ = ["_dump_snapshot", "_record_memory_history", "_snapshot"]


def _refuse_device(name: str, device: Any) -> None:
    if device is not None and tl_core.device(device).type != "cpu":
        raise CUDA.error(f"memory.{name}(device={device!r})")


def _record_now(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = 2**63 - 1,
    device: Any = None,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: list[str] | None = None,
) -> None:
    _refuse_device("_record_memory_history", device)
    memory_history.record_memory_history(enabled, context, stacks, max_entries, clear_history, skip_actions)


def _record_as_before(
    enabled: bool,
    record_context: bool = True,
    trace_alloc_max_entries: int = 1,
    trace_alloc_record_context: bool = False,
    device: Any = None,
    record_context_cpp: bool = False,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
) -> None:
    _refuse_device("_record_memory_history", device)
    context = "all" if trace_alloc_record_context else "state" if record_context else None
    memory_history.record_memory_history(
        "all" if enabled else None, context, "all", trace_alloc_max_entries, clear_history
    )


def _record_memory_history(enabled: Any = "all", *args: Any, **kwargs: Any) -> None:
    """Records what tensors allocate and give back, from now on: `_snapshot` and `_dump_snapshot` tell it.

    There is no CUDA device, so that the tensors are the CPU's.

    Args:
        enabled: None: record no more. "state": only what is alive. "all": also each allocation and each free. A bool
            takes the older arguments `record_context, trace_alloc_max_entries, trace_alloc_record_context`.
        context: which of them keep a stack. None: none. "state": what is alive. "alloc": also allocations. "all":
            also frees.
        stacks: "python" or "all"; frames are those of Python in either case.
        max_entries: so many allocations and frees are known; the oldest are forgotten.
        device: None or the CPU.
        clear_history: forget what was recorded so far.
        compile_context: without effect: there is no compiler that could be told.
        global_record_annotations: without effect: a profile has the labelled blocks.
        skip_actions: what snapshots leave out of the trace.

    Raises:
        ValueError: another word.
        AssertionError: `device` is an accelerator.
    """
    record = _record_as_before if isinstance(enabled, bool) else _record_now
    record(enabled, *args, **kwargs)


_record_memory_history.__signature__ = inspect.signature(_record_now)  # type: ignore[attr-defined]


def _snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> memory_history.Snapshot:
    """What tensors hold, and what was recorded of it.

    Args:
        device: None or the CPU.
        augment_with_fx_traces: without effect: there is no compiler that would add anything.

    Returns:
        A dict in the format of the manual's page "Understanding CUDA Memory Usage": `segments` and `device_traces`.

    Example:
        >>> import tl_core
        >>> _record_memory_history()
        >>> x = tl_core.zeros(1000)
        >>> sizes = [block["size"] for segment in _snapshot()["segments"] for block in segment["blocks"]]
        >>> _record_memory_history(None)
        >>> 4000 in sizes
        True
    """
    _refuse_device("_snapshot", device)
    return memory_history.snapshot()


def _dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Writes `_snapshot()` to a file, for PyTorch's viewer and for `tl.profiler.memory_page`.

    Args:
        filename: the file; it is there whole or not at all.
        augment_with_fx_traces: without effect.

    Raises:
        OSError: it cannot be written.
    """
    memory_history.dump_snapshot(filename)
