"""Gathers the rows of every family and checks that they fit together."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace

from opgen.examples import example_of
from opgen.row import Row


def rows() -> list[Row]:
    """All rows, in the order of the families' files; raises ValueError on an open field or a name given twice."""
    import optable

    collected: list[Row] = []
    examples = example_of()
    for module in sorted(pkgutil.iter_modules(optable.__path__), key=lambda m: m.name):
        if module.ispkg:
            continue
        family = importlib.import_module(f"optable.{module.name}")
        collected += [
            replace(
                row,
                family=module.name,
                example=row.example or examples.pop(row.base, ""),
            )
            for row in family.ROWS
        ]
    _check(collected)
    if examples:
        raise ValueError(f"there are no rows for the examples of {', '.join(sorted(examples))}")
    return collected


def _check(collected: list[Row]) -> None:
    seen: set[str] = set()
    for row in collected:
        row.check()
        for _, schema in row.forms():
            if schema.name in seen:
                raise ValueError(f"two rows make the operator {schema.name}")
            seen.add(schema.name)
