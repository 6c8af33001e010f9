"""A function whose calls are recorded, and replayed where a later call is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_autograd.engine_calls import has_saved_hooks
from tl_core.dispatch.native_calls import native_function

from ..._C import ReplayedCall, Tape, counters, is_traced, operator_sums, reads_frames
from ..._C import run as run_in_region
from ..thread_state import is_observed
from .refusal import Refusal
from .repetition import Repetition

__all__ = ["Report", "ReplayedFunction", "record"]

_WARM = 1  # calls before the first recording: caches fill, lazy parts take their shapes
_LARGE = 1 << 14  # elements; below, an operator that waits costs a replay more than it saves
_MOST_TAPES = 8
_MOST_REFUSALS = 3
_MOST_MISSES = 16  # calls in a row that are none of the recorded ones


class Report:
    """What became of a call.

    Args:
        function: the name of the function.
        tape: the recorded call, or None.
        reason: why there is none, or why the call isn't the recorded one.
        groups: what the region counted, by name.
        differences: for each recorded call of a compiled function, why this call is another one; None: it is not.
    """

    def __init__(
        self,
        function: str,
        tape: Any,
        reason: Refusal | str | None,
        groups: dict[str, int],
        differences: list[str | None] | None = None,
    ) -> None:
        self.function, self.tape, self.reason, self.groups = function, tape, reason, groups
        self.differences = differences or []

    @property
    def is_replayed(self) -> bool:
        """Whether such a call is replayed."""
        return self.tape is not None

    def __str__(self) -> str:
        waited = self.groups["operators"]
        lines = [
            f"{self.function}: {waited} operators waited and were computed in {self.groups['groups']} groups"
        ]
        if self.tape is not None:
            lines.append(
                f"replay: {self.tape.steps} functions of C without Python, while {self.tape.dictionaries} "
                "dictionaries stay as they are"
            )
        else:
            lines.append(f"no replay: {self.reason}")
        for number, difference in enumerate(self.differences, 1):
            text = (
                "this call is the same" if difference is None else f"this call is another one: {difference}"
            )
            lines.append(f"recorded call {number}: {text}")
        return "\n".join(lines)


def _has_observers() -> bool:
    looks = ("_is_recording", "_override_mode_active", "_any_autocast_is_on")
    return has_saved_hooks() or any(native_function(name)() for name in looks)


def _growth(before: dict[str, int]) -> dict[str, int]:
    return {name: value - before[name] for name, value in counters().items()}


def record(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, defers: bool = True
) -> tuple[Any, Any, Any, bool]:
    """Calls a function in a region and records the call.

    Args:
        function: the function.
        args, kwargs: its arguments.
        defers: whether calls that aren't recorded run in a region, too.

    Returns:
        The result, the tape or None, the refusal or None, and whether operators waited.
    """
    before = counters()["operators"]
    if not reads_frames():
        refusal = Refusal("calls are recorded on CPython 3.11 only")
        return run_in_region(function, args, kwargs), None, refusal, False
    if is_traced():
        refusal = Refusal("a tracer or a profiler watches the thread")
        return run_in_region(function, args, kwargs), None, refusal, False
    if tl_core.is_inference_mode_enabled() or is_observed() or _has_observers():
        refusal = Refusal(
            "autocast, the inference mode, a transform, a mode or a profiler sees the operators"
        )
        return run_in_region(function, args, kwargs), None, refusal, False
    from .observer import Observer
    from .opcodes import RULES

    try:
        observer = Observer(args, kwargs, RULES, is_compiled=defers)
    except Refusal as refusal:
        return run_in_region(function, args, kwargs), None, refusal, False
    try:
        result = run_in_region(observer.run, (function, args, kwargs), {})
        waits = counters()["operators"] != before and observer.recorder.largest >= _LARGE
        try:
            return result, Tape(observer.description(result)), None, waits
        except Refusal as refusal:
            return result, None, refusal, waits
    finally:
        observer.close()


def _run_plainly(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)


class ReplayedFunction:
    """The recorded calls of a function. Other calls run in a region.

    Args:
        function: the function.
        defers: whether other calls, and replays that gain by it, run in a region. Recordings always do.
        at_once: whether the second call is recorded; otherwise one after three that repeat each other.
    """

    def __init__(self, function: Callable[..., Any], *, defers: bool = True, at_once: bool = True) -> None:
        self.function, self.defers, self.at_once = function, defers, at_once
        self._run_other = run_in_region if defers else _run_plainly
        self.tapes: list[Any] = []
        self._entries: list[Any] = []
        self.native = self.entry(self._run_native, ())
        self.reset()

    def reset(self) -> None:
        """Forgets the recorded calls."""
        self.tapes.clear()
        for entry in self._entries:
            entry.leave_to(None, True)
        self._calls = self._refusals = self._misses = self._hits = 0
        self.refusal: Refusal | None = None
        self.repetition = Repetition()

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Replays a call, or calls the function.

        Args:
            args, kwargs: the arguments.
        """
        return self.native(*args, **kwargs)

    def entry(self, other: Callable[..., Any], conditions: tuple[Any, ...]) -> Any:
        """What a program calls: the recorded calls, and another function where none of them holds.

        Args:
            other: gets the arguments, as a tuple and a dictionary, and whether the recorded calls were tried.
            conditions: (list or dictionary, key, values): the recorded calls run while each item is one of its values.
        """
        self._entries.append(ReplayedCall(other, self.tapes, conditions))
        return self._entries[-1]

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], hits: int = 0) -> Any:
        """Calls the function as none of the recorded calls, and may record it.

        Args:
            args, kwargs: the arguments.
            hits: how often a recorded call has run so far.
        """
        if hits != self._hits:
            self._hits, self._misses = hits, 0
        self._calls += 1
        self._misses += 1
        if self._misses > _MOST_MISSES and not self.at_once:
            self.tapes.clear()  # they hold objects that the program may have left
        if is_traced():
            return self._run_other(self.function, args, kwargs)
        if self._refusals >= _MOST_REFUSALS or self._misses > _MOST_MISSES:
            return self._run_for_good(args, kwargs)
        if not (self._calls > _WARM if self.at_once else self.repetition.is_due):
            return self._run_unrecorded(args, kwargs)
        self.repetition.begin_again()
        result, tape, refusal, waits = record(self.function, args, kwargs, defers=self.defers)
        if tape is None:
            self._refusals += 1
            self.refusal = refusal
        else:
            self.tapes.insert(0, (tape, waits and self.defers))
            del self.tapes[_MOST_TAPES:]
        return result

    def _run_for_good(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the function where no further call is recorded: the entries do so from now on."""
        *_, before = operator_sums()
        result = self._run_other(self.function, args, kwargs)
        if self.defers and (self._refusals >= _MOST_REFUSALS or not self.tapes):
            for entry in self._entries:
                entry.leave_to(self.function, operator_sums()[-1] != before)
        return result

    def _run_unrecorded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.at_once:
            return self._run_other(self.function, args, kwargs)
        result = self.repetition.run(lambda: self._run_other(self.function, args, kwargs))
        if self.repetition.ends:
            self._refusals = _MOST_REFUSALS
        return result

    def _run_native(self, args: tuple[Any, ...], kwargs: dict[str, Any], tried: bool) -> Any:
        return self.run(args, kwargs, self.native.hits)

    def explain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Report:
        """Calls the function and says what becomes of such a call.

        Args:
            args, kwargs: the arguments.
        """
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        differences = [tape.difference_of(args, kwargs) for tape, _ in self.tapes]
        run_in_region(self.function, args, kwargs)
        before = counters()
        _, tape, refusal, _ = record(self.function, args, kwargs, defers=self.defers)
        return Report(name, tape, refusal, _growth(before), differences)
