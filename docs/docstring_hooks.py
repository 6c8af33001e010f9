"""Docstrings on the site: plain text as reStructuredText, the operators' schemas, examples in the programs' dialect.

Docstrings are plain text with `names` in backticks. Sections that Sphinx's napoleon knows, directives with their blocks
(`.. math::`) and roles pass unchanged.
"""

from __future__ import annotations

import inspect
import itertools
import json
import re
import sys
import typing
from functools import cache
from types import ModuleType
from typing import Any

import reference

from tools import program_dialect
from tools.packages import ROOT

FACADE = "tl"
MARKUP = re.compile(r"(?<!`)(:[\w:]+:)?`([^`\n]+)`(?!`)_?|([*|]|(?<=\w)_(?!\w))")
DIRECTIVE = re.compile(r"\s*\.\. [\w:-]+::")


def as_rst(text: str) -> str:
    """A line of a docstring as reStructuredText."""
    if DIRECTIVE.match(text):
        return text
    return MARKUP.sub(lambda m: (m[0] if m[1] else f"``{m[2]}``") if m[2] else f"\\{m[3]}", text)


def is_literal(lines: list[str], index: int) -> bool:
    """Whether a line belongs to an example, to its output, or to the block below a line that ends with `::`."""
    line = lines[index]
    for above in itertools.takewhile(str.strip, reversed(lines[: index + 1])):
        if above.lstrip().startswith(">>>"):
            return True
    depth = len(line) - len(line.lstrip())
    for above in reversed(lines[:index]):
        if above.strip() and len(above) - len(above.lstrip()) < depth:
            return above.rstrip().endswith("::") or bool(DIRECTIVE.match(above))
    return False


@cache
def schemas() -> dict[str, list[str]]:
    """The schemas of the operators behind each native function and method, from the rows."""
    sys.path.insert(0, str(ROOT / "packages" / "tl-core"))
    from opgen import collect, python_table

    table = json.loads(python_table.ops_json(collect.rows()))
    prefix = {"function": FACADE, "method": f"{FACADE}.Tensor"}
    return {f"{prefix[o['kind']]}.{o['name']}": o["schemas"] for o in table if not o["namespace"]}


@cache
def in_dialect(text: str, home: ModuleType | None) -> str:
    """The docstring of an object of a module, with examples as programs have them. Tables and pages show it."""
    return program_dialect.convert(text, program_dialect.names_around(home) if home is not None else {})


def convert_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's hook, called before napoleon's."""
    classes = (type(obj), typing.get_origin(obj))
    if what == "data" and lines[:1] in [(inspect.getdoc(c) or "").splitlines()[:1] for c in classes]:
        lines[:] = []  # the class's text says nothing of this object
    if reference.package_of(name) == FACADE or reference.user_name(name):
        home = obj if what == "module" else program_dialect.module_of(obj)
        lines[:] = in_dialect("\n".join(lines), home).split("\n")
    lines[:] = [line if is_literal(lines, i) else as_rst(line) for i, line in enumerate(lines)]
    if name in schemas():
        lines += ["", *(f"- ``{schema}``" for schema in schemas()[name]), ""]
