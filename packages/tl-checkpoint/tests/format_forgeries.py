"""Forged `.npz` and safetensors files: a header differs from its content."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile

from tl_checkpoint.testing.damage import boundary, flip


def forge_arrays(data: bytes, rng: random.Random) -> bytes:
    """An `.npz` archive with another header."""
    file = io.BytesIO()
    shape = rng.choice(
        ["()", "(3,)", "(2, 3)", f"({boundary(rng)},)", f"({2**40}, {2**40})", "(((((", "(-1,)", "(True,)"]
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


def forge_header(data: bytes, rng: random.Random) -> bytes:
    """A safetensors file with another header, without checksums."""
    try:
        (length,) = struct.unpack("<Q", data[:8])
        head = json.loads(data[8 : 8 + length])
    except Exception:  # no header: json and struct raise many types
        return flip(data, rng)
    head.pop("__metadata__", None)
    name = rng.choice(list(head) or ["x"])
    entry = head.setdefault(name, {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]})
    kind = rng.randrange(8)
    if kind == 0:
        entry["dtype"] = rng.choice(["F32", "BOOL", "F8_E4M3", "I64", "", None, 3, ["F32"]])
    elif kind == 1:
        entry["shape"] = rng.choice(
            [[boundary(rng)], [boundary(rng)] * 3, [2**32] * 4, [1.5], "4", None, [[1]], [True], [0, -1]]
        )
    elif kind == 2:
        entry["data_offsets"] = rng.choice(
            [[boundary(rng), boundary(rng)], [0], [0, 4, 8], "0", None, [0.0, 4.0]]
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
    size = rng.choice([len(text)] * 8 + [boundary(rng) % 2**64])
    return struct.pack("<Q", size) + text + data[8 + length :]
