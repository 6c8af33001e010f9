"""`python -m tools.affected [BASE]`: the packages that a change since BASE (origin/main) can break, as a JSON list.

A file below packages/<dist>/ affects that package and all that depend on it; a file anywhere else but docs affects all.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import PurePosixPath

from tools.packages import ROOT, dependents, packages

HARMLESS = {"docs", "README.md", "LICENSE", ".gitignore"}
TEXT_ONLY = {"README.md", "CHANGELOG.md", "changes", "LICENSE"}


def affected(files: list[str], every: list[str]) -> list[str]:
    """The packages of `every` that changes of `files` can break."""
    touched: set[str] = set()
    for name in files:
        parts = PurePosixPath(name).parts
        if parts[0] in HARMLESS:
            continue
        if parts[0] != "packages" or len(parts) < 3:
            return every
        if parts[2] not in TEXT_ONLY:
            touched.add(parts[1])
    reached = dependents(touched)
    return [dist for dist in every if dist in reached]


def changed(base: str) -> list[str]:
    """The files that differ from where `base` and HEAD parted."""
    command = ["git", "diff", "--name-only", f"{base}...HEAD"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def main() -> None:
    """Prints them."""
    base = sys.argv[1] if len(sys.argv) > 1 else "origin/main"
    print(json.dumps(affected(changed(base), list(packages()))))


if __name__ == "__main__":
    main()
