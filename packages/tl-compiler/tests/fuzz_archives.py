"""Loads and runs many damaged and forged archives: `python fuzz_archives.py --count 100000 --seed 1`.

The archives are those of `archives/`, which PyTorch wrote. Code, pickles and records are forged, and what loads is
called with the arguments of the archive. `tl_checkpoint.testing.fuzzing` describes faults and how to repeat a file. A
program that runs too long or asks for too much memory is stopped, which is no fault: a call has no limits of its own.
"""

from __future__ import annotations

import ast
import copy
import io
import pickletools
import random
import re
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tl_checkpoint
import tl_core as tl
from tl_checkpoint.testing import fuzzing
from tl_compiler import jit

FOLDER = Path(__file__).parent / "archives"
SECONDS = 1  # of processor time for each file: one in 120 loops forever
WORDS = [
    "x", "self", "training", "forward", "weight", "__class__", "__init__", "__globals__", "_parameters", "_modules",
    "register_buffer", "state_dict", "__torch__", "__torch__.M", "os", "eval", "torch", "ops", "CONSTANTS", "c0", "c7",
    "annotate", "Tensor", "int", "List", "Any", "fork", "wait", "data_ptr", "numpy", "aten", "prim", "system",
    "a" * 300,
]  # fmt: skip
LINES = [
    "import os", "return eval('1')", "_9 = __import__('os').system('true')", "return open('/etc/passwd')",
    "return self.__class__", "return self.forward.__globals__", "return torch.format('{0.__class__}', self)",
    "while True:\n{0}  pass", "return torch.zeros([1000000, 1000000])", "return torch.mul('a', 4611686018427387904)",
    "return torch.arange(4611686018427387904)", "raise x", "setattr(self, 'training', True)", "self.training = 7",
    "return self.forward(self)", "return ops.aten.sin_(self)", "return (self)._c", "del self", "return ops.python.f()",
    "_9 = [1]\n{0}for i in range(40):\n{0}  _9 = torch.add(_9, _9)\n{0}return _9", "return ops.os.system('true')",
    "return __torch__.os.system('true')", "return torch.pow(7, 4611686018427387904)", "return torch.view(self, [])",
    "return getattr(self, '__class__')", "return torch.as_strided(CONSTANTS.c0, [1000], [1000], 1000)",
    "return (" * 999,
]  # fmt: skip
NUMBERS = [
    "0",
    "1",
    "-1",
    "2",
    "64",
    "2147483648",
    "-9223372036854775808",
    "9223372036854775808",
    "1e400",
    "1.5",
    "''",
]
_TUPLE = rb"lambda _cls, [\w, ]*: _tuple_new\(_cls, \([\w, ]*\)\)"  # what Python's named tuples consist of


class Stopped:
    """The result of a program that runs too long or asks for too much memory."""


# ---- forgery
def forge_code(data: bytes, rng: random.Random) -> bytes:
    """Code in which words, numbers or lines are others, absent, or twice there."""
    text = data.decode("utf-8", "replace")
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        kind = rng.random()
        if kind < 0.6:
            pattern = r"[A-Za-z_]\w*" if rng.random() < 0.6 else r"-?\b\d[\d.]*"
            matches = list(re.finditer(pattern, text))
            if not matches:
                continue
            match = rng.choice(matches)
            others = [*(p.group() for p in rng.sample(matches, min(4, len(matches)))), rng.choice(NUMBERS)]
            text = f"{text[: match.start()]}{rng.choice([rng.choice(WORDS), *others])}{text[match.end() :]}"
            continue
        lines = text.splitlines()
        if not lines:
            continue
        at = rng.randrange(len(lines))
        indent = re.match(r" *", lines[at]).group()  # type: ignore[union-attr]  # which always matches
        if kind < 0.8:
            lines.insert(at, indent + rng.choice(LINES).replace("{0}", indent))
        elif kind < 0.9:
            del lines[at]
        else:
            lines.insert(at, rng.choice(lines))
        text = "\n".join(lines) + "\n"
    return text.encode()


def forge_pickle(data: bytes, rng: random.Random) -> bytes:
    """A pickle in which texts, numbers, names or instructions are others, absent, or twice there."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        try:
            positions = [position for _, _, position in pickletools.genops(data)]
        except ValueError:  # a pickle that no longer parses is forged enough
            break
        at = rng.randrange(len(positions))
        start, stop = positions[at], positions[at + 1] if at + 1 < len(positions) else len(data)
        word = rng.choice(WORDS).encode()
        other = rng.choice([
            b"X" + struct.pack("<I", len(word)) + word,
            b"J" + struct.pack("<i", rng.choice([0, 1, -1, 2**31 - 1, -(2**31)])),
            b"\x8a\x08" + struct.pack("<q", rng.choice([2**62, -(2**63), 2**63 - 1])),
            b"cos\nsystem\n", b"c__torch__\n" + word.replace(b".", b"_") + b"\n",
            b"ctorch.jit._pickle\nbuild_intlist\n",
            b"G" + struct.pack(">d", rng.choice([float("nan"), 1e308])), b"}", b"]", b")", b"N", b"\x88", b"",
            data[start:stop] * 2,
        ])  # fmt: skip
        data = data[:start] + other + data[stop:]
    return data


def forge_archive(data: bytes, rng: random.Random) -> bytes:
    """A consistent ZIP file with a forged record, or with records that are renamed, exchanged or gone."""
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        records = [(i.filename, source.read(i)) for i in source.infolist()]
    at = rng.randrange(len(records))
    kind = rng.random()
    if kind < 0.85:
        ending, forge = (".py", forge_code) if kind < 0.6 else (".pkl", forge_pickle)
        at = rng.choice([i for i, (name, _) in enumerate(records) if name.endswith(ending)])
        records[at] = (records[at][0], forge(records[at][1], rng))
    elif kind < 0.9:
        del records[at]
    elif kind < 0.95:
        folder = rng.choice([records[at][0].partition("/")[0] + "/", "other/", "../", ""])
        records[at] = (
            folder + rng.choice(["code/", "data/", "constants/", ""]) + rng.choice(WORDS),
            records[at][1],
        )
    else:
        records[at] = (records[at][0], rng.choice(records)[1])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as target:
        for name, content in records:
            target.writestr(name, content)
    return file.getvalue()


# ---- loading
def is_harmless(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether what happens is the code of an archive, or this library loading a module of its own."""
    if event == "compile":
        is_tuple = re.fullmatch(_TUPLE, arguments[0]) if isinstance(arguments[0], bytes) else None
        return (
            isinstance(arguments[0], ast.AST) or arguments[1] in ("<archive>", "<unknown>") or bool(is_tuple)
        )
    if event == "open":  # by the parser, which looks for the line of an error
        return arguments[0] in ("<archive>", "<unknown>")
    if event == "exec":
        return getattr(arguments[0], "co_filename", "") in ("<archive>", "<string>")
    return event == "import" and str(arguments[0]).startswith("tl_")


def loader(arguments: tuple[Any, ...]) -> Callable[[bytes], Any]:
    """The function that loads an archive and calls it with copies of the arguments."""

    def load(data: bytes) -> Any:
        program = jit.load(io.BytesIO(data))
        if not hasattr(
            program, "forward"
        ):  # a module that only holds others, whose call is an AttributeError
            return None, dict(program.state_dict())
        try:
            with tl.no_grad():
                result = program(*copy.deepcopy(arguments))  # which a forged program may change
        except (
            fuzzing.Hang,
            tl.OutOfMemoryError,
            MemoryError,
        ):  # a forged loop or size, which ended within limits
            return Stopped()
        return result, dict(program.state_dict())

    return load


def good_files() -> list[fuzzing.GoodFile]:
    """The archives that PyTorch wrote, with what they compute."""
    files = []
    for path in sorted(FOLDER.glob("*.pt")):
        if path.name.endswith(".io.pt"):
            continue
        arguments, _ = tl_checkpoint.load(path.with_suffix(".io.pt"))
        load, data = loader(arguments), path.read_bytes()
        content = fuzzing.snapshot(load(data))
        files.append(
            fuzzing.GoodFile(
                path.name,
                data,
                load,
                forge_archive,
                content,
                True,
                0.25,
                fuzzing.snapshot,
                is_harmless,
                SECONDS,
            )
        )
    return files


if __name__ == "__main__":
    sys.exit(fuzzing.main(good_files(), 100_000, __doc__))
