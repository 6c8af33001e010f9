"""Damaged and forged files, made of good ones: the supply of fuzz.py.

Damage changes bytes, as disks and networks do; no value that a checksum covers may change unseen. Forgery writes a
consistent file of changed parts, as an attacker does; it may mean anything, and must neither run code nor hang.
"""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import random
import struct
import zipfile
from collections.abc import Callable

from tl_checkpoint.archive_writer import MANIFEST, ArchiveWriter

NUMBERS = [0, 1, 2, 3, 7, 8, 63, 64, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31,
           2**32 - 1, 2**32, 2**62, 2**63 - 1,
           2**63, 2**64 - 1, -1, -2, -(2**31), -(2**63)]  # fmt: skip
NAMES = [
    "os system", "builtins eval", "builtins getattr", "torch Tensor", "collections OrderedDict", "builtins set",
    "builtins bytearray", "torch FloatStorage", "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter",
    "torch._tensor _rebuild_from_type_v2", "collections defaultdict", "functools partial", "argparse Namespace",
    "_codecs encode", "numpy dtype", "numpy.core.multiarray _reconstruct", "numpy.core.multiarray scalar",
    "builtins range", "builtins slice", "pathlib Path", "datetime datetime", "torch bool", "torch complex64",
    "torch._utils _rebuild_sparse_tensor", "torch.serialization _get_layout",
]  # fmt: skip
OPCODES = [code.code.encode("latin-1") for code in pickletools.opcodes]


def _boundary(rng: random.Random) -> int:
    return rng.choice(NUMBERS) + rng.choice([0, 0, 0, 1, -1])


def _packed(rng: random.Random) -> bytes:
    form = rng.choice(["B", "<H", "<I", "<Q", ">I", ">Q"])
    size = struct.calcsize(form)
    return (_boundary(rng) % (1 << (8 * size))).to_bytes(size, "big" if form[0] == ">" else "little")


# ---- damage


def flip(data: bytes, rng: random.Random) -> bytes:
    """A few bits are others."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 5, 20])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def overwrite(data: bytes, rng: random.Random) -> bytes:
    """A number stands somewhere."""
    at, new = rng.randrange(len(data)), _packed(rng)
    return data[:at] + new + data[at + len(new) :]


def blank(data: bytes, rng: random.Random) -> bytes:
    """A sector is zeros, or noise."""
    at, size = rng.randrange(len(data)), rng.choice([1, 16, 64, 512, 4096])
    new = rng.choice([bytes(size), rng.randbytes(size)])
    return data[:at] + new[: len(data) - at] + data[at + size :]


def cut(data: bytes, rng: random.Random) -> bytes:
    """The end is missing, or the beginning, or a piece."""
    at, size = rng.randrange(len(data)), rng.randrange(1, 600)
    return rng.choice([data[:at], data[at:], data[:at] + data[at + size :]])


def add(data: bytes, rng: random.Random) -> bytes:
    """Something stands in between, before or behind."""
    at = rng.choice([0, len(data), rng.randrange(len(data))])
    return data[:at] + rng.choice([_packed(rng), bytes(64), data[:100], data[-100:]]) + data[at:]


def move(data: bytes, rng: random.Random) -> bytes:
    """A piece stands where another was."""
    size = rng.randrange(1, max(min(len(data), 700), 2))
    source, target = rng.randrange(max(len(data) - size, 1)), rng.randrange(max(len(data) - size, 1))
    return data[:target] + data[source : source + size] + data[target + size :]


def field(data: bytes, rng: random.Random) -> bytes:
    """A field of a header, near one of the marks of the format, is another number."""
    opcodes = [
        b"PK\x01\x02",
        b"PK\x03\x04",
        b"PK\x05\x06",
        b"PK\x06\x06",
        b"PK\x06\x07",
        b"data_offsets",
        b"shape",
        b"dtype",
    ]
    positions = [i for mark in opcodes for i in _found(data, mark)]
    if not positions:
        return overwrite(data, rng)
    at, new = rng.choice(positions) + rng.randrange(0, 50), _packed(rng)
    return data[:at] + new + data[at + len(new) :]


def _found(data: bytes, mark: bytes) -> list[int]:
    positions, at = [], data.find(mark)
    while at >= 0:
        positions.append(at)
        at = data.find(mark, at + 1)
    return positions


DAMAGE: list[Callable[[bytes, random.Random], bytes]] = [flip, overwrite, blank, cut, add, move, field]


# ---- forgery of archives


def forged_pickle(data: bytes, rng: random.Random) -> bytes:
    """A pickle in which operations are others, missing, doubled or exchanged."""
    try:
        starts = [at for _, _, at in pickletools.genops(data)]
    except Exception:
        return flip(data, rng) if data else b"."
    pieces = [data[a:b] for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(pieces))
        pieces[at : at + 1] = rng.choice([
            lambda at=at: [],
            lambda at=at: [pieces[at]] * rng.choice([2, 3, 50]),
            lambda at=at: [pieces[at], rng.choice(pieces)],
            lambda at=at: [rng.choice(pieces)],
            lambda at=at: [rng.choice(OPCODES), pieces[at]],
            lambda at=at: [_number(rng)],
            lambda at=at: [b"c" + rng.choice(NAMES).replace(" ", "\n").encode() + b"\n"],
            lambda at=at: [b"c" + rng.choice(NAMES).replace(" ", "\n").encode() + b"\n", b")", b"R"],
            lambda at=at: [pieces[at], b"0"],
        ])()  # fmt: skip
        if not pieces:
            return b"."
    return b"".join(pieces)


def _number(rng: random.Random) -> bytes:
    return pickle.dumps(_boundary(rng) * rng.choice([1, 1, 1, 2**200]), 2)[2:-1]


def forged_archive(data: bytes, rng: random.Random) -> bytes:
    """An archive of which a record is another; checksums and manifest agree with it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            records = {i.filename.partition("/")[2]: archive.read(i) for i in archive.infolist()}
    except Exception:
        return flip(data, rng)
    records.pop(MANIFEST, None)
    pickles = [name for name in records if name.endswith(".pkl")]
    if not pickles:
        return flip(data, rng)
    name = rng.choice(
        [rng.choice(pickles), rng.choice(pickles), rng.choice(pickles), rng.choice(list(records))]
    )
    kind = rng.choice(["change", "change", "change", "drop", "exchange", "rename"])
    if kind == "change" and name in pickles:
        records[name] = forged_pickle(records[name], rng)
    elif kind == "change":
        records[name] = rng.choice(DAMAGE)(records[name] or b"x", rng)
    elif kind == "drop":
        del records[name]
    elif kind == "exchange":
        other = rng.choice(list(records))
        records[name], records[other] = records[other], records[name]
    else:
        records[
            rng.choice(["../x", "/etc/x", "data/../data.pkl", "", "constants.pkl", "data/7", "a" * 300])
        ] = records.pop(name)
    return archive_of(records)


def forged_arrays(data: bytes, rng: random.Random) -> bytes:
    """An .npz archive in which a header says something else."""
    file = io.BytesIO()
    shape = rng.choice(
        ["()", "(3,)", "(2, 3)", f"({_boundary(rng)},)", f"({2**40}, {2**40})", "(((((", "(-1,)", "(True,)"]
    )
    kind = rng.choice(
        [
            "'<f8'",
            "'|O'",
            "'<U100000000'",
            "'object'",
            "[('a', '<f8')]",
            "'<f4,O'",
            "__import__('os')",
            "'|V0'",
        ]
    )
    text = f"{{'descr': {kind}, 'fortran_order': {rng.choice(['True', 'False', '1'])}, 'shape': {shape}, }}"
    head = (text + " " * (-len(text) % 64) + "\n").encode()
    body = (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(head) % 65536)
        + head
        + rng.randbytes(rng.choice([0, 8, 24, 48]))
    )
    with zipfile.ZipFile(file, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        archive.writestr(rng.choice(["a.npy", "../a.npy", "a", "/etc/a.npy"]), body)
        archive.writestr("b.npy", body)
    return file.getvalue()


def archive_of(records: dict[str, bytes]) -> bytes:
    """A consistent archive."""
    file = io.BytesIO()
    writer = ArchiveWriter(file.write, "archive")
    for name, content in records.items():
        writer.add(name, content)
    writer.close()
    return file.getvalue()


# ---- forgery of safetensors


def forged_header(data: bytes, rng: random.Random) -> bytes:
    """A header in which something is another, without checksums."""
    try:
        (length,) = struct.unpack("<Q", data[:8])
        head = json.loads(data[8 : 8 + length])
    except Exception:
        return flip(data, rng)
    head.pop("__metadata__", None)
    name = rng.choice(list(head) or ["x"])
    entry = head.setdefault(name, {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]})
    kind = rng.randrange(8)
    if kind == 0:
        entry["dtype"] = rng.choice(["F32", "BOOL", "F8_E4M3", "I64", "", None, 3, ["F32"]])
    elif kind == 1:
        entry["shape"] = rng.choice(
            [[_boundary(rng)], [_boundary(rng)] * 3, [2**32] * 4, [1.5], "4", None, [[1]], [True], [0, -1]]
        )
    elif kind == 2:
        entry["data_offsets"] = rng.choice(
            [[_boundary(rng), _boundary(rng)], [0], [0, 4, 8], "0", None, [0.0, 4.0]]
        )
    elif kind == 3:
        head[rng.choice(["", "__metadata__", "x" * 1000, "\ud800"])] = rng.choice(
            [entry, 3, {"a": "b"}, {"a": 1}, None]
        )
    elif kind == 4:
        del head[name]
    elif kind == 5:
        entry[rng.choice(["dtype", "extra", "shape"])] = {}
    elif kind == 6:
        head[name + "2"] = entry
    text = (
        json.dumps(head).encode()
        if kind < 7
        else rng.choice(
            [b"{" * 100_000, b'{"a":' * 5000, b"[]", b"{}", b"", b"1", b'{"a":1,"a":2}', b"9" * 5000]
        )
    )
    size = rng.choice([len(text)] * 8 + [_boundary(rng) % 2**64])
    return struct.pack("<Q", size) + text + data[8 + length :]
