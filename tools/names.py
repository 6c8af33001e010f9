"""`python -m tools.names [--files]`: variables and functions with a participle or pronoun for a name, by `names.toml`.

The variables of a package's tests have a limit of their own.

A name is a noun or a verb of the field: `result`, `node`, `expr`, `sizes`, `lower_call`. A participle such as `found`
or `given` hides what the value is.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.packages import ROOT, packages

LIMITS = Path(__file__).with_suffix(".toml")

# Words that hide what a value is.
VAGUE = frozenset(
    {
        "made", "found", "given", "kept", "held", "said", "told", "wanted", "taken", "seen", "done", "gone", "got",
        "come", "known", "meant", "written", "drawn", "chosen", "sent", "brought", "sought", "thought", "its",
        "their", "theirs", "ours", "others", "whole", "asked", "learned", "begun",
    }
)  # fmt: skip
# Words in -ed that a field uses for functions: sorted(), shared(), a decorator such as wrapped().
FIELD = frozenset({"sorted", "reversed", "need", "feed", "embed", "speed", "seed", "wrapped", "cached"})


def is_vague(name: str) -> bool:
    """Whether a variable's name is a bare participle or pronoun: `found`, `_given`.

    Args:
        name: the name of the variable.

    Example:
        >>> is_vague("found"), is_vague("_made"), is_vague("result"), is_vague("found_device")
        (True, True, False, False)
    """
    return name.strip("_") in VAGUE


def is_participle(name: str) -> bool:
    """Whether a function's name is a bare participle where a verb belongs: `_placed`, `exported`.

    Args:
        name: the name of the function.

    Example:
        >>> is_participle("_placed"), is_participle("place"), is_participle("is_placed"), is_participle("feed")
        (True, False, False, False)
    """
    word = name.strip("_")
    return word in VAGUE or (re.fullmatch(r"[a-z]{2,}ed", word) is not None and word not in FIELD)


def variables(tree: ast.AST) -> Iterator[str]:
    """The names that assignments, loops, with statements and := bind."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method is a property, which names a value of the API."""
    return any("property" in ast.unparse(d) for d in node.decorator_list)


def functions(tree: ast.AST) -> Iterator[str]:
    """The names of functions and methods, without properties."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_property(node):
            yield node.name


def counts(text: str) -> Counter[str]:
    """The number of variables and functions of a file, and how many of them a participle names.

    Args:
        text: the source.
    """
    tree = ast.parse(text)
    result: Counter[str] = Counter()
    kinds = (("variables", variables(tree), is_vague), ("functions", functions(tree), is_participle))
    for kind, names, breaks_rule in kinds:
        for name in names:
            result[kind] += 1
            result[f"participles of {kind}"] += breaks_rule(name)
    return result


def rates(total: Counter[str]) -> dict[str, float]:
    """Participles per 1,000 variables and per 1,000 functions."""
    return {
        kind: 1000 * total[f"participles of {kind}"] / max(1, total[kind])
        for kind in ("variables", "functions")
    }


def counts_of_files(folders: Iterable[Path]) -> dict[Path, Counter[str]]:
    """The counts of each Python file in some folders.

    Args:
        folders: the folders.
    """
    return {file: counts(file.read_text()) for folder in folders for file in sorted(folder.rglob("*.py"))}


def main() -> int:
    """Prints the rates of each package; the exit status is 1 where one is above its limit."""
    limits = tomllib.loads(LIMITS.read_text())
    bad = []
    for package in packages().values():
        by_file = counts_of_files(package.sources)
        tests = counts_of_files([package.folder / "tests"])
        if "--files" in sys.argv:
            for file, counted in (by_file | tests).items():
                number = counted["participles of variables"]
                if number := number + (counted["participles of functions"] if file in by_file else 0):
                    print(f"{file.relative_to(ROOT)}: {number}")
        total = rates(sum(by_file.values(), Counter()))
        total["tests"] = rates(sum(tests.values(), Counter()))["variables"]
        for kind, rate in total.items():
            limit = limits[package.dist][kind]
            print(f"{package.dist:18} {kind}: {rate:6.1f} of at most {limit:.1f} per 1,000")
            bad += [package.dist] if rate > limit else []
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
