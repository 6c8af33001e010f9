"""`python -m tools.formulas`: each layer and loss states its formula and its shapes, each optimizer its formula.

Prints the module classes, loss functions and optimizers of tl_nn whose docstring lacks the section `Formula:` or
`Shape:`, and the excuses of `formulas.toml` without such a class. The exit status is 1 if there are any.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXCUSES = Path(__file__).with_suffix(".toml")
SECTIONS = ("Formula", "Shape")
PACKAGE = "tl_nn"
LOSSES = tuple(f"{kind}_losses" for kind in ("class", "elementwise", "linear", "margin", "sequence"))


def sections(doc: str) -> dict[str, str]:
    r"""The sections of a docstring with their text.

    Args:
        doc: the docstring, without its indentation.

    Example:
        >>> sections("A sum.\n\nFormula:\n    x + y\n\nShape:\n    - Input: (*)\n")
        {'Formula': 'x + y', 'Shape': '- Input: (*)'}
    """
    result: dict[str, str] = {}
    for match in re.finditer(r"^([A-Z][\w ]*):\n((?:[ ]+.*\n|\n)+)", f"{doc}\n", re.MULTILINE):
        result[match[1]] = inspect.cleandoc(match[2]).strip()
    return result


def missing(doc: str, names: tuple[str, ...] = SECTIONS) -> list[str]:
    """The sections that a docstring lacks: without text, or a formula without mathematics.

    Args:
        doc: the docstring, without its indentation.
        names: the names of the sections.
    """
    texts = sections(doc)
    lacking = [name for name in names if not texts.get(name)]
    return [*lacking, "math"] if ".. math::" not in texts.get("Formula", ".. math::") else lacking


def layers() -> Iterator[tuple[str, Any]]:
    """The public module classes of the package by name."""
    package = importlib.import_module(PACKAGE)
    for name in sorted(dir(package)):
        value = getattr(package, name)
        if inspect.isclass(value) and issubclass(value, package.Module) and not name.startswith("_"):
            yield name, value


def losses() -> Iterator[tuple[str, Any]]:
    """The loss functions of the package by name."""
    for file in LOSSES:
        module = importlib.import_module(f"{PACKAGE}.functional.{file}")
        for name in module.__all__:
            yield f"functional.{name}", getattr(module, name)


def optimizers() -> Iterator[tuple[str, Any]]:
    """The optimizers of the package by name."""
    module = importlib.import_module(f"{PACKAGE}.optim")
    for name in sorted(module.__all__):
        value = getattr(module, name)
        if inspect.isclass(value) and issubclass(value, module.Optimizer):
            yield f"optim.{name}", value


def own_doc(value: Any) -> str:
    """The docstring of a class or function itself, not that of a base class."""
    return inspect.cleandoc(value.__doc__ or "")


def problems(excuses: dict[str, str]) -> Iterator[str]:
    """A line for each class or function that lacks a section, and for each excuse that has no use.

    Args:
        excuses: the reason of each class without a formula.
    """
    lacking = {name: missing(own_doc(value)) for name, value in (*layers(), *losses())}
    lacking |= {name: missing(own_doc(value), SECTIONS[:1]) for name, value in optimizers()}
    for name, parts in lacking.items():
        if parts and name not in excuses:
            yield f"{PACKAGE}.{name}: no {', '.join(parts)}"
    for name in excuses:
        if not lacking.get(name):
            yield f"{EXCUSES.name}: {name} needs no excuse"


def main() -> int:
    """Prints the problems and a summary; the exit status is 1 if there are any."""
    excuses = tomllib.loads(EXCUSES.read_text())
    lines = list(problems(excuses))
    print(*lines, sep="\n", end="\n" if lines else "")
    total = len([*layers(), *losses(), *optimizers()]) - len(excuses)
    print(f"{total - len(lines)} of {total} layers, losses and optimizers state their formula")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
