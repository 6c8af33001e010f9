"""`python -m tools.untested_names [PACKAGE ...]`: public functions and classes that no test of their package names.

The count covers the functions and classes at the top of each public module outside `compat/`. A test names a function
or a class if its word is in a file of the folder `tests`. Without arguments the tool prints the share of each package,
otherwise the names. The exit status is 1 if a share is above 15 %.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from tools.packages import Package, packages
from tools.public_names import is_public

MOST = 0.15


def public_names(source: Path) -> list[tuple[str, str]]:
    """The module and the name of each public function and class at the top of a module.

    Args:
        source: the folder of the package's Python code.
    """
    result = []
    for file in sorted(source.rglob("*.py")):
        module = ".".join(file.relative_to(source.parent).with_suffix("").parts).removesuffix(".__init__")
        if is_public(module) and ".compat" not in module:
            definitions = (n for n in ast.parse(file.read_text()).body if hasattr(n, "name"))
            result += [(module, n.name) for n in definitions if not n.name.startswith("_")]
    return sorted(set(result))


def untested_names(package: Package) -> tuple[list[tuple[str, str]], int]:
    """The public names that no test names, with their modules, and the number of all public names.

    Args:
        package: the package.
    """
    names = public_names(package.source)
    files = (
        file for file in (package.folder / "tests").rglob("*") if file.suffix in (".py", ".json", ".txt")
    )
    words = {word for file in files for word in re.findall(r"\w+", file.read_text())}
    return [(module, name) for module, name in names if name not in words], len(names)


def main() -> int:
    """Prints the shares or the names; the exit status is 1 if a share is too high."""
    chosen = sys.argv[1:]
    status = 0
    for dist in chosen or packages():
        missing, count = untested_names(packages()[dist])
        if chosen:
            print("\n".join(f"{module}.{name}" for module, name in missing))
        share = len(missing) / max(count, 1)
        status |= share > MOST
        print(f"{dist:16} {len(missing):4} of {count:4} public names are in no test: {share:.0%}")
    return status


if __name__ == "__main__":
    sys.exit(main())
