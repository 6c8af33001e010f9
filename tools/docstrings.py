"""`python -m tools.docstrings`: public functions and classes describe their arguments and show an example.

Prints those with three or more arguments whose docstring does not name every one under `Args:`, those of the
reference's pages for users without an example, and both shares; fails below the floors, which only rise.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

from tools.packages import ROOT, packages
from tools.public_names import entries, home_of

FLOOR = 0.97
EXAMPLES_FLOOR = 0.96
FEWEST = 3
FACADE = "tl"
TUPLES = "tl.return_types"  # what operators return: they count through their operators
_HEADINGS = ("Args:", "Arguments:", "Parameters:", "Keyword args:")
_UNNAMED = {"self", "cls"}


def arguments(value: Any) -> list[str]:
    """The names of a callable's arguments; none where it has no signature."""
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return []
    return [name for name in parameters if name not in _UNNAMED and not name.startswith("_")]


def described(doc: str, headings: tuple[str, ...] = _HEADINGS) -> set[str]:
    """The names that a docstring describes under `Args:`: `x, y (int): …`, `*sizes: …`, or a name on its own line."""
    found: set[str] = set()
    indent: int | None = None
    for line in inspect.cleandoc(doc).splitlines():
        depth = len(line) - len(line.lstrip())
        if line.strip() in headings:
            indent = depth
        elif indent is not None and line.strip():
            if depth <= indent:
                indent = None
            elif match := re.match(r"\s+([*\w, `]+?)\s*(\(.*?\))?\s*(:|$)", line):
                found |= {name.strip(" *`") for name in match[1].split(",")}
    return found


def missing(value: Any) -> list[str]:
    """The arguments that the docstring of a callable leaves out; a data class may describe them as attributes."""
    headings = (*_HEADINGS, "Attributes:") if dataclasses.is_dataclass(value) else _HEADINGS
    named = described(inspect.getdoc(value) or "", headings)
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


def has_example(value: Any) -> bool:
    """Whether the docstring of a function or class has an example; methods count through their class."""
    doc = getattr(value, "__doc__", None)
    return isinstance(doc, str) and ">>>" in doc


def wants_example(name: str, value: Any, names: set[str]) -> bool:
    """Whether a public name counts: a function or a class that is defined here.

    Errors are raised rather than used, and in-place forms count through their function.
    """
    if inspect.isclass(value):
        if issubclass(value, BaseException):
            return False
    elif not inspect.isroutine(value):
        return False
    ours = {p.import_name for p in packages().values()}
    home = home_of(value if inspect.isclass(value) else inspect.unwrap(value)).partition(".")[0]
    in_place = name.endswith("_") and name[:-1] in names
    return not name.startswith("_") and not in_place and home in {"builtins", *ours}


def user_modules() -> set[str]:
    """The modules that the reference has pages for, under the names that programs use."""
    lines = (ROOT / "docs" / "user_modules.txt").read_text().splitlines()
    return {line for line in lines if line and line[0] not in "#="} - {TUPLES}


def on_user_pages() -> Iterator[tuple[str, Any]]:
    """The functions and classes of the reference's pages for users, each once, under the first name."""
    facade = importlib.import_module(FACADE)
    table = importlib.import_module(f"{FACADE}._names")
    pages, seen = user_modules(), set()
    for package in (p.import_name for p in packages().values() if p.import_name != FACADE):
        for module, listed in entries(package):
            below = table.facade_of(module.__name__)
            page = FACADE if below == "" or module.__name__ == table.CORE else f"{FACADE}.{below}"
            names = set(listed)
            if module.__name__ == table.CORE:
                names |= {name for name in table.OBJECTS if "." not in name and hasattr(facade, name)}
            for name in sorted(names) if page in pages else ():
                value = getattr(module, name, None) or getattr(facade, name, None)
                if id(value) not in seen and wants_example(name, value, names):
                    seen.add(id(value))
                    yield f"{page}.{name}", value


def report_examples() -> float:
    """Prints the names of the pages for users that have no example, and the share that has one; returns it."""
    counts: dict[str, list[int]] = {}
    for name, value in on_user_pages():
        area = counts.setdefault(".".join(name.split(".")[: 2 if name.count(".") > 1 else 1]), [0, 0])
        area[0] += has_example(value)
        area[1] += 1
        if not has_example(value):
            print(f"{name}: no example")
    for name, (shown, total) in sorted(counts.items()):
        print(f"{name}: {shown} of {total} have an example")
    shown, total = (sum(column) for column in zip(*counts.values(), strict=True))
    print(f"{shown} of {total} functions and classes have an example: {shown / total:.1%}")
    return shown / total


def main() -> int:
    """The command: the packages named on the command line, or all, and then the examples too."""
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
    examples = 1.0 if sys.argv[1:] else report_examples()
    return 0 if share >= FLOOR and examples >= EXAMPLES_FLOOR else 1


if __name__ == "__main__":
    sys.exit(main())
