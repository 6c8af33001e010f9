"""`python -m tools.doc_coverage SITE`: which public names the built site lacks, and which have no docstring.

The tool reads the inventory of the site (`objects.inv`) and the files of its pages, not the program that writes them.
An object with several names needs an entry under one of them. Each name of a module that programs use needs a page of
its own, and each public member of a class an entry at the class or at one of its bases.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tl_core.base import name_table
from tools import public_names
from tools.packages import ROOT, packages

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


def unlisted(known: set[str], names: list[tuple[str, Any]]) -> Iterator[str]:
    """The public names without an entry, and the members of Tensor."""
    values = {(name.rpartition(".")[2], id(resolve(name))) for name in known}
    identities = {identity for _, identity in values}
    for dotted, value in names:
        constant = isinstance(value, public_names.CONSTANT)
        there = (dotted.rpartition(".")[2], id(value)) in values if constant else id(value) in identities
        if not there:
            yield dotted
    tensor = importlib.import_module("tl_core").Tensor
    yield from (f"tl.Tensor.{n}" for n in dir(tensor) if n[0] != "_" and f"tl.Tensor.{n}" not in known)


def user_modules() -> list[str]:
    """The modules that programs use."""
    lines = (ROOT / "docs" / "user_modules.txt").read_text().splitlines()
    return [line for line in lines if line.startswith("tl") and line != "tl.Tensor"]


def user_names() -> Iterator[str]:
    """Every name of the modules that programs use, as they write it."""
    lines = user_modules()
    for package in packages().values():
        for module, names in public_names.entries(package.import_name):
            facade = name_table.facade_of(module.__name__)
            dotted = f"tl.{facade}" if facade else "tl"
            if facade is not None and dotted in lines:
                yield from (f"{dotted}.{name}" for name in names)


def without_page(site: Path, names: list[str]) -> Iterator[str]:
    """The names that programs use without a page of their own."""
    pages = {file.stem for file in (site / "reference" / "generated").glob("tl.*.html")}
    yield from (name for name in names if name not in pages)
    members = (f"tl.Tensor.{name}" for name in dir(resolve("tl.Tensor")) if name[0] != "_")
    yield from (name for name in members if name not in pages)


def entries_of_classes(known: set[str]) -> dict[type, list[str]]:
    """The entries of each class that programs use."""
    result: dict[type, list[str]] = {}
    for name in sorted(known):
        value = resolve(name) if name.startswith("tl.") else None
        if inspect.isclass(value):
            result.setdefault(value, []).append(name)
    return result


def members_without_entry(known: set[str]) -> Iterator[str]:
    """The public members of classes, inherited ones too, that neither the class nor a base has in the inventory."""
    classes = entries_of_classes(known)
    ours = {p.import_name for p in packages().values()}
    for cls, names in classes.items():
        for member in (name for name in dir(cls) if not name.startswith("_")):
            home = next(
                base for base in [*cls.__mro__, cls] if member in vars(base) or base is cls.__mro__[-1]
            )
            listed = (f"{name}.{member}" for base in cls.__mro__ for name in classes.get(base, ()))
            if public_names.home_of(home).partition(".")[0] in ours and known.isdisjoint(listed):
                yield f"{names[0]}.{member}"


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
    return bool(inspect.getdoc(value)) or isinstance(
        getattr(value, "__doc__", None), property | types.GetSetDescriptorType
    )


def main() -> int:
    """Prints what is missing; the exit status is 1 if anything is."""
    site = Path(sys.argv[1])
    known = inventory(site / "objects.inv")
    # First, because the façade gives modules the names that PyTorch's modules export.
    names = [
        name for package in sorted(p.import_name for p in packages().values()) for name in offered(package)
    ]
    users = [*user_names()]
    for name in user_modules():
        importlib.import_module(name)
    lacks: dict[str, list[Any]] = {
        "no entry": [*unlisted(known, names), *members_without_entry(known)],
        "no page": [*without_page(site, users)],
        "no docstring": [*undescribed(known)],
    }
    for text, names in lacks.items():
        print(*(f"{name}: {text}" for name in names), sep="\n", end="\n" if names else "")
    counts = ", ".join(f"{len(names)} with {text}" for text, names in lacks.items())
    print(f"{len(known)} entries, {len(entries_of_classes(known))} classes of programs; {counts}")
    return 1 if any(lacks.values()) or not known else 0


if __name__ == "__main__":
    sys.exit(main())
