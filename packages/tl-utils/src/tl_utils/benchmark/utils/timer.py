"""Timers of statements in Python and C++."""

from __future__ import annotations

import enum
import sys
import textwrap
import timeit
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Any, NoReturn, overload

import tl_core
from tl_utils.benchmark.utils import common
from tl_utils.benchmark.utils.valgrind_wrapper.copies import CopyIfCallgrind

if TYPE_CHECKING:
    from tl_utils.benchmark.utils.valgrind_wrapper.timer_interface import CallgrindStats

__all__ = ["Language", "Timer", "timer"]

timer = timeit.default_timer

_SMALLEST = 1e-9  # seconds: a lower bound of times, which avoids a division by zero
_OVERHEAD = 1e-4  # share of a block's time that reading the clock may take
_LARGEST_BLOCK = 2**31 - 1
_SHARES = 1000  # a block takes this share of the shortest run at least


class Language(enum.Enum):
    """The language of a statement.

    Example:
        >>> Language.PYTHON.name
        'PYTHON'
    """

    PYTHON = 0
    CPP = 1


_LANGUAGES = {
    **dict.fromkeys(("py", "python", Language.PYTHON), Language.PYTHON),
    **dict.fromkeys(("cpp", "c++", Language.CPP), Language.CPP),
}


class CPPTimer:
    """Like `timeit.Timer`, of a statement in C++, compiled at its first measurement."""

    def __init__(self, stmt: str, setup: str, global_setup: str, timer: Callable[[], float],
                 globals: dict[str, Any]) -> None:  # fmt: skip
        if timer is not timeit.default_timer:
            raise NotImplementedError(
                "Timer: C++ statements are timed by the compiled program; leave timer out"
            )
        if globals:
            raise ValueError("Timer: a C++ statement can't see globals; use setup or global_setup")
        self._parts = {"stmt": stmt, "setup": setup, "global_setup": global_setup}
        self._run: Callable[[int], float] | None = None

    def timeit(self, number: int) -> float:
        """The seconds that `number` runs take."""
        if self._run is None:
            from tl_utils.benchmark.utils import cpp_jit

            self._run = cpp_jit.compile_timeit_template(**self._parts).timeit
        return self._run(number)


def _dedent(text: str) -> str:
    if "\n" not in text:
        return text.lstrip(" \t").rstrip()
    return textwrap.dedent(text).removeprefix("\n").rstrip()


class Timer:
    """Measures the time of a statement, with warm-up, replicates and a set number of threads.

    In Python statements, `torch` and `tl` name this library, unless `globals` defines them.

    Args:
        stmt: the statement, one line or several.
        setup: the code that runs once before each measurement.
        global_setup: what stands at the top of the file of a C++ statement, such as `#include`.
        timer: a function that returns the time in seconds.
        globals: names that the statement sees.
        label: the task's name, such as `matmul`.
        sub_label: the name of the task among tasks of one label, which is a row of a table.
        description: the name of a variant of the task, which is a column of a table.
        env: where it runs, such as a branch.
        num_threads: how many threads operators may use.
        language: of the statement: `"python"` or `"c++"`.

    Raises:
        TypeError: `stmt` or `setup` isn't a text.
        ValueError: `language` is unknown.

    Example:
        >>> timer = Timer("x + y", setup="x = torch.ones(10); y = torch.ones(10)")
        >>> 0.0 < timer.timeit(100).median < 1.0
        True
    """

    _timer_cls: Any = timeit.Timer

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
                 timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None, label: str | None = None,
                 sub_label: str | None = None, description: str | None = None, env: str | None = None,
                 num_threads: int = 1, language: Language | str = Language.PYTHON) -> None:  # fmt: skip
        if not isinstance(stmt, str) or not isinstance(setup, str):
            raise TypeError(
                f"Timer(): stmt and setup must be texts, got {type(stmt).__name__} and {type(setup).__name__}"
            )
        if language not in _LANGUAGES:
            raise ValueError(f"Timer(): language must be 'python' or 'c++', got {language!r}")
        self._language, self._globals = _LANGUAGES[language], dict(globals or {})
        arguments: dict[str, Any] = {"timer": timer}
        if self._language is Language.PYTHON:
            if global_setup:
                raise ValueError(f"Timer(): global_setup is for C++, got {global_setup!r}; use setup")
            self._add_library()
            arguments["globals"] = CopyIfCallgrind.unwrap_all(self._globals)
            timer_class = self._timer_cls
        else:
            setup = "" if setup == "pass" else setup
            arguments |= {"globals": self._globals, "global_setup": _dedent(global_setup)}
            timer_class = CPPTimer
        stmt, setup = _dedent(stmt), _dedent(setup)
        self._timer = timer_class(stmt=stmt, setup=setup, **arguments)
        self._task_spec = common.TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _add_library(self) -> None:
        library = sys.modules.get("tl", tl_core)
        for name in ("torch", "tl"):
            self._globals.setdefault(name, library)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), _SMALLEST)

    def timeit(self, number: int = 1000000) -> common.Measurement:
        """Measures once, after a warm-up.

        Args:
            number: how often the statement runs.

        Returns:
            Measurement
        """
        with common.set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return common.Measurement(number, [self._timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Not there: `blocked_autorange` measures several times.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("Timer.repeat: use Timer.blocked_autorange, which measures several times")

    def autorange(self, callback: Callable[[int, float], NoReturn] | None = None) -> None:
        """Not there: `blocked_autorange` finds out how often to run.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("Timer.autorange: use Timer.blocked_autorange")

    def _block_size(self, min_run_time: float) -> int:
        """The number of runs a block, so that reading the clock doesn't count. It warms up too."""
        with common.set_torch_threads(self._task_spec.num_threads):
            overhead = median(self._timeit(0) for _ in range(5))
            number = 1
            while True:
                time = self._timeit(number)
                long_enough = overhead <= _OVERHEAD * time and time >= min_run_time / _SHARES
                if long_enough or time > min_run_time or number * 10 > _LARGEST_BLOCK:
                    return number
                number *= 10

    def _measure(self, number: int, enough: Callable[[list[float]], bool], min_run_time: float,
                 max_run_time: float | None, callback: Callable[[int, float], NoReturn] | None
                 ) -> common.Measurement:  # fmt: skip
        times: list[float] = []
        total, is_enough = 0.0, False
        with common.set_torch_threads(self._task_spec.num_threads):
            while total < min_run_time or not is_enough:
                time = self._timeit(number)
                times.append(time)
                total += time
                if callback is not None:
                    callback(number, time)
                is_enough = enough(times)
                if max_run_time is not None and total > max_run_time:
                    break
        return common.Measurement(number, times, self._task_spec)

    def blocked_autorange(self, callback: Callable[[int, float], NoReturn] | None = None,
                          min_run_time: float = 0.2) -> common.Measurement:  # fmt: skip
        """Measures blocks of runs until `min_run_time` seconds have passed.

        A block is as many runs as it takes for the clock not to matter: reading it takes less than 1/10,000 of the
        block. Finding that out warms up.

        Args:
            callback: called after each block with the number of runs and their time.
            min_run_time: seconds, over all blocks.

        Returns:
            Measurement, with the time of each block.
        """
        return self._measure(self._block_size(min_run_time), lambda times: True, min_run_time, None, callback)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
                           callback: Callable[[int, float], NoReturn] | None = None
                           ) -> common.Measurement:  # fmt: skip
        """Measures blocks of runs until they agree: the interquartile range is below `threshold` of the median.

        Args:
            threshold: the share at which it stops.
            min_run_time: seconds that it measures at least.
            max_run_time: seconds after which it stops anyhow.
            callback: called after each block with the number of runs and their time.

        Returns:
            Measurement, with the time of each block.
        """
        number = self._block_size(0.05)

        def enough(times: list[float]) -> bool:
            measured = common.Measurement(number, times, self._task_spec)
            return len(times) > 3 and measured.meets_confidence(threshold)

        return self._measure(number, enough, min_run_time, max_run_time, callback)

    @overload
    def collect_callgrind(self, number: int, *, repeats: None, collect_baseline: bool, retain_out_file: bool
                          ) -> CallgrindStats: ...  # fmt: skip

    @overload
    def collect_callgrind(self, number: int, *, repeats: int, collect_baseline: bool, retain_out_file: bool
                          ) -> tuple[CallgrindStats, ...]: ...  # fmt: skip

    def collect_callgrind(self, number: int = 100, *, repeats: int | None = None, collect_baseline: bool = True,
                          retain_out_file: bool = False) -> Any:  # fmt: skip
        """Counts the instructions of the statement by running it under valgrind's Callgrind, in a process of its own.

        Counts hardly vary from run to run, which times do. Values that the process needs are handed over explicitly:
        wrap them in `CopyIfCallgrind`.

        Args:
            number: how often the statement runs.
            repeats: the number of counts. None means one.
            collect_baseline: whether an empty loop is counted too, to be subtracted.
            retain_out_file: whether the result keeps the text of Callgrind's file.

        Returns:
            CallgrindStats, or a tuple of them with `repeats`.

        Raises:
            OSError: valgrind isn't installed, or the process failed.
            ValueError: a value of `globals` isn't wrapped.
        """
        if not isinstance(self._timer, (timeit.Timer, CPPTimer)):
            raise ValueError("collect_callgrind: this timer's statement is run by a class of its own")
        from tl_utils.benchmark.utils.valgrind_wrapper.timer_interface import wrapper_singleton

        with common.set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))  # errors show here, where they are easier to understand
        stats = wrapper_singleton().collect_callgrind(
            self._task_spec,
            self._globals,
            number=number,
            repeats=1 if repeats is None else repeats,
            collect_baseline=collect_baseline and self._language is Language.PYTHON,
            is_python=self._language is Language.PYTHON,
            retain_out_file=retain_out_file,
        )
        return stats[0] if repeats is None else stats
