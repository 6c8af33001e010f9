"""Runs statements under Callgrind, and their counts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tl_utils.benchmark.utils import common
from tl_utils.benchmark.utils.valgrind_wrapper import callgrind_file
from tl_utils.benchmark.utils.valgrind_wrapper.copies import CopyIfCallgrind, GlobalsBridge
from tl_utils.benchmark.utils.valgrind_wrapper.function_counts import FunctionCount, FunctionCounts

__all__ = ["CallgrindStats", "CopyIfCallgrind", "FunctionCount", "FunctionCounts"]

# The path of a build, which is independent of its code.
_PREFIXES = (
    (re.compile(r"^.+build/\.\./"), "build/../"),
    (re.compile(r"^.+/(?=build/aten/)"), ""),
    (re.compile(r"^.+/(?=(Python|Objects|Modules|Include|Parser)/)"), ""),
    (re.compile(r"^.+/tl-\w+/(?=(csrc|include)/)"), ""),
)
_LIBRARY = re.compile(r"\s\[.+\]$")
_PROCESS = "tl_utils.benchmark.utils.valgrind_wrapper.process"


def _standard(function: str) -> str:
    for prefix, replacement in _PREFIXES:
        function = prefix.sub(replacement, function)
    return _LIBRARY.sub("", function)


@dataclass(repr=False, eq=False, frozen=True)
class CallgrindStats:
    """The instructions that Callgrind counted for a statement.

    Args:
        task_spec: the specification of the task.
        number_per_run: how often the statement ran.
        built_with_debug_symbols: whether the library's functions are known by file.
        baseline_inclusive_stats: an empty loop, by function and all that it calls.
        baseline_exclusive_stats: an empty loop, by function alone.
        stmt_inclusive_stats: the statement's loop, by function and all that it calls.
        stmt_exclusive_stats: the statement's loop, by function alone.
        stmt_callgrind_out: the text of Callgrind's file, if it was kept.

    Example:
        >>> from tl_utils.benchmark import Timer
        >>> stats = Timer("x + 1", "x = 1").collect_callgrind()  # doctest: +SKIP
        >>> stats.counts()  # doctest: +SKIP
    """

    task_spec: common.TaskSpec
    number_per_run: int
    built_with_debug_symbols: bool
    baseline_inclusive_stats: FunctionCounts
    baseline_exclusive_stats: FunctionCounts
    stmt_inclusive_stats: FunctionCounts
    stmt_exclusive_stats: FunctionCounts
    stmt_callgrind_out: str | None

    def stats(self, inclusive: bool = False) -> FunctionCounts:
        """The counts by function.

        Args:
            inclusive: whether a function's count includes those that it calls. If not, the empty loop is subtracted.
        """
        return self.stmt_inclusive_stats if inclusive else self.stmt_exclusive_stats

    def counts(self, *, denoise: bool = False) -> int:
        """All instructions, without the instructions of the empty loop.

        Args:
            denoise: whether to apply `FunctionCounts.denoise`.
        """
        stats = self.stats()
        return (stats.denoise() if denoise else stats).sum()

    def delta(self, other: CallgrindStats, inclusive: bool = False) -> FunctionCounts:
        """The difference to another count, by function.

        Args:
            other: the count to subtract.
            inclusive: whether a function's count includes those that it calls.
        """
        return self.stats(inclusive=inclusive) - other.stats(inclusive=inclusive)

    def as_standardized(self) -> CallgrindStats:
        """Without names of libraries and of the folders in which they were built, so that builds can be compared."""
        return CallgrindStats(
            self.task_spec,
            self.number_per_run,
            self.built_with_debug_symbols,
            self.baseline_inclusive_stats.transform(_standard),
            self.baseline_exclusive_stats.transform(_standard),
            self.stmt_inclusive_stats.transform(_standard),
            self.stmt_exclusive_stats.transform(_standard),
            None,  # it names the functions as they were
        )

    def __repr__(self) -> str:
        baseline = self.baseline_exclusive_stats
        threads = self.task_spec.num_threads
        lines = [
            f"<torch.utils.benchmark.utils.valgrind_wrapper.timer_interface.CallgrindStats object at {id(self):#x}>",
            self.task_spec.summarize(),
            f"{'All':>30}{'Noisy symbols removed':>31}",
            f"    Instructions:{self.counts():>13}{self.counts(denoise=True):>27}",
            f"    Baseline:{baseline.sum():>17}{baseline.denoise().sum():>27}",
            f"{self.number_per_run} runs per measurement, {threads} thread{'s' if threads > 1 else ''}",
        ]
        if not self.built_with_debug_symbols:
            lines.append("The library was built without debug symbols: its source files are unknown.")
        return "\n".join(lines)


_Counts = tuple[FunctionCounts, FunctionCounts, str]


class _ValgrindWrapper:
    """Starts processes under valgrind. A singleton."""

    _bindings_module = None

    def __init__(self) -> None:
        self._valgrind = shutil.which("valgrind")

    def _program(self) -> str:
        if self._valgrind is None:
            raise OSError(
                "collect_callgrind: valgrind isn't installed or not on the PATH (apt-get install valgrind)"
            )
        return self._valgrind

    def collect_callgrind(self, task_spec: common.TaskSpec, globals: dict[str, Any], *, number: int, repeats: int,
                          collect_baseline: bool, is_python: bool, retain_out_file: bool
                          ) -> tuple[CallgrindStats, ...]:  # fmt: skip
        """Counts `repeats` times."""
        if number < 1 or repeats < 1:
            raise ValueError(
                f"collect_callgrind: number and repeats must be positive, got {number} and {repeats}"
            )
        counts = self._invoke(task_spec, globals, number, repeats, collect_baseline, is_python)
        empty = FunctionCounts((), True), FunctionCounts((), False), ""
        baseline = counts.pop(0) if collect_baseline else empty
        symbols = any("tl_core" in fn and not fn.startswith("???") for _, fn in counts[0][1])
        return tuple(
            CallgrindStats(task_spec, number, symbols, baseline[0], baseline[1], inclusive, exclusive,
                           text if retain_out_file else None)
            for inclusive, exclusive, text in counts
        )  # fmt: skip

    def _invoke(self, task_spec: common.TaskSpec, globals: dict[str, Any], number: int, repeats: int,
                collect_baseline: bool, is_python: bool) -> list[_Counts]:  # fmt: skip
        valgrind = self._program()
        copied = {k: v for k, v in globals.items() if k not in ("torch", "tl")}
        with tempfile.TemporaryDirectory(prefix="tl_callgrind_") as name:
            folder = Path(name)
            task = {
                "stmt": task_spec.stmt,
                "setup": task_spec.setup or "pass",
                "number": number,
                "repeats": repeats,
                "baseline": collect_baseline,
                "num_threads": task_spec.num_threads,
                "library": "tl" if "tl" in sys.modules else "tl_core",
                "alias": sys.modules.get("torch") is not None
                and sys.modules.get("torch") is sys.modules.get("tl"),
                "globals": GlobalsBridge(copied, name).construct(),
                "program": "" if is_python else _compile(task_spec),
            }
            (folder / "task.json").write_text(json.dumps(task))
            _run([valgrind, *_options(folder), *_command(folder)], folder)
            return [_read(folder / f"out.{i + 1}") for i in range(repeats + collect_baseline)]


def _options(folder: Path) -> list[str]:
    options = [
        "--tool=callgrind",
        f"--callgrind-out-file={folder / 'out'}",
        "--dump-line=yes",
        "--dump-instr=no",
    ]
    return [*options, "--instr-atstart=yes", "--collect-atstart=no", f"--log-file={folder / 'log'}"]


def _command(folder: Path) -> list[str]:
    return [sys.executable, "-m", _PROCESS, str(folder / "task.json"), str(folder / "error")]


def _run(command: list[str], folder: Path) -> None:
    # A fixed seed of hashes: otherwise each process would need other numbers of probes.
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": path}
    process = subprocess.run(command, env=environment, capture_output=True, text=True)
    error = folder / "error"
    if process.returncode or error.exists():
        log = folder / "log"
        messages = [f.read_text(errors="replace") for f in (error, log) if f.exists()] or [process.stderr]
        raise OSError(
            f"collect_callgrind: the process under valgrind failed ({process.returncode}):\n{messages[0]}"
        )


def _read(path: Path) -> _Counts:
    inclusive, exclusive = callgrind_file.read(path)
    of = FunctionCounts._from_dict
    return of(inclusive, True), of(exclusive, False), path.read_text(errors="replace")


def _compile(task_spec: common.TaskSpec) -> str:
    from tl_utils.benchmark.utils import cpp_jit

    return cpp_jit.compile_callgrind_template(
        stmt=task_spec.stmt, setup=task_spec.setup, global_setup=task_spec.global_setup
    )


@cache
def wrapper_singleton() -> _ValgrindWrapper:
    """The one wrapper."""
    return _ValgrindWrapper()
