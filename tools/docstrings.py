"""`python -m tools.docstrings`: public functions and classes with three or more arguments describe each of them.

Prints those whose docstring does not name every argument under `Args:`, and the share that does; fails below FLOOR.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

from tools.packages import packages
from tools.public_names import entries, home_of

FLOOR = 0.97
FEWEST = 3
_HEADINGS = ("Args:", "Arguments:", "Parameters:", "Keyword args:")
_UNNAMED = {"self", "cls"}


def arguments(value: Any) -> list[str]:
    """The names of a callable's arguments; none where it has no signature."""
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return []
    return [name for name in parameters if name not in _UNNAMED and not name.startswith("_")]


def described(doc: str) -> set[str]:
    """The names that a docstring describes under `Args:`: `x, y (int): …`, `*sizes: …`, or a name on its own line."""
    found: set[str] = set()
    indent: int | None = None
    for line in inspect.cleandoc(doc).splitlines():
        depth = len(line) - len(line.lstrip())
        if line.strip() in _HEADINGS:
            indent = depth
        elif indent is not None and line.strip():
            if depth <= indent:
                indent = None
            elif match := re.match(r"\s+([*\w, `]+?)\s*(\(.*?\))?\s*(:|$)", line):
                found |= {name.strip(" *`") for name in match[1].split(",")}
    return found


def missing(value: Any) -> list[str]:
    """The arguments that the docstring of a callable leaves out."""
    named = described(inspect.getdoc(value) or "")
    return [name for name in arguments(value) if name not in named]


def is_enumeration(value: Any) -> bool:
    """Whether a value is an enumeration, whose signature is that of every enumeration."""
    return inspect.isclass(value) and issubclass(value, enum.Enum)


def public(package: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """The public functions and classes of a package with at least FEWEST arguments that `seen` lacks, each once.

    What a package passes on from Python's library is described there.
    """
    ours = {p.import_name for p in packages().values()}
    for module, names in entries(package):
        for name in names:
            value = getattr(module, name)
            if is_enumeration(value) or id(value) in seen or not callable(value):
                continue
            if home_of(inspect.unwrap(value)).partition(".")[0] in sys.stdlib_module_names - ours:
                continue
            if len(arguments(value)) >= FEWEST:
                seen.add(id(value))
                yield f"{module.__name__}.{name}", value


def main() -> int:
    """The command: the packages named on the command line, or all."""
    total = lacking = 0
    seen: set[int] = set()  # the façade last: its names are other packages'
    for package in sys.argv[1:] or [p.import_name for p in packages().values()]:
        importlib.import_module(package)
        for name, value in public(package, seen):
            total += 1
            if left := missing(value):
                lacking += 1
                print(f"{name}: {', '.join(left)}")
    share = 1 - lacking / total if total else 1.0
    print(f"{total - lacking} of {total} describe their arguments: {share:.1%}")
    return 0 if share >= FLOOR else 1


if __name__ == "__main__":
    sys.exit(main())
