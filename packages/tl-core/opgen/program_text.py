"""Derivative programs as constant C++ tables in the format of `tl/program.h`."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field

DTYPES = {
    "bool": (6, 8),
    "uint8": (1, 8),
    "uint16": (1, 16),
    "uint32": (1, 32),
    "uint64": (1, 64),
    "int8": (0, 8),
    "int16": (0, 16),
    "int32": (0, 32),
    "int64": (0, 64),
    "float16": (2, 16),
    "bfloat16": (4, 16),
    "float32": (2, 32),
    "float64": (2, 64),
    "complex32": (5, 32),
    "complex64": (5, 64),
    "complex128": (5, 128),
}
Word = tuple[str, int]


@dataclass(frozen=True)
class Saved:
    """What a program keeps: source ARG or RESULT, its index, and a TlMeta."""

    source: str
    index: int
    meta: str


@dataclass(frozen=True)
class Target:
    """An argument with a gradient."""

    arg: int
    is_list: bool
    count: int


@dataclass
class Step:
    """One instruction; `jump` or `op` by code."""

    code: str
    arith: str = "ADD"
    inputs: list[Word] = field(default_factory=list)
    op: int = 0xFFFF
    target: int = 0
    n_results: int = 0
    jump: int | None = None


@dataclass(frozen=True)
class MemoryFormat:
    """A constant of the memory-format type."""

    name: str


@dataclass
class Program:
    """One row's derivative."""

    name: str
    targets: list[Target] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    blocks: list[tuple[int, int, int, int, list[Word]]] = field(default_factory=list)
    saved: dict[Saved, int] = field(default_factory=dict)  # -> blocks that read it
    consts: list = field(default_factory=list)
    ops: list[str] = field(default_factory=list)
    registers: int = 0

    @property
    def symbol(self) -> str:
        return "kProgram_" + re.sub(r"\W", "_", self.name)

    def save(self, what: Saved, block: int) -> int:
        self.saved[what] = self.saved.get(what, 0) | (1 << block)
        return list(self.saved).index(what)

    def const(self, value) -> int:
        keys = [(type(c), c) for c in self.consts]
        if (type(value), value) not in keys:
            self.consts.append(value)
            return len(self.consts) - 1
        return keys.index((type(value), value))

    def default(self, arg) -> int:
        """The constant of an argument that a formula leaves out."""
        if arg.type == "MemoryFormat" and arg.default not in (None, "None"):
            return self.const(MemoryFormat(arg.default.upper()))
        value = None if arg.default is None else ast.literal_eval(arg.default)
        return self.const(tuple(value) if isinstance(value, list) else value)

    def operator(self, name: str) -> int:
        if name not in self.ops:
            self.ops.append(name)
        return self.ops.index(name)

    def add_block(self, first_target: int, n_targets: int, first_step: int, results: list[Word]) -> None:
        self.blocks.append((first_target, n_targets, first_step, len(self.steps) - first_step, results))


def declarations(programs: list[Program]) -> str:
    """The header."""
    lines = ["#pragma once", '#include "tl/program.h"', "", "namespace tl {"]
    lines += [f"extern const TlProgram {p.symbol};" for p in programs]
    return "\n".join([*lines, "}  // namespace tl", ""])


def definitions(programs: list[Program]) -> str:
    """The tables."""
    lines = ['#include "programs.h"', "", "namespace tl {"]
    for i, p in enumerate(programs):
        lines += _definition(p, i)
    return "\n".join([*lines, "}  // namespace tl", ""])


def _definition(p: Program, i: int) -> list[str]:
    operands = _Operands()
    tables = {
        "targets": ("TlTarget", [f"{{{t.arg}, {int(t.is_list)}, {t.count}}}" for t in p.targets]),
        "saved": ("TlSaved", [_saved(s, blocks) for s, blocks in p.saved.items()]),
        "steps": ("TlStep", [_step(s, operands) for s in p.steps]),
        "blocks": ("TlBlock", [f"{{{t}, {n}, {s}, {m}, {operands.slot(r)}}}" for t, n, s, m, r in p.blocks]),
        "operands": ("uint16_t", operands.words),
        "consts": ("TlValue", [const_text(c, f"p{i}_const{k}") for k, c in enumerate(p.consts)]),
        "ops": ("char* const", [json.dumps(name) for name in p.ops]),
    }
    lines = [f"// {p.name}", "namespace {"]
    lines += [line for k, c in enumerate(p.consts) for line in _const_memory(c, f"p{i}_const{k}")]
    lines += [f"const {t} p{i}_{n}[] = {{{', '.join(rows)}}};" for n, (t, rows) in tables.items() if rows]
    names = {n: f"p{i}_{n}" if rows else "nullptr" for n, (_, rows) in tables.items()}
    counts = [len(tables[n][1]) for n in ("targets", "saved", "blocks", "steps", "operands", "consts", "ops")]
    head = ", ".join(map(str, ["TL_PROGRAM_FORMAT", 0, *counts, p.registers]))
    tail = ", ".join(names[n] for n in ("targets", "saved", "blocks", "steps", "operands", "consts", "ops"))
    return [*lines, "}  // namespace", f"const TlProgram {p.symbol} = {{{head}, {tail}}};"]


class _Operands:
    def __init__(self) -> None:
        self.words: list[str] = []

    def slot(self, words: list[Word]) -> int:
        start = len(self.words)
        self.words += [f"TL_OPERAND(TL_OPERAND_{kind}, {index})" for kind, index in words]
        return start


def _saved(s: Saved, blocks: int) -> str:
    return f"{{TL_SOURCE_{s.source}, {s.index}, TL_META_{s.meta}, 0, {blocks}u}}"


def _step(s: Step, operands: _Operands) -> str:
    arith = f"TL_META_{s.arith}" if s.code == "META" else f"TL_ARITH_{s.arith}"
    op = s.op if s.jump is None else s.jump
    counts = f"{len(s.inputs)}, {s.n_results}, {s.target}, {operands.slot(s.inputs)}"
    return f"{{TL_STEP_{s.code}, {arith}, {counts}, {op}}}"


def _const_memory(value, name: str) -> list[str]:
    if isinstance(value, complex):
        return [f"const double {name}[] = {{{value.real!r}, {value.imag!r}}};"]
    if isinstance(value, tuple) and value:
        return [f"const int64_t {name}[] = {{{', '.join(map(str, value))}}};"]
    return []


def const_text(value, memory: str) -> str:
    """A TlValue initializer; `memory` names what a list or a complex number points at."""
    if value is None:
        return "{TL_NONE, 0, {0}}"
    if isinstance(value, bool):
        return f"{{TL_BOOL, 0, {{{int(value)}}}}}"
    if isinstance(value, int):
        return f"{{TL_INT, 0, {{{value}}}}}"
    if isinstance(value, float):
        return f"{{TL_FLOAT, 0, {{.f = {_float(value)}}}}}"
    if isinstance(value, complex):
        return f"{{TL_COMPLEX, 0, {{.p = {memory}}}}}"
    if isinstance(value, str) and value in DTYPES:
        return f"{{TL_DTYPE, 0, {{TL_DTYPE_OF({DTYPES[value][0]}, {DTYPES[value][1]})}}}}"
    if isinstance(value, str):
        return f"{{TL_STRING, {len(value.encode())}, {{.p = {json.dumps(value)}}}}}"
    if isinstance(value, MemoryFormat):
        return f"{{TL_MEMORY_FORMAT, 0, {{TL_{value.name}}}}}"
    if isinstance(value, tuple):
        return f"{{TL_INT_LIST, {len(value)}, {{.p = {memory if value else 'nullptr'}}}}}"
    raise ValueError(f"a formula cannot hold the constant {value!r}")


def _float(value: float) -> str:
    if value != value:
        return '__builtin_nan("")'
    if value in (float("inf"), float("-inf")):
        return ("-" if value < 0 else "") + "__builtin_inf()"
    return repr(value)
