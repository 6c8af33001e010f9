"""Memory history: what tensors allocated and gave back, with the stacks that did it.

While it is recorded, `snapshot()` tells what is alive and what has happened, in the format of PyTorch's memory
snapshots, which its viewer reads. Nothing is recorded unless asked for.

>>> import tl_core
>>> record_memory_history()
>>> x = tl_core.zeros(1000)
>>> taken = snapshot()
>>> record_memory_history(None)
>>> [block["size"] for segment in taken["segments"] for block in segment["blocks"] if block["size"] == 4000]
[4000]
>>> taken["device_traces"][0][-2]["action"]
'alloc'
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Collection
from typing import Any, TypedDict

from tl_core import _C
from tl_core.memory.whole_files import replacing

__all__ = ["Block", "Frame", "Segment", "Snapshot", "TraceEntry", "dump_on_out_of_memory", "dump_snapshot",
           "is_recorded", "record_memory_history", "snapshot"]  # fmt: skip

_ALLOCATED, _FREED, _OUT_OF_MEMORY = range(3)
_LIVE_STACKS, _ALLOCATION_STACKS, _FREE_STACKS = 1, 2, 4
_MOST = 2**63 - 1
ACTIONS = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "oom", "snapshot")


class Frame(TypedDict):
    """A line of a program."""

    filename: str
    line: int
    name: str


class Block(TypedDict):
    """Memory of a tensor."""

    address: int
    size: int
    requested_size: int
    state: str
    frames: list[Frame]
    module: str


class Segment(TypedDict):
    """Memory as the allocator handed it out: here of one tensor each."""

    device: int
    address: int
    total_size: int
    stream: int
    segment_type: str
    segment_pool_id: tuple[int, int]
    is_expandable: bool
    allocated_size: int
    active_size: int
    requested_size: int
    blocks: list[Block]
    frames: list[Frame]


class TraceEntry(TypedDict, total=False):
    """What the allocator did: alloc, free_requested, free_completed or oom."""

    action: str
    addr: int
    size: int
    stream: int
    time_us: int
    frames: list[Frame]
    device_free: int
    module: str


class Snapshot(TypedDict):
    """What is alive, and what has happened."""

    segments: list[Segment]
    device_traces: list[list[TraceEntry]]
    allocator_settings: dict[str, Any]
    forgotten: int


_left_out: frozenset[str] = frozenset()


def record_memory_history(enabled: str | None = "all", context: str | None = "all", stacks: str = "all",
                          max_entries: int = _MOST, clear_history: bool = False,
                          skip_actions: Collection[str] | None = None) -> None:  # fmt: skip
    """Records what tensors allocate and give back, from now on.

    A recorded allocation costs about 0.3 us and its stack as much; without this call there is no cost.

    Args:
        enabled: None: record no more. "state": only what is alive. "all": also each allocation and each free.
        context: which of them keep a stack. None: none. "state": what is alive. "alloc": also allocations. "all":
            also frees.
        stacks: "python" or "all"; frames are those of Python in either case.
        max_entries: so many allocations and frees are known; the oldest are forgotten.
        clear_history: forget what was recorded so far.
        skip_actions: what snapshots leave out of the trace: words of `TraceEntry.action`.

    Raises:
        ValueError: another word.

    Example:
        >>> from tl_core.memory import history as memory_history
        >>> memory_history.record_memory_history()
        >>> memory_history.record_memory_history(None)
    """
    global _left_out
    _one_of("enabled", enabled, (None, "state", "all"))
    _one_of("context", context, (None, "state", "alloc", "all"))
    _one_of("stacks", stacks, ("python", "all"))
    for action in skip_actions or ():
        _one_of("skip_actions", action, ACTIONS)
    _left_out = frozenset(skip_actions or ())
    if clear_history:
        _C._set_memory_history(False, False, 0, 0)  # one that begins anew begins with nothing
    if enabled is None:
        _C._set_memory_history(False, False, 0, 0)
        return
    stack_flags = {None: 0, "state": _LIVE_STACKS, "alloc": _LIVE_STACKS | _ALLOCATION_STACKS, "all": 7}[
        context
    ]
    _C._set_memory_history(True, enabled == "all", stack_flags, min(max(int(max_entries), 0), _MOST))


def _one_of(name: str, value: Any, words: tuple[Any, ...]) -> None:
    if value not in words:
        raise ValueError(f"record_memory_history(): {name} must be one of {words}, got {value!r}")


def is_recorded() -> bool:
    """Whether memory is being recorded.

    Example:
        >>> from tl_core.memory import history as memory_history
        >>> memory_history.is_recorded()
        False
    """
    return _C._memory_history_on()


class _Frames:
    """The frames of stacks, each made once."""

    def __init__(self) -> None:
        self._cache: dict[int, list[Frame]] = {0: []}

    def of(self, stack: int) -> list[Frame]:
        frames = self._cache.get(stack)
        if frames is None:
            lines = _C._stack_frames(stack)
            frames = [Frame(filename=f, line=line, name=name) for f, line, name in lines]
            self._cache[stack] = frames
        return frames


def snapshot() -> Snapshot:
    """What is alive and what has happened, as far as it was recorded.

    Example:
        >>> from tl_core.memory import history as memory_history
        >>> len(memory_history.snapshot()) > 0
        True
    """
    live, events, forgotten = _C._memory_history()
    frames = _Frames()
    offset = time.time_ns() - _C._event_clock()  # stamps tell the time of day
    segments = [_segment(entry, frames) for entry in live]
    trace: list[TraceEntry] = []
    for entry in events:
        trace += [e for e in _entries(entry, frames, offset) if e["action"] not in _left_out]
    trace.append(
        TraceEntry(action="snapshot", addr=0, size=0, stream=0, time_us=time.time_ns() // 1000, frames=[])
    )
    return Snapshot(segments=segments, device_traces=[trace], allocator_settings={}, forgotten=forgotten)


def _segment(entry: tuple[int, ...], frames: _Frames) -> Segment:
    _, address, size, stack, origin, _, _ = entry
    block = Block(address=address, size=size, requested_size=size, state="active_allocated", frames=frames.of(stack),
                  module=_C._origin_scope(origin))  # fmt: skip
    return Segment(device=0, address=address, total_size=size, stream=0,
                   segment_type="small" if size <= 1 << 20 else "large", segment_pool_id=(0, 0), is_expandable=False,
                   allocated_size=size, active_size=size, requested_size=size, blocks=[block],
                   frames=block["frames"])  # fmt: skip


def _entries(entry: tuple[int, ...], frames: _Frames, offset: int) -> list[TraceEntry]:
    action, address, size, stack, origin, stamp, nbytes = entry
    common = TraceEntry(size=size, stream=0, time_us=(stamp + offset) // 1000, frames=frames.of(stack),
                        module=_C._origin_scope(origin))  # fmt: skip
    if action == _OUT_OF_MEMORY:
        limit = _C._memory_limit()
        return [TraceEntry(action="oom", device_free=max(limit - nbytes, 0), **common)]
    if action == _ALLOCATED:
        return [TraceEntry(action="alloc", addr=address, **common)]
    return [TraceEntry(action=word, addr=address, **common) for word in ("free_requested", "free_completed")]


def dump_snapshot(filename: str | os.PathLike[str] = "dump_snapshot.pickle") -> None:
    """Writes the snapshot to a file, for PyTorch's viewer and for `tl.profiler.memory_page`.

    Args:
        filename: the file; it is there whole or not at all.

    Raises:
        OSError: it cannot be written.

    Example:
        >>> import pathlib, tempfile
        >>> from tl_core.memory import history as memory_history
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     memory_history.dump_snapshot(pathlib.Path(folder, "blocks.pickle"))
        ...     pathlib.Path(folder, "blocks.pickle").stat().st_size > 0
        True
    """
    with replacing(os.fspath(filename)) as unfinished, open(unfinished, "wb") as file:
        pickle.dump(snapshot(), file)


def dump_on_out_of_memory(filename: str | os.PathLike[str] | None) -> None:
    """Writes a snapshot when memory cannot be had, before `OutOfMemoryError` is raised.

    Args:
        filename: the file; None: no more.

    Example:
        >>> from tl_core.memory import history as memory_history
        >>> memory_history.dump_on_out_of_memory("blocks.pickle")
        >>> memory_history.dump_on_out_of_memory(None)
    """
    if filename is None:
        _C._set_out_of_memory_observer(None)
        return
    path = os.fspath(filename)

    def write() -> str:
        dump_snapshot(path)
        return f"\nA snapshot of the memory is in {path}."

    _C._set_out_of_memory_observer(write)
