"""Loads many damaged and forged programs: `python fuzz_programs.py --count 50000 --seed 1`.

The files are `.pt2`. `tl_checkpoint.testing.fuzzing` describes faults and how to repeat a file. The code that a graph
module generates consists of checked names, so a file may compile and run it.
"""

from __future__ import annotations

import io
import json
import random
import sys
import zipfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import models

import tl_core as tl
import tl_nn
from tl_checkpoint.testing import fuzzing
from tl_compiler import export
from tl_compiler.higher_order.cond import cond

CODE = "<eval_with_key>"
PARSED = "<unknown>"  # expressions of sizes become trees, and are not run
WORDS = [
    "", "x", "self", "__class__", "__import__('os').system('true')", "os.system", "a.b", "x; import os", "lambda: 0",
    "torch.ops.aten.relu.default", "torch.ops.aten.add_.Tensor", "torch.ops.os.system.default", "_operator.add",
    "builtins.eval", "math.trunc", "s0", "s0 + 1", "2**s0", "s0" + "*s0" * 400, "(" * 2000, "Max(1, s0)", "int_oo",
    "\0", "ü", "../../etc/passwd", "p_weight", "A" * 100_000,
]  # fmt: skip
NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    8,
    63,
    2**31,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63),
    1.5,
    float("inf"),
    float("nan"),
]


class Loops(tl_nn.Module):
    """Symbolic sizes, containers, control flow, buffers that are written."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", tl.zeros(()))

    def forward(self, x: tl.Tensor, more: dict[str, Any]) -> Any:
        """Returns a dictionary."""
        self.count.add_(1)
        y = cond(x.sum() > 0, tl.relu, tl.neg, (x,))
        return {"y": y.reshape(-1, x.shape[0]), "z": [more["a"][: x.shape[0]] + self.count, x.sum(0)]}


def _bytes(program: Any) -> bytes:
    file = io.BytesIO()
    export.save(program, file)
    return file.getvalue()


def describe(program: Any) -> Any:
    """A program in a form that `==` compares bit by bit."""
    tensors = {**program.state_dict, **program.constants}
    return str(program.graph), str(program.graph_signature), fuzzing.snapshot(tensors)


def load(data: bytes) -> Any:
    """The program of a file."""
    return export.load(io.BytesIO(data))


# ---- forgery
def _holders(tree: Any) -> list[tuple[Any, Any]]:
    """Each place of a tree: what holds it, and its key or index."""
    matches, stack = [], [tree]
    while stack:
        at = stack.pop()
        keys = list(at) if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ()
        for key in keys:
            matches.append((at, key))
            stack.append(at[key])
    return matches


def _other_value(value: Any, holders: list[tuple[Any, Any]], rng: random.Random) -> Any:
    other = rng.choice(holders)
    strange = [
        rng.choice(WORDS),
        rng.choice(NUMBERS),
        None,
        True,
        [],
        {},
        [value],
        {"as_int": rng.choice(NUMBERS)},
    ]
    return rng.choice([*strange, other[0][other[1]], rng.choice(WORDS), rng.choice(NUMBERS)])


def forge_json(text: bytes, rng: random.Random) -> bytes:
    """A record of JSON in which some values are others, absent, or twice there."""
    tree = json.loads(text)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        holders = _holders(tree)
        if not holders:
            break
        holder, key = rng.choice(holders)
        kind = rng.random()
        if kind < 0.75:
            holder[key] = json.loads(json.dumps(_other_value(holder[key], holders, rng)))
        elif kind < 0.9:
            del holder[key]
        elif isinstance(holder, list):
            holder.insert(key, holder[key])
        else:
            holder[rng.choice(WORDS)] = holder[key]
    return json.dumps(tree).encode()


def forge_program(data: bytes, rng: random.Random) -> bytes:
    """A consistent archive with a forged record of JSON, or with records that are renamed, exchanged or gone."""
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        records = [(i.filename, source.read(i)) for i in source.infolist()]
    at = rng.randrange(len(records))
    kind = rng.random()
    if kind < 0.85:
        at = rng.choice([i for i, (name, _) in enumerate(records) if name.endswith(".json")])
        records[at] = (records[at][0], forge_json(records[at][1], rng))
    elif kind < 0.9:
        del records[at]
    elif kind < 0.95:
        records[at] = (rng.choice(["archive/", "other/", ""]) + rng.choice(WORDS)[:200], records[at][1])
    else:
        records[at] = (records[at][0], rng.choice(records)[1])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", rng.choice([zipfile.ZIP_STORED] * 9 + [zipfile.ZIP_DEFLATED])) as target:
        for name, content in records:
            target.writestr(name.partition("\0")[0] or "x", content)
    return file.getvalue()


def is_harmless(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether what happens is the code of a graph, or this library loading a module of its own."""
    if event == "compile":
        return str(arguments[1]).startswith(CODE) or arguments[1] == PARSED
    if event == "exec":
        return getattr(arguments[0], "co_filename", "").startswith(CODE)
    return event == "import" and str(arguments[0]).startswith("tl_")


def good_files() -> list[fuzzing.GoodFile]:
    """The valid files: static programs, and a program with symbolic sizes and writes."""
    batch = export.Dim("batch", min=2, max=64)
    x, a = tl.ones(4, 3), tl.ones(64, 3)
    programs = {
        "linear.pt2": export.export(tl_nn.Sequential(tl_nn.Linear(3, 5), tl_nn.ReLU()), (x,)),
        "dynamic.pt2": export.export(
            Loops(), (x, {"a": a}), dynamic_shapes={"x": {0: batch}, "more": {"a": None}}
        ),
        "decomposed.pt2": export.export(models.LeNet(), (tl.ones(1, 1, 28, 28),)).run_decompositions(),
    }
    files = []
    for name, program in programs.items():
        data = _bytes(program)
        content = describe(load(data))
        files.append(
            fuzzing.GoodFile(name, data, load, forge_program, content, True, 0.4, describe, is_harmless)
        )
    return files


if __name__ == "__main__":
    sys.exit(fuzzing.main(good_files(), 50_000, __doc__))
