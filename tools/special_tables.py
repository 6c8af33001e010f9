"""The tables of the special functions, computed with mpmath: `python -m tools.special_tables [--check]`.

Writes special_tables.h of tl-core's elementwise kernels; `--check` only tells whether it is what would be written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import mpmath

PATH = Path(__file__).parents[1] / "packages/tl-core/csrc/kernels/cpu/elementwise/special_tables.h"

HEAD = """// Written by tools/special_tables.py, which computes these numbers.
#pragma once
// clang-format off

namespace tl::cpu::special {
"""


def number(value: mpmath.mpf) -> str:
    """As many digits as a double needs, and some."""
    return mpmath.nstr(value, 21, min_fixed=-4, max_fixed=20)


def rows(cells: list[str], per_row: int) -> str:
    """The cells in indented lines."""
    lines = [", ".join(cells[i : i + per_row]) for i in range(0, len(cells), per_row)]
    return ",\n".join(f"    {line}" for line in lines)


def digamma_root() -> str:
    """The positive root of digamma in two parts, and the Taylor series about it."""
    root = mpmath.findroot(mpmath.digamma, 1.46)
    high = mpmath.mpf(float(root))
    cells = [number(mpmath.polygamma(k, root) / mpmath.factorial(k)) for k in range(1, 40)]
    return (
        "// The positive root of digamma is their sum; the series about it begins with the first power.\n"
        f"constexpr double kDigammaRoot = {number(high)}, kDigammaRootRest = {number(root - high)};\n"
        f"constexpr double kDigammaSeries[] = {{\n{rows(cells, 4)}}};"
    )


def text() -> str:
    """The whole header."""
    mpmath.mp.dps = 50
    tables = [digamma_root()]
    return "\n".join([HEAD, *(f"{table}\n" for table in tables), "}  // namespace tl::cpu::special"]) + "\n"


def main(arguments: list[str]) -> int:
    """0 if the header is as it should be."""
    if "--check" not in arguments:
        PATH.write_text(text())
        return 0
    fresh = PATH.read_text() == text()
    print(f"{PATH.name}: {'as computed' if fresh else 'differs from what is computed'}")
    return 0 if fresh else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
