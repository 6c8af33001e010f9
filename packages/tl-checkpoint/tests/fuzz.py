"""Loads many damaged and forged files: `python fuzz.py --count 200000 --seed 1`.

Prints a line of counts, and a line for every fault: a crash, a hang, an error of a kind that nobody announced, more
memory than the file's size and 64 MB, a call of something forbidden, or a value that changed unseen. The exit status is
1 if there was one. Each file is derived from the seed and its number alone: `--first N --count 1` repeats it.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import faulthandler
import functools
import io
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
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

sys.path.insert(0, str(Path(__file__).parent))

import mutation

import tl_checkpoint
import tl_core as tl
from tl_checkpoint import npz, safetensors

DATA = Path(__file__).parent / "data"
BATCH = 500
SECONDS = 5
MEMORY = 64 << 20
ANNOUNCED = (pickle.UnpicklingError, RuntimeError, ValueError)


def meaning(obj: Any) -> Any:
    """An object in a form that can be compared, bit by bit."""
    if isinstance(obj, tl.Tensor) and obj.is_sparse:
        return "sparse", tuple(obj.shape), obj.is_coalesced(), meaning(obj._indices()), meaning(obj._values())
    if isinstance(obj, tl.Tensor):
        flat = obj.detach().resolve_conj().resolve_neg().contiguous().view(-1)
        content = bytes(memoryview(flat.view(tl.uint8))) if flat.numel() else b""
        return "tensor", type(obj).__name__, str(obj.dtype), tuple(obj.shape), obj.requires_grad, content
    if isinstance(obj, dict):
        return type(obj).__name__, [(meaning(k), meaning(v)) for k, v in obj.items()]
    if isinstance(obj, (list, tuple)):
        return type(obj).__name__, [meaning(part) for part in obj]
    if hasattr(obj, "tobytes"):
        return "array", str(obj.dtype), obj.shape, obj.tobytes()
    return type(obj).__name__, repr(obj)


@dataclass(frozen=True)
class Seed:
    """A good file, how it is loaded, what it holds, and whether checksums cover all of it."""

    name: str
    data: bytes
    load: Callable[[bytes], Any]
    forge: Callable[[bytes, random.Random], bytes]
    meaning: Any
    covered: bool
    damaged: float = 0.6  # the share of files that are damaged; the others are forged
    describe: Callable[[Any], Any] = meaning
    harmless: Callable[[str, tuple[Any, ...]], bool] = lambda event, arguments: False  # of what `forbid` sees


def load_archive(data: bytes) -> Any:
    """What a .pt file holds."""
    return tl_checkpoint.load(io.BytesIO(data))


def load_arrays(data: bytes) -> Any:
    """What an .npz file holds."""
    return npz.load_npz(io.BytesIO(data))


def packed(path: Path) -> bytes:
    """An archive with compressed records."""
    file = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info.filename, old.read(info))
    return file.getvalue()


def arrays() -> bytes:
    """An .npz file."""
    file = io.BytesIO()
    numpy.savez(
        file, a=numpy.arange(12.0).reshape(3, 4), b=numpy.array([True, False]), c=numpy.arange(5, dtype=">i2")
    )
    return file.getvalue()


def seeds() -> list[Seed]:
    """The good files: written here, and by the reference."""
    rng = random.Random(0)
    state = {
        "weight": tl.tensor([[rng.random() for _ in range(9)] for _ in range(7)]),
        "bias": tl.tensor([rng.random() for _ in range(9)], dtype=tl.float64),
        "half": tl.tensor([1.5, -2], dtype=tl.bfloat16),
        "flags": tl.tensor([True, False]),
        "wide": tl.tensor([65535], dtype=tl.uint16),
        "scalar": tl.tensor(3),
        "empty": tl.empty(0, 4),
    }
    shared = tl.arange(300)
    rich = {
        "step": 7,
        "lr": 0.1,
        "nested": {"a": [shared, shared[3:9], (shared[::2],)]},
        "sparse": tl.sparse_coo_tensor([[0, 2], [1, 0]], [3.0, 4.0], (3, 2)),
        "text": "ü",
        "w": state,
    }
    file, plain = io.BytesIO(), {"a": tl.arange(40.0), "b": tl.arange(7)}
    tl_checkpoint.save(rich, file)
    tensors, bare = safetensors.save(state), safetensors.save(plain, checksums=False)
    made = [
        ("tl.pt", file.getvalue(), load_archive, mutation.forged_archive, True),
        ("tl.safetensors", tensors, safetensors.load, mutation.forged_header, True),
        ("arrays.npz", arrays(), load_arrays, mutation.forged_arrays, True),
        ("bare.safetensors", bare, safetensors.load, mutation.forged_header, False),
    ]
    made.append(("packed.pt", packed(DATA / "reference.pt"), load_archive, mutation.forged_archive, True))
    made += [
        (name, (DATA / name).read_bytes(), load_archive, mutation.forged_archive, name == "reference.pt")
        for name in ("reference.pt", "old.pt")
    ]
    return [
        Seed(name, data, load, forge, meaning(load(data)), covered)
        for name, data, load, forge, covered in made
    ]


@dataclass(frozen=True)
class Case:
    """One file: what it was made of, and whether it is damage, whose values must not change."""

    seed: Seed
    data: bytes
    how: str
    is_damage: bool


def case(all_seeds: list[Seed], seed: int, number: int) -> Case:
    """The file of that number."""
    rng = random.Random(seed * 10**9 + number)
    chosen = rng.choice(all_seeds)
    if rng.random() < chosen.damaged:
        function = rng.choice(mutation.DAMAGE)
        return Case(chosen, function(chosen.data, rng), function.__name__, True)
    forged = (
        chosen.forge(chosen.data, rng)
        if chosen.name != "old.pt"
        else mutation.forged_pickle(chosen.data, rng)
    )
    if rng.random() < 0.2:
        forged = rng.choice(mutation.DAMAGE)(forged or b"x", rng)
    return Case(chosen, forged, chosen.forge.__name__, False)


class Hang(BaseException):
    """A file took too long."""


def outcome(one: Case, limit: Callable[[int], None], loading: list[bool]) -> str:
    """What became of a file: "refused", "same", "other", or the name of a fault."""
    limit(len(one.data))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of work: waiting for a busy machine is no hang
    try:
        loading[0] = True
        loaded = one.seed.load(one.data)
    except ANNOUNCED as error:
        out_of_memory = isinstance(error, tl.OutOfMemoryError)
        return f"FAULT memory: {error}" if out_of_memory else "refused"
    except Hang:
        return "FAULT hang"
    except BaseException as error:
        return f"FAULT {type(error).__name__}: {error}"
    finally:
        loading[0] = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        limit(1 << 40)
    if not one.is_damage:
        return "other"
    same = one.seed.describe(loaded) == one.seed.meaning
    return "same" if same else "FAULT changed" if one.seed.covered else "changed, no checksum"


def forbid(
    loading: list[bool], harmless: Callable[[str, tuple[Any, ...]], bool] = lambda event, arguments: False
) -> None:
    """Ends the process at anything that a file could want to run while it is loaded."""
    never = (
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
        "open",
    )

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if loading[0] and event.startswith(never) and not harmless(event, arguments):
            os.write(2, f"{event} {arguments!r}\n".encode())
            os._exit(77)

    sys.addaudithook(watch)


def limiter() -> Callable[[int], None]:
    """A function that lets the process have so many bytes more than it has now."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]

    def limit(size: int) -> None:
        if size >= 1 << 40:
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
            return
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * mmap.PAGESIZE + size + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))

    return limit


def work(all_seeds: list[Seed], seed: int, numbers: range, progress: mmap.mmap, output: int) -> None:
    """Loads files in a process of its own; writes what became of them."""

    def ring(signal_number: int, frame: Any) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, ring)
    warnings.simplefilter("ignore")
    faulthandler.disable()  # what dies is told by the parent
    limit = limiter()
    for s in all_seeds:
        s.load(s.data)
    loading = [False]
    forbid(loading, all_seeds[0].harmless)
    counts: collections.Counter[str] = collections.Counter()
    faults = []
    for number in numbers:
        progress[:8] = struct.pack("<Q", number)
        one = case(all_seeds, seed, number)
        result = outcome(one, limit, loading)
        counts[f"{one.seed.name} {'damage' if one.is_damage else 'forgery'} {result.split(':')[0]}"] += 1
        if result.startswith("FAULT"):
            faults.append(f"{number} {one.seed.name} {one.how}: {result}"[:300])
    with open(output, "wb", closefd=False) as file:
        pickle.dump((counts, faults), file)


def batch(all_seeds: list[Seed], seed: int, numbers: range) -> tuple[collections.Counter[str], list[str]]:
    """A process's share; one that dies is a fault, and the rest goes on after the file that killed it."""
    progress = mmap.mmap(-1, 8)
    progress[:8] = struct.pack("<Q", numbers.start)
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                work(all_seeds, seed, numbers, progress, output.fileno())
                os._exit(0)
            os._exit(78)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            output.seek(0)
            return pickle.load(output)
    (number,) = struct.unpack("<Q", progress[:8])
    before, after = range(numbers.start, number), range(number + 1, numbers.stop)
    counts: collections.Counter[str] = collections.Counter({"FAULT crash": 1})
    faults = [f"{number} {case(all_seeds, seed, number).how}: FAULT crash, status {status}"]
    for part in (before, after):
        if part:
            more, further = batch(all_seeds, seed, part)
            counts += more
            faults += further
    return counts, faults


def run(
    count: int,
    seed: int,
    first: int = 0,
    tell: Callable[[str], Any] = lambda text: None,
    make_seeds: Callable[[], list[Seed]] = seeds,
) -> tuple[collections.Counter[str], list[str]]:
    """Loads `count` files; returns how many came to what, and the faults."""
    all_seeds = make_seeds()
    counts: collections.Counter[str] = collections.Counter()
    faults: list[str] = []
    started = time.monotonic()
    for at in range(first, first + count, BATCH):
        more, further = batch(all_seeds, seed, range(at, min(at + BATCH, first + count)))
        counts += more
        faults += further
        for text in further:
            tell(text)
        if at // BATCH % 20 == 19:
            tell(f"{at + BATCH - first} files, {len(faults)} faults, {time.monotonic() - started:.0f} s")
    return counts, faults


def main(make_seeds: Callable[[], list[Seed]] = seeds, count: int = 200_000) -> int:
    """Reads the arguments, and prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    tell = functools.partial(print, flush=True)
    counts, faults = run(options.count, options.seed, options.first, tell, make_seeds)
    for what, number in sorted(counts.items()):
        print(f"{number:9d}  {what}")
    print(f"{options.count} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
