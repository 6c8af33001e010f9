"""`python -m tools.layers [ROOT]`: the imports, includes and files that a package may use.

Violations are printed as `path:line: message`; the exit status is 1 if there are any.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import includes, neighbours, python_imports
from tools.packages import ROOT, packages


@dataclass(frozen=True, order=True)
class Violation:
    """One line that breaks a rule."""

    path: Path
    line: int
    message: str


def violations(root: Path = ROOT) -> Iterator[Violation]:
    """Everything below `root` that breaks a rule."""
    for module in (python_imports, includes, neighbours):
        for path, line, message in module.violations(root):
            yield Violation(path.relative_to(root), line, message)


def main() -> int:
    """Prints the violations."""
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    found = sorted(violations(root))
    for v in found:
        print(f"{v.path}:{v.line}: {v.message}")
    print(f"{len(packages(root))} packages, {len(found)} violations of the layers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
