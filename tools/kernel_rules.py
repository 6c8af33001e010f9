"""`python -m tools.kernel_rules [ROOT]`: kernels raise nothing, and one function has the opmath rule.

A check belongs to the operator (`csrc/ops/`, shared ones in `csrc/iter/`), which runs it before a kernel does anything.
The opmath rule, float32 for halves, belongs to `csrc/iter/dtypes.cpp`: everybody else asks `opmath_type`.
Violations are printed as `path:line: message`; the exit status is 1 if there are any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.includes import SUFFIXES
from tools.packages import ROOT

NATIVE = Path("packages/tl-core/csrc")
KERNELS = NATIVE / "kernels"
OPMATH_HOME = NATIVE / "iter/dtypes.cpp"

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
RAISES = re.compile(r"\b(?:fail|raise_\w+)\s*\(|\bTL_CHECK\b|\bthrow\b")
OPMATH = re.compile(
    r"\bis_half\([^;?]*\)\s*\?\s*(?:to_dtype\([^;:]*)?DType::Float32\b"
    r"|case DType::(?:Float16|BFloat16):\s*(?:case DType::\w+:\s*)*return DType::Float32\b"
)

Found = tuple[Path, int, str]


def without_comments(text: str) -> str:
    """C++ with its comments and strings blanked out, line by line."""
    return COMMENT_OR_STRING.sub(lambda m: "\n" * m[0].count("\n"), text)


def sources(folder: Path) -> Iterator[Path]:
    """The C and C++ files below a folder."""
    return (f for f in sorted(folder.rglob("*")) if f.suffix in SUFFIXES)


def matches(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[Path, int, str]]:
    """(file, line, text) of each match."""
    for file in sources(folder):
        text = without_comments(file.read_text(errors="replace"))
        for match in pattern.finditer(text):
            yield file, text.count("\n", 0, match.start()) + 1, " ".join(match[0].split())


def violations(root: Path = ROOT) -> Iterator[Found]:
    """(path, line, message) of what breaks a rule."""
    for file, line, text in matches(root / KERNELS, RAISES):
        yield file, line, f"a kernel raises: {text}"
    for file, line, text in matches(root / NATIVE, OPMATH):
        if file != root / OPMATH_HOME:
            yield file, line, f"a copy of opmath_type: {text}"


def main() -> int:
    """Prints the violations."""
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    found = list(violations(root))
    for path, line, message in found:
        print(f"{path.relative_to(root)}:{line}: {message}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
