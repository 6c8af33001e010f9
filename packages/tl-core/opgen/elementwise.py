"""The elementwise operators' loops, instantiated for every instruction set, and their table."""

from __future__ import annotations

import json

from opgen.row import Row

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
LOOPS = {**dict.fromkeys(HOT, "TL_LOOP"), **dict.fromkeys(COLD, "TL_COLD_LOOP"), "bfloat16": "TL_HALF_LOOP"}
# What only moves elements asks for their size alone.
MOVED_AS = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t", 16: "Complex128"}
SIZES = {d: int("".join(filter(str.isdigit, d)) or 8) // 8 for d in ENUM}
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
    """`generated/elementwise_<n>.cpp`: the loops of a few operators, compiled once for each instruction set."""
    todo = elementwise_rows(rows)
    groups = [todo[i : i + ROWS_PER_FILE] for i in range(0, len(todo), ROWS_PER_FILE)]
    return {f"elementwise_{n:02}.cpp": _loops_cpp(group) for n, group in enumerate(groups)}


def _loops_cpp(group: list[Row]) -> str:
    lines = ["// isa: all", '#include "kernels/cpu/functions/all.h"', '#include "kernels/cpu/loops.h"', "",
             "namespace tl::cpu::TL_ISA_NAMESPACE {"]  # fmt: skip
    for row in group:
        lines.append(f"extern const ElementwiseLoop {symbol(row)}_loops[kNumDTypes] = {{")
        lines += [_entry(row, d) for d in ENUM]
        lines.append("};")
    return "\n".join([*lines, "}  // namespace tl::cpu::TL_ISA_NAMESPACE", ""])


def _entry(row: Row, dtype: str) -> str:
    e = row.elementwise
    macro = "TL_LOOP" if e.moves else LOOPS.get(dtype)
    if dtype not in e.dtypes or macro is None:
        return "    nullptr,"
    t = MOVED_AS[SIZES[dtype]] if e.moves else CPP[dtype]
    out = {"bool": "bool", "real": REAL.get(dtype, t)}.get(e.to, t)
    inputs = [t] * e.inputs
    if e.condition:
        inputs[0] = "bool"
    return f"    {macro}({e.function}, {', '.join([out, *inputs])}),"


def defs_h(rows: list[Row]) -> str:
    """`generated/elementwise_defs.h`: what the planner needs to know of each."""
    lines = ["#pragma once", '#include "ops/elementwise.h"', "", "namespace tl {"]
    lines += [f"extern ElementwiseDef kElementwise_{symbol(r)};" for r in elementwise_rows(rows)]
    return "\n".join([*lines, "}  // namespace tl", ""])


def defs_cpp(rows: list[Row]) -> str:
    """`generated/elementwise_defs.cpp`: the definitions, with the loops of each level."""
    todo = elementwise_rows(rows)
    lines = ['#include "elementwise_defs.h"', '#include "kernels/cpu/loop.h"', "", "namespace tl {"]
    for level in ("base", "v3", "v4"):
        guard = level != "base"
        lines += ["#ifdef TL_ISA_X86"] * guard + [f"namespace cpu::{level} {{"]
        lines += [f"extern const ElementwiseLoop {symbol(r)}_loops[kNumDTypes];" for r in todo]
        lines += ["}"] + ["#endif"] * guard
    lines += [_definition(r) for r in todo]
    return "\n".join([*lines, "}  // namespace tl", ""])


def _definition(row: Row) -> str:
    e = row.elementwise
    rule = {"same": "Same", "float": "Float", "int": "Int", "bool": "Bool", "real": "Real"}[e.to]
    rest = row.args[e.inputs :]
    params = len([a for a in rest if a.type in ("Scalar", "float", "int")])
    alpha = str(any(a.name == "alpha" for a in rest)).lower()
    dtypes = sum(1 << i for i, d in enumerate(ENUM) if d in e.dtypes)
    refusal = json.dumps(e.not_bool) if e.not_bool else "nullptr"
    return (f'ElementwiseDef kElementwise_{symbol(row)} = {{"{row.base}", {e.inputs}, {params}, Promote::{rule}, '
            f"{str(e.condition).lower()}, {alpha}, {refusal}, {dtypes:#x}, "
            f"TL_LOOPS_OF({symbol(row)}_loops)}};")  # fmt: skip
