"""Loads damaged checkpoint directories: `python fuzz_directories.py --count 200000`.

Of one file a few bytes are changed, deleted, inserted, or copied from elsewhere in it. What is loaded then must be
refused with CheckpointException, or be what was saved. Directories of the reference have no checksum in their metadata:
other values are counted there, not faults. Memory is bounded, and no load may take long.
"""

from __future__ import annotations

import argparse
import collections
import random
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tl_checkpoint.distributed as sharded
import tl_core as tl
from tl_checkpoint.distributed.default_planner import WholeLoadPlanner
from tl_checkpoint.distributed.state_dict_loader import _load_state_dict

DATA = Path(__file__).parent / "data"
LONGEST = 5.0  # seconds of the processor, which a busy machine doesn't lengthen
MEMORY = 4 << 30  # more than there is at the start, where a sanitizer may have taken a lot
FORGED = (b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7)


def whole(folder: Path) -> dict[str, Any]:
    """All that a directory holds."""
    state: dict[str, Any] = {}
    _load_state_dict(state, sharded.FileSystemReader(folder), planner=WholeLoadPlanner())
    return state


def damaged(good: bytes, draw: random.Random) -> bytes:
    """The bytes with some of them changed."""
    data = bytearray(good)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        at, kind = draw.randrange(len(data)), draw.randrange(6)
        if kind == 0:
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            data[at] = draw.randrange(256)
        elif kind == 2:
            del data[at : at + draw.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = draw.randbytes(draw.randrange(1, 9))
        elif kind == 4:
            elsewhere = draw.randrange(len(good))
            data[at : at + 8] = good[elsewhere : elsewhere + 8]
        else:
            data[at : at + 8] = draw.choice(FORGED)
        data = data or bytearray(b"x")
    return bytes(data)


def run(source: Path, count: int, seed: int, has_checksums: bool) -> collections.Counter[str]:
    """Damages and loads so often; counts what happened, "fault" among it."""
    draw, counts = random.Random(seed), collections.Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(shutil.copytree(source, Path(scratch) / "x"))
        files, right = {path: path.read_bytes() for path in sorted(folder.iterdir())}, str(whole(folder))
        for _ in range(count):
            path = draw.choice(list(files))
            path.write_bytes(damaged(files[path], draw))
            start = time.process_time()
            try:
                same = str(whole(folder)) == right
                counts["same" if same else "fault" if has_checksums else "other values"] += 1
            except sharded.CheckpointException:
                counts["refused"] += 1
            counts["fault"] += time.process_time() - start > LONGEST
            path.write_bytes(files[path])
    return counts


def make(folder: Path) -> Path:
    """A directory of ours."""
    tensors = {"a": tl.arange(6.0).reshape(2, 3), "b": tl.ones(4, dtype=tl.int16), "c": tl.arange(3000)}
    groups = [{"lr": 0.1, "params": [0, 1]}]
    sharded.save(
        {**tensors, "n": {"x": [1, 2]}, "s": "text", "groups": groups}, checkpoint_id=folder / "ours"
    )
    return folder / "ours"


def main() -> int:
    """Reads the arguments, and prints the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    most = MEMORY + int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for source in (make(Path(folder)), DATA / "one_rank", DATA / "two_ranks"):
            result = run(source, options.count // 3, options.seed, has_checksums=source.name == "ours")
            print(f"{source.name}: {dict(result)}")
            faults += result["fault"]
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
