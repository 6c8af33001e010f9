"""Recordings: what threads do and when, for profilers.

While one is on, the operators of the thread that began it, the nodes of its backward, labelled blocks and, if asked
for, the memory of tensors and calls of Python functions are noted as events. Without one, nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tl_core import _C

__all__ = ["MODULE", "EventRange", "ForeignEvent", "Recording", "clock", "describe_at_end",
           "is_recording", "listeners", "note_foreign",
           "record_own_operators", "stack_frames", "start", "stop", "take_described", "take_foreign"]  # fmt: skip

MODULE = 4  # the kind of an EventRange that is a module's forward

EventRange = _C._EventRange
Recording = _C._Recording
is_recording = _C._is_recording
clock = _C._event_clock
stack_frames = _C._stack_frames
record_own_operators = _C._record_own_operators


class ForeignEvent(NamedTuple):
    """Work of another process, in nanoseconds of the clock that the processes of a machine share.

    Args:
        process: the process, as it is shown.
        name: what is shown.
        category: the kind of event in traces.
        start: when it began, in nanoseconds.
        end: when it ended.
    """

    process: int
    name: str
    category: str
    start: int
    end: int


_foreign: list[ForeignEvent] = []
listeners: list[
    Callable[[bool], None]
] = []  # called when a recording that wants modules begins, and at its end


def note_foreign(process: int, name: str, category: str, start: int, end: int) -> None:
    """Adds work of another process to the recording that is on.

    Args:
        process: the process, as it is shown.
        name: what is shown.
        category: the kind of event in traces.
        start: when it began, in nanoseconds.
        end: when it ended.
    """
    if is_recording():
        _foreign.append(ForeignEvent(process, name, category, start, end))


def take_foreign() -> list[ForeignEvent]:
    """What was added since the last call."""
    events, _foreign[:] = list(_foreign), []
    return events


_describers: dict[int, Callable[[], Iterable[tuple[int, str]]]] = {}
_described: dict[int, str] = {}


def describe_at_end(owner: object, describe: Callable[[], Iterable[tuple[int, str]]]) -> None:
    """Lets an owner of tensors say at the recording's end what they are.

    Args:
        owner: asked once.
        describe: gives (address, word): "PARAMETER", "GRADIENT" or "OPTIMIZER_STATE".
    """
    _describers.setdefault(id(owner), describe)


def take_described() -> dict[int, str]:
    """What the owners said of the latest recording."""
    return dict(_described)


def start(*, values: bool = False, results: bool = False, stacks: bool = False, memory: bool = False,
          operators: bool = True, all_threads: bool = False, most_bytes: int = 0, python: bool = False,
          modules: bool = False) -> None:  # fmt: skip
    """Begins to record.

    Args:
        values: what arguments look like: shapes, strides, types, numbers.
        results: and what operators return.
        stacks: the Python stack of each call.
        memory: what tensors allocate and give back.
        operators: False leaves out this thread's operators.
        all_threads: and takes those of all other threads.
        most_bytes: of memory that the events of a thread may take, 512 KB at least: the oldest make room for the
            newest, and `Recording.forgotten` counts them. 0: as much as they take.
        python: calls of Python functions and of built-in ones, in all threads.
        modules: the forward of modules, where a package that has modules is loaded.

    Raises:
        RuntimeError: a recording is on already.
    """
    _foreign.clear()
    _describers.clear()
    _C._start_recording(values, results, stacks, memory, operators, all_threads, most_bytes, python)
    if modules:
        for listener in listeners:
            listener(True)


def stop() -> Recording:
    """Ends the recording and returns it."""
    recording = _C._stop_recording()
    for listener in listeners:
        listener(False)
    _described.clear()
    for describe in _describers.values():
        _described.update(describe())
    _describers.clear()
    return recording
