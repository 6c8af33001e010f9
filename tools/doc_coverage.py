"""`python -m tools.doc_coverage SITE`: which public names the built site lacks, and which have no docstring.

What the site has is read from its inventory (`objects.inv`), not from the program that writes the pages. An object that
is offered under several names needs an entry under one of them.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools import public_names
from tools.packages import packages

HEADER_LINES = 4


def inventory(file: Path) -> set[str]:
    """The Python names in a Sphinx inventory: four lines of text, then compressed lines `name domain:role …`."""
    body = file.read_bytes().split(b"\n", HEADER_LINES)[HEADER_LINES]
    lines = (line.split(" ") for line in zlib.decompress(body).decode().splitlines())
    return {words[0] for words in lines if words[1].startswith("py:")}


def resolve(dotted: str) -> Any:
    """The object of a dotted name, or None."""
    parts = dotted.split(".")
    for count in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:count]))
        if module is not None:
            found: Any = module
            for part in parts[count:]:
                found = getattr(found, part, None)
            return found
    return None


def offered(package: str) -> Iterator[tuple[str, Any]]:
    """Every public name that a package's modules have of packages of this repository."""
    ours = {p.import_name for p in packages().values()}
    for module in public_names.modules(package):
        for name in public_names.names(module):
            value = getattr(module, name)
            if public_names.home_of(value).partition(".")[0] in ours or isinstance(
                value, public_names.CONSTANT
            ):
                yield f"{module.__name__}.{name}", value


def unlisted(known: set[str]) -> Iterator[str]:
    """The public names without an entry, and the members of Tensor."""
    values = {(name.rpartition(".")[2], id(resolve(name))) for name in known}
    identities = {identity for _, identity in values}
    for package in sorted(p.import_name for p in packages().values()):
        for dotted, value in offered(package):
            constant = isinstance(value, public_names.CONSTANT)
            there = (dotted.rpartition(".")[2], id(value)) in values if constant else id(value) in identities
            if not there:
                yield dotted
    tensor = importlib.import_module("tl_core").Tensor
    yield from (f"tl.Tensor.{n}" for n in dir(tensor) if n[0] != "_" and f"tl.Tensor.{n}" not in known)


def is_passed_on(value: Any) -> bool:
    """Whether an object is one of Python's own library, offered as it is there."""
    # Methods of native types, ours too, say that they come from `builtins`.
    first = public_names.home_of(value).partition(".")[0]
    return first != "builtins" and first in sys.stdlib_module_names


def undescribed(known: set[str]) -> Iterator[str]:
    """The listed classes, functions and methods of ours without a docstring."""
    for name in sorted(known):
        value = resolve(name)
        if not is_described(value) and not is_passed_on(value):
            yield name


def is_described(value: Any) -> bool:
    """Whether a class or function has a text; where `__doc__` is a property, each of its objects has its own."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return True
    return bool(inspect.getdoc(value)) or isinstance(getattr(value, "__doc__", None), property)


def main() -> int:
    """Prints what is missing; the exit status is 1 if anything is."""
    known = inventory(Path(sys.argv[1]) / "objects.inv")
    for package in packages().values():
        public_names.modules(package.import_name)
    missing, silent = list(unlisted(known)), list(undescribed(known))
    for text, names in (("no entry", missing), ("no docstring", silent)):
        for name in names:
            print(f"{name}: {text}")
    print(
        f"{len(known)} entries; {len(missing)} names without one, {len(silent)} entries without a docstring"
    )
    return 1 if missing or silent or not known else 0


if __name__ == "__main__":
    sys.exit(main())
