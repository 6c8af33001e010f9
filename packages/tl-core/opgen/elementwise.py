"""The elementwise operators' loops, instantiated for every instruction set, and their table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from pathlib import Path

from opgen.row import FLOAT8, HALVES, Row

ENUM = {"bool": "Bool", "uint8": "UInt8", "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64",
        "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float16": "Float16", "bfloat16": "BFloat16",
        "float32": "Float32", "float64": "Float64", "complex32": "Complex32", "complex64": "Complex64",
        "complex128": "Complex128"}  # fmt: skip
CPP = {"bool": "bool", **{f"{s}int{b}": f"{s}int{b}_t" for s in ("", "u") for b in (8, 16, 32, 64)}, "float16": "Half",
       "bfloat16": "BFloat16", "float32": "float", "float64": "double", "complex32": "Complex32",
       "complex64": "Complex64", "complex128": "Complex128"}  # fmt: skip
REAL = {"complex32": "Half", "complex64": "float", "complex128": "double"}
# The types with a loop of their own. Hot ones have it on every level; cold ones keep the portable loop, which saves
# build time and size; the rest is converted to a wider type.
HOT = ("bool", "int32", "int64", "float32", "float64")
COLD = ("uint64", "complex64", "complex128")
LOOPS = {**dict.fromkeys(HOT, "TL_LOOP"), **dict.fromkeys(COLD, "TL_COLD_LOOP"), "bfloat16": "TL_UPPER_LOOP"}
# What only moves elements asks for their size alone.
MOVED_AS = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t", 16: "Complex128"}
SIZES = {d: int("".join(filter(str.isdigit, d)) or 8) // 8 for d in ENUM}
# An operator of which only the portable level has loops.
ONE_LOOP = [
    "#define TL_ONE_LOOP_OF(table) {{::tl::cpu::base::table, ::tl::cpu::base::table, ::tl::cpu::base::table}}"
]
FUNCTORS = Path(__file__).parents[1] / "csrc/kernels/cpu/elementwise"
# Headers of functors beside those that all.h has.
HEADERS = ("activation", "numeric", "special", "special_vectors", "transcendental")
ROWS_PER_FILE = 6


def elementwise_rows(rows: list[Row]) -> list[Row]:
    """Rows with a loop of their own kind, one a (functor, name)."""
    found = {}
    for row in rows:
        if row.elementwise:
            found.setdefault(symbol(row), row)
    return list(found.values())


def symbol(row: Row) -> str:
    """The loops' name: functor and operator."""
    return f"{row.elementwise.function}_{row.base}"


def loop_files(rows: list[Row]) -> dict[str, str]:
    """`generated/elementwise_<header>_<n>.cpp`: the loops of a few operators, compiled for each instruction set or,
    with `once_` before the number, for the portable one only."""
    files = {}
    todo = sorted(elementwise_rows(rows), key=_file_of)
    for (header, once), same in groupby(todo, key=_file_of):
        for n, group in enumerate(_portions(same)):
            name = f"{header}_" * bool(header) + "once_" * once + f"{n:02}"
            files[f"elementwise_{name}.cpp"] = _loops_cpp(group, header or "all", once)
    return files


@cache
def functors() -> dict[str, str]:
    """The header of each functor that all.h lacks."""
    found = {}
    for header in HEADERS:
        text = (FUNCTORS / f"{header}.h").read_text()
        for macro, name in re.findall(r"^(?:TL_(\w+)\(|struct )\s*(\w+)", text, re.MULTILINE):
            found[f"shifted_{name}" if macro == "SHIFTED" else name] = header
    return found


def _file_of(row: Row) -> tuple[str, bool]:
    """The header that has its functor, "" for all.h, and whether it is compiled once."""
    return functors().get(row.elementwise.function, ""), row.elementwise.once


def _portions(rows: Iterable[Row]) -> list[list[Row]]:
    """The rows in groups that take about as long to compile."""
    portions: list[list[Row]] = []
    size = ROWS_PER_FILE
    for row in rows:
        if size >= ROWS_PER_FILE:
            portions.append([])
            size = 0
        portions[-1].append(row)
        size += 0.25 if row.elementwise.loops else 1
    return portions


def _loops_cpp(group: list[Row], header: str, once: bool) -> str:
    lines = [
        *["// isa: all"] * (not once),
        f'#include "kernels/cpu/elementwise/{header}.h"',
        '#include "kernels/cpu/loops/elementwise_loop.h"',
        "",
        "namespace tl::cpu::TL_ISA_NAMESPACE {",
    ]
    for row in group:
        lines.append(f"extern const ElementwiseLoop {symbol(row)}_loops[kNumDTypes] = {{")
        lines += [_entry(row, d) for d in ENUM]
        lines.append("};")
        if row.elementwise.exact_number:
            lines.append(f"extern const ElementwiseLoop {symbol(row)}_number_loops[kNumDTypes] = {{")
            lines += [_number_entry(row, d) for d in ENUM]
            lines.append("};")
    return "\n".join([*lines, "}  // namespace tl::cpu::TL_ISA_NAMESPACE", ""])


def _macro(row: Row, dtype: str) -> str | None:
    """With which the type's loop is listed; None: it computes in a wider type."""
    e = row.elementwise
    if dtype in e.also:
        return "TL_UPPER_LOOP"
    if dtype not in (e.loops or e.dtypes):
        return None
    if e.moves or e.once or dtype in e.hot:
        return "TL_LOOP"
    return "TL_COLD_LOOP" if e.loops else LOOPS.get(dtype)


def _entry(row: Row, dtype: str) -> str:
    e, macro = row.elementwise, _macro(row, dtype)
    if macro is None:
        return "    nullptr,"
    t = MOVED_AS[SIZES[dtype]] if e.moves else CPP[dtype]
    real = REAL.get(dtype, t)
    out = {"bool": "bool", "real": real, "real float": real, "complex": f"ComplexOf<{t}>"}.get(e.to, t)
    inputs = [t] * e.inputs
    if e.condition:
        inputs[0] = "bool"
    return f"    {macro}({e.function}, {', '.join([out, *inputs])}),"


def _number_entry(row: Row, dtype: str) -> str:
    """The loop of halves whose last input is a float."""
    if dtype not in HALVES or _macro(row, dtype) is None:
        return "    nullptr,"
    types = [CPP[dtype]] * row.elementwise.inputs
    return f"    TL_UPPER_LOOP({row.elementwise.function}, {', '.join([*types, 'float'])}),"


def defs_h(rows: list[Row]) -> str:
    """`generated/elementwise_defs.h`: what the planner needs to know of each."""
    lines = ["#pragma once", '#include "ops/shared/elementwise.h"', "", "namespace tl {"]
    lines += [f"extern ElementwiseDef kElementwise_{symbol(r)};" for r in elementwise_rows(rows)]
    return "\n".join([*lines, "}  // namespace tl", ""])


def defs_cpp(rows: list[Row]) -> str:
    """`generated/elementwise_defs.cpp`: the definitions, with the loops of each level."""
    todo = elementwise_rows(rows)
    lines = [
        '#include "elementwise_defs.h"',
        '#include "kernels/cpu/loops/loop_table.h"',
        '#include "ops/elementwise/checks.h"',
        "",
        *ONE_LOOP,
        "namespace tl {",
    ]
    for level in ("base", "v3", "v4"):
        guard = level != "base"
        lines += ["#ifdef TL_ISA_X86"] * guard + [f"namespace cpu::{level} {{"]
        own = [r for r in todo if level == "base" or not r.elementwise.once]
        lines += [f"extern const ElementwiseLoop {name}[kNumDTypes];" for r in own for name in _tables(r)]
        lines += ["}"] + ["#endif"] * guard
    lines += [_definition(r) for r in todo]
    return "\n".join([*lines, "}  // namespace tl", ""])


def _tables(row: Row) -> list[str]:
    """The names of its tables of loops."""
    return [f"{symbol(row)}{of}_loops" for of in ["", "_number"][: 1 + bool(row.elementwise.exact_number)]]


def _definition(row: Row) -> str:
    e = row.elementwise
    rule = {
        "same": "Same",
        "float": "Float",
        "int": "Int",
        "bool": "Bool",
        "real": "Real",
        "real float": "RealFloat",
        "complex": "Complex",
    }[e.to]
    rest = row.args[e.inputs :]
    params = [a.name for a in rest if a.type in ("Scalar", "float", "int")]
    typed = sum(1 << i for i, name in enumerate(params) if params == ["alpha"] or name in e.typed)
    alpha = str(params == ["alpha"]).lower()
    dtypes = sum(1 << i for i, d in enumerate((*ENUM, *FLOAT8)) if d in e.dtypes)
    refusal = json.dumps(e.not_bool) if e.not_bool else "nullptr"
    check = f"check_{e.check}" if e.check else "check_not_bool" if e.not_bool else "nullptr"
    loops = ", ".join(f"TL_{'ONE_LOOP' if e.once else 'LOOPS'}_OF({name})" for name in _tables(row))
    exact = f"ExactNumber::{(e.exact_number or 'none').title()}"
    in_range, divides = str(e.in_range).lower(), str(e.divides).lower()
    flags = f"{str(e.condition).lower()}, {alpha}, {typed}, {divides}, {exact}, {in_range}"
    return (
        f'ElementwiseDef kElementwise_{symbol(row)} = {{"{row.base}", {e.inputs}, {len(params)}, Promote::{rule}, '
        f"{flags}, {refusal}, {check}, {dtypes:#x}, {loops}}};"
    )
