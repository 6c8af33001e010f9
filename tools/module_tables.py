"""`python -m tools.module_tables`: modules that no table of their package names.

The tables of a package are in its README and in the design pages that the README links to. The first column of a table
names modules, folders and files of C++.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.packages import ROOT, Package, packages

UNNAMED = {"__init__", "__main__", "__pycache__", "version", "compat"}  # alike in every package
SUFFIXES = {".py", ".cpp", ".c", ".h"}
DESIGN_LINK = re.compile(r"\]\((?:\.\./)+docs/design/(\w[\w-]*\.md)")


def modules(package: Package) -> set[str]:
    """The modules and folders directly in a package, and those in its C++. A folder of stubs alone is no module.

    Args:
        package (Package): The package.

    Returns:
        set[str]: The names without suffixes.
    """
    paths = [p for folder in (package.source, package.folder / "csrc") for p in folder.glob("*")]
    folders = {p.stem for p in paths if p.is_dir() and {f.suffix for f in p.rglob("*.*")} != {".pyi"}}
    return {p.stem for p in paths if p.suffix in SUFFIXES} - UNNAMED | folders - UNNAMED


def first_column(text: str) -> set[str]:
    """The names in the first columns of a page's tables.

    Args:
        text (str): The page, in Markdown.

    Returns:
        set[str]: The words in backticks. A path counts as its first part and its last.
    """
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("|")]
    names: set[str] = set()
    for path in re.findall(r"`([^`]+)`", " ".join(cells)):
        parts = [part for part in path.split("/") if part]
        names |= {re.split(r"\W", part)[0] for part in (parts[0], parts[-1])}
    return names


def pages(package: Package, root: Path = ROOT) -> list[Path]:
    """The README of a package, and the design pages that it links to.

    Args:
        package (Package): The package.
        root (Path): The folder of the repository.

    Returns:
        list[Path]: The files.
    """
    readme = package.folder / "README.md"
    if not readme.exists():
        return []
    return [readme, *(root / "docs/design" / name for name in DESIGN_LINK.findall(readme.read_text()))]


def missing(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Modules that the tables lack.

    Args:
        root (Path): The folder of the repository.

    Yields:
        tuple[str, str]: The distribution and the name of the module.
    """
    for dist, package in packages(root).items():
        names = {name for page in pages(package, root) for name in first_column(page.read_text())}
        yield from ((dist, name) for name in sorted(modules(package) - names))


def main() -> int:
    """Prints the missing modules. The exit status is 1 if there are any."""
    lines = [
        f"{dist}: no table of its README or of a linked design page names {name}" for dist, name in missing()
    ]
    print(*lines, sep="\n", end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
