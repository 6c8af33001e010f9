"""`python -m tools.interfaces [--write] [--private]`: the names that packages use of each other.

`interfaces.txt` has one line for each name that a package uses of another package, with its signature and the packages
that use it. The command compares the lines with the sources and the importable packages. It fails where a used name is
gone and where a call by the recorded signature fails now. It prints the other lines that differ. `--write` writes the
file. `--private` lists the private names: an operator such as `_foreach_add` is public, as in PyTorch. `--installed
PACKAGE` checks one package where it is installed: the names that it uses, and its names in the record.

A package uses a name if it imports the name or reads it as an attribute of an imported module. Tables of names in text,
such as the façade's, are the lists of public names themselves and count as uses of their modules only.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.import_reader import ANY, read
from tools.packages import packages
from tools.python_imports import is_private, module_name
from tools.signatures import difference, parse_signature

FILE = Path(__file__).with_suffix(".txt")
HEAD = "# The names that packages use of each other, written by `python -m tools.interfaces --write`.\n"
PLAIN = (bool, int, float, str, type(None))  # defaults whose text is the same everywhere
USED = " <- "


@dataclass(frozen=True)
class Missing:
    """A name that a package uses and that the other package lacks."""

    user: str
    name: str


def chains(tree: ast.AST, aliases: dict[str, str]) -> Iterator[str]:
    """The dotted names that a file reads from the modules and names that it imports.

    Args:
        tree: the syntax tree of the file.
        aliases: the dotted name of each imported local name.

    Example:
        >>> sorted(chains(ast.parse("m.linalg.norm(x)"), {"m": "tl_core"}))
        ['tl_core.linalg', 'tl_core.linalg.norm']
    """
    for node in ast.walk(tree):
        words: list[str] = []
        while isinstance(node, ast.Attribute):
            words.append(node.attr)
            node = node.value
        if any(word.startswith("__") for word in words):
            continue
        if words and isinstance(node, ast.Name) and node.id in aliases:
            yield ".".join([aliases[node.id], *reversed(words)])


def dotted_names(source: Path, family: Iterable[str]) -> set[str]:
    """The dotted names of other packages in the sources of a package.

    Args:
        source: the folder of the package.
        family: the import names of all packages.
    """
    others = {*family} - {source.name}
    names: set[str] = set()
    for file in sorted(source.rglob("*.py")):
        reader = read(file, module_name(file, source))
        names.update(each.target.removesuffix(".*") for each in reader.imports)
        names.update(text for _, text in reader.texts if ANY not in text)
        names.update(chains(ast.parse(file.read_text()), reader.aliases))
    return {name for name in names if name.split(".")[0] in others}


def resolve(dotted: str) -> tuple[str, Any]:
    """The first part of a dotted name that is no module, and its value; the module if all parts are modules.

    Raises:
        AttributeError: a module lacks the name.
    """
    words = dotted.split(".")
    value: Any = importlib.import_module(words[0])
    for count, word in enumerate(words[1:], 2):
        path = ".".join(words[:count])
        if not hasattr(value, word) and _is_module(path):
            value = importlib.import_module(path)
        else:
            value = getattr(value, word)
        if not isinstance(value, ModuleType):
            return path, value
    return dotted, value


def _is_module(path: str) -> bool:
    try:
        importlib.import_module(path)
    except ModuleNotFoundError:
        return False
    return True


def signature(value: Any) -> str:
    """The arguments of a function or a class without their types; the type of any other value.

    Example:
        >>> def f(a: int, *, b=1): pass
        >>> signature(f), signature(3)
        ('(a, *, b=1)', ': int')
    """
    if isinstance(value, ModuleType):
        return ": module"
    if not callable(value):
        return f": {type(value).__name__}"
    if isinstance(value, type) and (issubclass(value, Enum) or not _has_own_constructor(value)):
        return ": class"
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return f": {type(value).__name__}"
    return str(inspect.Signature([_plain(each) for each in parameters]))


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter without its type; a default that is no number, text or None is an ellipsis."""
    default = parameter.default
    if default is not inspect.Parameter.empty and not isinstance(default, PLAIN):
        default = ...
    return parameter.replace(annotation=inspect.Parameter.empty, default=default)


def _has_own_constructor(value: type) -> bool:
    """Whether the arguments are of this repository: other signatures differ between versions of Python."""
    methods = (vars(base).get(name) for base in value.__mro__ for name in ("__init__", "__new__"))
    first = next(filter(None, methods), None)
    return (
        str(getattr(inspect.unwrap(first), "__module__", "")).split(".")[0] in _family() if first else False
    )


@cache
def _family() -> frozenset[str]:
    return frozenset(package.import_name for package in packages().values())


def uses(sources: Iterable[Path]) -> tuple[dict[str, str], dict[str, set[str]], list[Missing]]:
    """The used names with their signatures, the packages that use each, and the names that are gone.

    Args:
        sources: the folders of the packages.
    """
    folders = {source.name: source for source in sources}
    signatures: dict[str, str] = {}
    users: dict[str, set[str]] = defaultdict(set)
    missing: list[Missing] = []
    for user, source in folders.items():
        for dotted in sorted(dotted_names(source, folders)):
            try:
                name, value = resolve(dotted)
            except (AttributeError, ImportError):
                missing.append(Missing(user, dotted))
                continue
            signatures.setdefault(name, signature(value))
            users[name].add(user)
    return signatures, users, missing


def lines(signatures: dict[str, str], users: dict[str, set[str]]) -> list[str]:
    """One line a name."""
    return [f"{name}{signatures[name]}{USED}{' '.join(sorted(users[name]))}" for name in sorted(signatures)]


def by_name(record: list[str]) -> dict[str, str]:
    """The signature of each name in the lines of a record."""
    parts = (re.match(r"([^(:]+)(.*)" + USED, line) for line in record)
    return {part[1]: part[2] for part in parts if part}


def broken(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    """The names whose calls by the recorded signature fail now.

    Args:
        old: the recorded signatures.
        new: the present signatures.

    Example:
        >>> list(broken({"f": "(a, b=1)"}, {"f": "(a)"}))
        ['f(a, b=1): takes no b']
    """
    for name in sorted({*old, *new}):
        if name in old and name in new and old[name] != new[name]:
            theirs, ours = (parse_signature(each[name].strip("()")) for each in (old, new))
            if old[name].startswith(":") or theirs is None or ours is None:
                yield f"{name}{old[name]}: became {new[name]}"
            elif reason := difference(theirs, ours):
                yield f"{name}{old[name]}: {reason}"


def meeting(package: str, record: list[str]) -> Iterator[str]:
    """The calls between an installed package and the other installed packages that fail.

    Names of a module whose library of another project is not installed, an extra, are left out.

    Args:
        package: the import name of the package.
        record: the lines of the present record.
    """
    source = Path(str(importlib.import_module(package).__file__)).parent
    for dotted in sorted(dotted_names(source, _family())):
        try:
            resolve(dotted)
        except (AttributeError, ImportError) as error:
            if not _lacks_library(error):
                yield f"{package} uses {dotted}, which is not there"
    old = {name: text for name, text in by_name(record).items() if name.split(".")[0] == package}
    new = {}
    for name in old:
        try:
            new[name] = signature(resolve(name)[1])
        except (AttributeError, ImportError) as error:
            if not _lacks_library(error):
                yield f"{package} lacks {name}"
    yield from broken(old, new)


def _lacks_library(error: Exception) -> bool:
    """Whether a module could not be loaded because a library of another project is not installed."""
    library = (error.name or "").split(".")[0] if isinstance(error, ImportError) else ""
    return bool(library) and library not in _family()


def main(arguments: list[str] | None = None) -> int:
    """Compares or writes."""
    parser = argparse.ArgumentParser(prog="python -m tools.interfaces", description=__doc__)
    for option in ("--write", "--private"):
        parser.add_argument(option, action="store_true")
    parser.add_argument("--installed", metavar="PACKAGE", help="the import name of an installed package")
    options = parser.parse_args(arguments)
    record = FILE.read_text().splitlines()[1:]
    if options.installed:
        calls = list(meeting(options.installed, record))
        print("\n".join(calls))
        return 1 if calls else 0
    signatures, users, missing = uses(package.source for package in packages().values())
    for each in missing:
        print(f"{each.user} uses {each.name}, which is not there")
    private = [name for name in sorted(signatures) if any(map(is_private, name.split(".")))]
    if options.private:
        print("\n".join(f"{name}{USED}{' '.join(sorted(users[name]))}" for name in private))
    print(f"{len(signatures)} names, {len(private)} of them private, {len(missing)} missing")
    new = lines(signatures, users)
    if options.write:
        FILE.write_text(HEAD + "".join(f"{line}\n" for line in new))
        return 1 if missing else 0
    return compare(record, new) or (1 if missing else 0)


def compare(old: list[str], new: list[str]) -> int:
    """Prints the lines that differ; the exit status is 1 where a call fails now."""
    calls = list(broken(by_name(old), by_name(new)))
    if calls:
        print("\n".join(calls))
    stale = len({*old} ^ {*new})
    if stale:
        print(f"{stale} lines of {FILE.name} differ: run `python -m tools.interfaces --write`")
    return 1 if calls else 0


if __name__ == "__main__":
    sys.exit(main())
