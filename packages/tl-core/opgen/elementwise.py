"""The elementwise operators' loops, instantiated for every instruction set, and their table."""

from __future__ import annotations

from opgen.row import Row

ENUM = {"bool": "Bool", "uint8": "UInt8", "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64",
        "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float16": "Float16", "bfloat16": "BFloat16",
        "float32": "Float32", "float64": "Float64", "complex32": "Complex32", "complex64": "Complex64",
        "complex128": "Complex128"}  # fmt: skip
REAL = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
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
    lines = ["// isa: all", '#include "kernels/cpu/functions/all.h"', '#include "kernels/cpu/loops.h"', ""]
    for row in group:
        lines.append(f"TL_LOOPS_BEGIN({symbol(row)})")
        lines += [_entry(row, d) for d in row.elementwise.dtypes]
        lines.append(f"TL_LOOPS_END({symbol(row)})")
    return "\n".join([*lines, ""])


def _entry(row: Row, dtype: str) -> str:
    e = row.elementwise
    out = {"bool": "bool", "real": REAL.get(dtype, dtype)}.get(e.to, dtype)
    inputs = [dtype] * e.inputs
    if e.condition:
        inputs[0] = "bool"
    return f"TL_LOOP({e.function}, {', '.join(ENUM[d] for d in [out, *inputs])})"


def defs_h(rows: list[Row]) -> str:
    """`generated/elementwise_defs.h`: what the planner needs to know of each."""
    lines = ["#pragma once", '#include "ops/elementwise.h"', "", "namespace tl {"]
    lines += [f"extern ElementwiseDef kElementwise_{symbol(r)};" for r in elementwise_rows(rows)]
    return "\n".join([*lines, "}  // namespace tl", ""])


def defs_cpp(rows: list[Row]) -> str:
    """`generated/elementwise_defs.cpp`: the definitions."""
    todo = elementwise_rows(rows)
    lines = ['#include "elementwise_defs.h"', "", "namespace tl {", "namespace cpu {"]
    lines += [f"LoopSet {symbol(r)}_loops();" for r in todo]
    lines.append("}  // namespace cpu")
    lines += [_definition(r) for r in todo]
    return "\n".join([*lines, "}  // namespace tl", ""])


def _definition(row: Row) -> str:
    e = row.elementwise
    rule = {"same": "Same", "float": "Float", "bool": "Bool", "real": "Real"}[e.to]
    rest = row.args[e.inputs :]
    params = len([a for a in rest if a.type in ("Scalar", "float", "int")])
    alpha = str(any(a.name == "alpha" for a in rest)).lower()
    return (f'ElementwiseDef kElementwise_{symbol(row)} = {{"{row.base}", {e.inputs}, {params}, Promote::{rule}, '
            f"{str(e.condition).lower()}, {alpha}, &cpu::{symbol(row)}_loops}};")  # fmt: skip
