"""`python -m opgen --out FOLDER`: writes everything that is derived from the rows."""

from __future__ import annotations

import argparse
from pathlib import Path

from opgen import (
    collect,
    cpp_functions,
    cpp_headers,
    derivative,
    elementwise,
    facts,
    name_rules,
    operators,
    python_table,
    rules,
    shape_rules,
    stub,
)


def outputs() -> dict[str, str]:
    """File name -> text."""
    rows = collect.rows()
    programs = derivative.programs(rows)
    return {
        "operators.cpp": operators.operators_cpp(rows, derivative.symbols(programs)),
        "programs.h": derivative.programs_h(programs),
        "programs.cpp": derivative.programs_cpp(programs),
        "rules.cpp": rules.rules_cpp(rows),
        "ops.h": operators.ops_h(rows),
        "ops.cpp": operators.ops_cpp(rows),
        "kernel_args.h": operators.kernel_args_h(rows),
        "undeclared_kernel_args.h": operators.kernel_args_h(rows, declared=False),
        "elementwise_defs.h": elementwise.defs_h(rows),
        "elementwise_defs.cpp": elementwise.defs_cpp(rows),
        "name_rules.cpp": name_rules.name_rules_cpp(rows),
        "python_table.cpp": python_table.python_table_cpp(rows),
        "_shapes.json": shape_rules.shapes_json(rows),
        "_facts.json": facts.facts_json(rows),
        "_ops.json": python_table.ops_json(rows),
        "_C.pyi": stub.native_pyi(rows),
        "names.txt": "\n".join(
            sorted({f.name for f in python_table.functions(rows) if f.function or f.method})
        )
        + "\n",
        **elementwise.loop_files(rows),
        **{f"include/{name}": text for name, text in cpp_headers.headers().items()},
        "include/tl/torch/functions.hpp": cpp_functions.functions_hpp(rows),
        "include/tl/torch/methods.hpp": cpp_functions.methods_hpp(rows),
        "include/tl/torch/spaces.hpp": cpp_functions.spaces_hpp(rows),
    }


def main() -> None:
    """Writes files whose text changed."""
    parser = argparse.ArgumentParser(prog="opgen", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in outputs().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


main()
