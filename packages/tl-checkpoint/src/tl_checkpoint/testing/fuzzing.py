"""Loads many damaged and forged files, each in a process with limits, and counts the results.

A fault is a crash, a hang, an error of an unexpected type, more memory than the size of the file and 64 MB, a forbidden
call, or a value that changed unnoticed. A file follows from the seed of the run and its own number, so
`--first N --count 1` repeats one file.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import functools
import mmap
import os
import pickle
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tl_core as tl
from tl_checkpoint.testing.damage import DAMAGE

__all__ = [
    *(
        "ANNOUNCED",
        "Case",
        "GoodFile",
        "Hang",
        "draw_case",
        "forbid_calls",
        "load_case",
        "main",
        "run",
        "run_batch",
    ),
    "snapshot",
]

BATCH = 500
SECONDS = 5
MEMORY = 64 << 20
UNLIMITED = 1 << 40
ANNOUNCED = (pickle.UnpicklingError, RuntimeError, ValueError)
FORBIDDEN = (
    *(
        "os.",
        "subprocess.",
        "socket.",
        "shutil.",
        "ctypes.",
        "import",
        "exec",
        "compile",
        "code.",
        "marshal.",
    ),
    "open",
)


def snapshot(obj: Any) -> Any:
    """The value of an object in a form that `==` compares bit by bit.

    Args:
        obj: a tensor, an array, a container or any object with a `repr`.

    Example:
        >>> import tl_core as tl
        >>> snapshot([tl.zeros(2)]) == snapshot([tl.zeros(2)]), snapshot(tl.zeros(2)) == snapshot(-tl.zeros(2))
        (True, False)
    """
    if isinstance(obj, tl.Tensor) and obj.is_sparse:
        return (
            "sparse",
            tuple(obj.shape),
            obj.is_coalesced(),
            snapshot(obj._indices()),
            snapshot(obj._values()),
        )
    if isinstance(obj, tl.Tensor):
        flat = obj.detach().resolve_conj().resolve_neg().contiguous().view(-1)
        content = bytes(memoryview(flat.view(tl.uint8))) if flat.numel() else b""
        return "tensor", type(obj).__name__, str(obj.dtype), tuple(obj.shape), obj.requires_grad, content
    if isinstance(obj, dict):
        return type(obj).__name__, [(snapshot(k), snapshot(v)) for k, v in obj.items()]
    if isinstance(obj, (list, tuple)):
        return type(obj).__name__, [snapshot(part) for part in obj]
    if hasattr(obj, "tobytes"):
        return "array", str(obj.dtype), obj.shape, obj.tobytes()
    return type(obj).__name__, repr(obj)


@dataclass(frozen=True)
class GoodFile:
    """A valid file and the functions that load and forge it.

    Args:
        name: the name of the file in results.
        data: the bytes of the file.
        load: returns the content of a file.
        forge: returns a forged file.
        content: the content of the file, as `describe` returns it.
        is_covered: whether checksums cover the whole file.
        damage_share: the share of damaged files. All others are forged.
        describe: returns the content in a form that `==` compares.
        is_harmless: whether an audit event during a load is allowed.
        seconds: the processor time that a load may take.
    """

    name: str
    data: bytes
    load: Callable[[bytes], Any]
    forge: Callable[[bytes, random.Random], bytes]
    content: Any
    is_covered: bool
    damage_share: float = 0.6
    describe: Callable[[Any], Any] = snapshot
    is_harmless: Callable[[str, tuple[Any, ...]], bool] = lambda event, arguments: False
    seconds: float = SECONDS


@dataclass(frozen=True)
class Case:
    """One damaged or forged file.

    Args:
        source: the valid file.
        data: the bytes of the damaged or forged file.
        method: the name of the function that damaged or forged the file.
        is_damage: whether the file is damaged. The values of a damaged file must not change.
    """

    source: GoodFile
    data: bytes
    method: str
    is_damage: bool


def draw_case(files: list[GoodFile], seed: int, number: int) -> Case:
    """The file of a number.

    Args:
        files: the valid files.
        seed: the seed of the run.
        number: the number of the file.
    """
    rng = random.Random(seed * 10**9 + number)
    source = rng.choice(files)
    if rng.random() < source.damage_share:
        function = rng.choice(DAMAGE)
        return Case(source, function(source.data, rng), function.__name__, True)
    data = source.forge(source.data, rng)
    if rng.random() < 0.2:
        data = rng.choice(DAMAGE)(data or b"x", rng)
    return Case(source, data, source.forge.__name__, False)


class Hang(BaseException):
    """A load exceeds the time limit."""


def load_case(case: Case, limit_memory: Callable[[int], None], is_loading: list[bool]) -> str:
    """Loads a file and returns "refused", "same", "other", "changed, no checksum" or the name of a fault.

    Args:
        case: the file.
        limit_memory: allows the process as many further bytes.
        is_loading: its only item is True during the load.
    """
    limit_memory(len(case.data))
    signal.setitimer(signal.ITIMER_PROF, case.source.seconds)  # processor time: a busy machine causes no hang
    try:
        is_loading[0] = True
        result = case.source.load(case.data)
    except ANNOUNCED as error:
        return f"FAULT memory: {error}" if isinstance(error, tl.OutOfMemoryError) else "refused"
    except Hang:
        return "FAULT hang"
    except BaseException as error:
        return f"FAULT {type(error).__name__}: {error}"
    finally:
        is_loading[0] = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        limit_memory(UNLIMITED)
    if not case.is_damage:
        return "other"
    if case.source.describe(result) == case.source.content:
        return "same"
    return "FAULT changed" if case.source.is_covered else "changed, no checksum"


def forbid_calls(
    is_loading: list[bool],
    is_harmless: Callable[[str, tuple[Any, ...]], bool] = lambda event, arguments: False,
) -> None:
    """Ends this process, from now on, at a call that a file could ask for while it loads.

    Args:
        is_loading: its only item is True during a load.
        is_harmless: whether an audit event, by its name and arguments, is allowed.
    """

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if is_loading[0] and event.startswith(FORBIDDEN) and not is_harmless(event, arguments):
            os.write(2, f"{event} {arguments!r}\n".encode())
            os._exit(77)

    sys.addaudithook(watch)


def _memory_limiter() -> Callable[[int], None]:
    """A function that allows the process as many bytes more than it has."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]

    def limit(size: int) -> None:
        if size >= UNLIMITED:
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
            return
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * mmap.PAGESIZE + size + MEMORY, hard))

    return limit


def _load_batch(files: list[GoodFile], seed: int, numbers: range, progress: mmap.mmap, output: int) -> None:
    """Loads files in a child process and writes the counts and the faults."""

    def ring(signal_number: int, frame: Any) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, ring)
    warnings.simplefilter("ignore")
    faulthandler.disable()  # the parent reports a crash
    limit_memory = _memory_limiter()
    for file in files:
        file.load(file.data)
    is_loading = [False]
    forbid_calls(is_loading, files[0].is_harmless)
    counts: Counter[str] = Counter()
    faults = []
    for number in numbers:
        progress[:8] = struct.pack("<Q", number)
        case = draw_case(files, seed, number)
        result = load_case(case, limit_memory, is_loading)
        counts[f"{case.source.name} {'damage' if case.is_damage else 'forgery'} {result.split(':')[0]}"] += 1
        if result.startswith("FAULT"):
            faults.append(f"{number} {case.source.name} {case.method}: {result}"[:300])
    with open(output, "wb", closefd=False) as stream:
        pickle.dump((counts, faults), stream)


def run_batch(files: list[GoodFile], seed: int, numbers: range) -> tuple[Counter[str], list[str]]:
    """Loads the files of some numbers in a child process. A crash is a fault, and the next file gets a new process.

    Args:
        files: the valid files.
        seed: the seed of the run.
        numbers: the numbers of the files.

    Returns:
        The number of files by result, and a line for each fault.
    """
    progress = mmap.mmap(-1, 8)
    progress[:8] = struct.pack("<Q", numbers.start)
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):  # nothing may return into the parent's code
                _load_batch(files, seed, numbers, progress, output.fileno())
                os._exit(0)
            os._exit(78)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            output.seek(0)
            return pickle.load(output)
    (number,) = struct.unpack("<Q", progress[:8])
    counts: Counter[str] = Counter({"FAULT crash": 1})
    faults = [f"{number} {draw_case(files, seed, number).method}: FAULT crash, status {status}"]
    for part in (range(numbers.start, number), range(number + 1, numbers.stop)):
        if part:
            more_counts, more_faults = run_batch(files, seed, part)
            counts += more_counts
            faults += more_faults
    return counts, faults


def run(
    files: list[GoodFile],
    count: int,
    seed: int,
    first: int = 0,
    report: Callable[[str], Any] = lambda text: None,
) -> tuple[Counter[str], list[str]]:
    """Loads many damaged and forged files.

    Args:
        files: the valid files.
        count: the number of files to load.
        seed: the seed of the run.
        first: the number of the first file.
        report: receives a line for each fault and a line of progress for every 10,000 files.

    Returns:
        The number of files by result, and a line for each fault.
    """
    counts: Counter[str] = Counter()
    faults: list[str] = []
    start = time.monotonic()
    for at in range(first, first + count, BATCH):
        more_counts, more_faults = run_batch(files, seed, range(at, min(at + BATCH, first + count)))
        counts += more_counts
        faults += more_faults
        for text in more_faults:
            report(text)
        if at // BATCH % 20 == 19:
            report(f"{at + BATCH - first} files, {len(faults)} faults, {time.monotonic() - start:.0f} s")
    return counts, faults


def main(files: list[GoodFile], count: int, description: str | None = None) -> int:
    """Reads `--count`, `--seed` and `--first`, loads the files and prints the counts.

    Args:
        files: the valid files.
        count: the number of files to load without `--count`.
        description: the text of `--help`.

    Returns:
        The exit status of the program: 1 if there is a fault.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    counts, faults = run(
        files, options.count, options.seed, options.first, functools.partial(print, flush=True)
    )
    for result, number in sorted(counts.items()):
        print(f"{number:9d}  {result}")
    print(f"{options.count} files, {len(faults)} faults")
    return 1 if faults else 0
