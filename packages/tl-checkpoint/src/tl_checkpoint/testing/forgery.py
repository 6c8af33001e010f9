"""Forgery of archives: consistent files of changed parts, as an attacker writes them.

A forged file may load as anything. It must neither run code nor hang.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import random
import zipfile

from tl_checkpoint.archive_writer import MANIFEST, ArchiveWriter
from tl_checkpoint.testing.damage import DAMAGE, boundary, flip

__all__ = ["forge_archive", "forge_pickle", "write_archive"]

GLOBALS = [
    "os system", "builtins eval", "builtins getattr", "torch Tensor", "collections OrderedDict", "builtins set",
    "builtins bytearray", "torch FloatStorage", "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter",
    "torch._tensor _rebuild_from_type_v2", "collections defaultdict", "functools partial", "argparse Namespace",
    "_codecs encode", "numpy dtype", "numpy.core.multiarray _reconstruct", "numpy.core.multiarray scalar",
    "builtins range", "builtins slice", "pathlib Path", "datetime datetime", "torch bool", "torch complex64",
    "torch._utils _rebuild_sparse_tensor", "torch.serialization _get_layout",
]  # fmt: skip
RECORDS = ["../x", "/etc/x", "data/../data.pkl", "", "constants.pkl", "data/7", "a" * 300]
OPCODES = [code.code.encode("latin-1") for code in pickletools.opcodes]


def forge_pickle(data: bytes, rng: random.Random) -> bytes:
    """Changes, removes, repeats or exchanges operations of a pickle.

    Args:
        data: the pickle. Bytes that are no pickle are damaged instead.
        rng: the random generator.

    Example:
        >>> import pickle, random
        >>> data = pickle.dumps([1, 2, 3])
        >>> any(forge_pickle(data, random.Random(seed)) != data for seed in range(3))
        True
    """
    try:
        starts = [at for _, _, at in pickletools.genops(data)]
    except Exception:  # no pickle: pickletools raises many types
        return flip(data, rng) if data else b"."
    pieces = [data[a:b] for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(pieces))
        pieces[at : at + 1] = _forge_operation(pieces, at, rng)
        if not pieces:
            return b"."
    return b"".join(pieces)


def _forge_operation(pieces: list[bytes], at: int, rng: random.Random) -> list[bytes]:
    one = pieces[at]
    by_name = b"c" + rng.choice(GLOBALS).replace(" ", "\n").encode() + b"\n"
    number = pickle.dumps(boundary(rng) * rng.choice([1, 1, 1, 2**200]), 2)[2:-1]
    return rng.choice(
        [
            [],
            [one] * rng.choice([2, 3, 50]),
            [one, rng.choice(pieces)],
            [rng.choice(pieces)],
            [rng.choice(OPCODES), one],
            [number],
            [by_name],
            [by_name, b")", b"R"],
            [one, b"0"],
        ]
    )


def forge_archive(data: bytes, rng: random.Random) -> bytes:
    """Changes, removes, exchanges or renames a record of an archive; checksums and manifest agree with the result.

    Args:
        data: the archive. Bytes that are no archive with a pickle are damaged instead.
        rng: the random generator.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            records = {i.filename.partition("/")[2]: archive.read(i) for i in archive.infolist()}
    except Exception:  # no archive: zipfile raises many types
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
        records[name] = forge_pickle(records[name], rng)
    elif kind == "change":
        records[name] = rng.choice(DAMAGE)(records[name] or b"x", rng)
    elif kind == "drop":
        del records[name]
    elif kind == "exchange":
        other = rng.choice(list(records))
        records[name], records[other] = records[other], records[name]
    else:
        records[rng.choice(RECORDS)] = records.pop(name)
    return write_archive(records)


def write_archive(records: dict[str, bytes]) -> bytes:
    """The bytes of a consistent archive.

    Args:
        records: the content of each record by its name.

    Example:
        >>> write_archive({"data.pkl": b"N."})[:2]
        b'PK'
    """
    file = io.BytesIO()
    writer = ArchiveWriter(file.write, "archive")
    for name, content in records.items():
        writer.add(name, content)
    writer.close()
    return file.getvalue()
