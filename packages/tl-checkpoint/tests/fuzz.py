"""Loads many damaged and forged files: `python fuzz.py --count 200000 --seed 1`.

The exit status is 1 if there is a fault. `tl_checkpoint.testing.fuzzing` describes faults and how to repeat a file.
"""

from __future__ import annotations

import io
import random
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy

sys.path.insert(0, str(Path(__file__).parent))

from format_forgeries import forge_arrays, forge_header

import tl_checkpoint
import tl_core as tl
from tl_checkpoint import npz, safetensors
from tl_checkpoint.testing import fuzzing
from tl_checkpoint.testing.forgery import forge_archive, forge_pickle

DATA = Path(__file__).parent / "data"


def load_archive(data: bytes) -> Any:
    """The content of a `.pt` file."""
    return tl_checkpoint.load(io.BytesIO(data))


def load_arrays(data: bytes) -> Any:
    """The arrays of an `.npz` file."""
    return npz.load_npz(io.BytesIO(data))


def compress(path: Path) -> bytes:
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


def good_files() -> list[fuzzing.GoodFile]:
    """The valid files: of tl and of PyTorch."""
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
    pt, reference = file.getvalue(), (DATA / "reference.pt").read_bytes()
    rows = [
        ("tl.pt", pt, load_archive, forge_archive, True),
        ("tl.safetensors", safetensors.save(state), safetensors.load, forge_header, True),
        ("arrays.npz", arrays(), load_arrays, forge_arrays, True),
        ("bare.safetensors", safetensors.save(plain, checksums=False), safetensors.load, forge_header, False),
        ("packed.pt", compress(DATA / "reference.pt"), load_archive, forge_archive, True),
        ("reference.pt", reference, load_archive, forge_archive, True),
        ("old.pt", (DATA / "old.pt").read_bytes(), load_archive, forge_pickle, False),
    ]
    return [
        fuzzing.GoodFile(name, data, load, forge, fuzzing.snapshot(load(data)), is_covered)
        for name, data, load, forge, is_covered in rows
    ]


if __name__ == "__main__":
    sys.exit(fuzzing.main(good_files(), 200_000, __doc__))
