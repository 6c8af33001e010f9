"""Writes the reference: a page for each public module of each package, from the docstrings.

What an operator's row says beyond its docstring, its schemas, is added from the table that opgen leaves beside tl_core.
"""

from __future__ import annotations

import builtins
import inspect
import itertools
import json
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.addnodes import pending_xref

from tools import public_names
from tools.packages import packages

NATIVE, FACADE = "tl_core", "tl"
OPERATORS, TENSOR = f"{NATIVE}.operators", f"{NATIVE}.Tensor"


# ---- docstrings ----------------------------------------------------------------------------------------------------


def as_rst(text: str) -> str:
    """A docstring, which is plain text with `names` in backticks, as reStructuredText."""
    markup = r"(?<!`)`([^`\n]+)`(?!`)|([*|]|(?<=\w)_(?!\w))"
    return re.sub(markup, lambda m: f"``{m[1]}``" if m[1] else f"\\{m[2]}", text)


def is_literal(lines: list[str], index: int) -> bool:
    """Whether a line is of an example, of what it prints, or stands below a line that ends with `::`."""
    line = lines[index]
    for above in itertools.takewhile(str.strip, reversed(lines[: index + 1])):
        if above.lstrip().startswith(">>>"):
            return True
    depth = len(line) - len(line.lstrip())
    for above in reversed(lines[:index]):
        if above.strip() and len(above) - len(above.lstrip()) < depth:
            return above.rstrip().endswith("::")
    return False


@cache
def schemas() -> dict[str, list[str]]:
    """The schemas of the operators behind each native function and method."""
    import tl_core

    table = json.loads((Path(tl_core.__file__).parent / "_ops.json").read_text())
    prefix = {"function": NATIVE, "method": TENSOR}
    return {f"{prefix[o['kind']]}.{o['name']}": o["schemas"] for o in table if not o["namespace"]}


def convert_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's hook: converts what is no example, and adds the schemas."""
    if what == "data" and lines[:1] == (inspect.getdoc(type(obj)) or "").splitlines()[:1]:
        lines[:] = []  # the class's text says nothing of this object
    lines[:] = [line if is_literal(lines, i) else as_rst(line) for i, line in enumerate(lines)]
    if name in schemas():
        lines += ["", *(f"- ``{schema}``" for schema in schemas()[name]), ""]


def unlink_builtins(app: Any, doctree: Any) -> None:
    """Sphinx's hook: `int` in a signature is Python's, not the element type of that name."""
    for node in list(doctree.findall(pending_xref)):
        if hasattr(builtins, node.get("reftarget", "")):
            node.replace_self(node.children)


# ---- pages ---------------------------------------------------------------------------------------------------------


def kind_of(value: Any) -> str:
    """The directive of autodoc for a value."""
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isroutine(value) else "data"


def directive(module: str, name: str, value: Any) -> list[str]:
    """The lines that document one name; what another package defines is in the index there."""
    lines = [f".. auto{kind_of(value)}:: {module}.{name}"]
    home = package_of(public_names.home_of(value))
    if home != package_of(module) and home in {p.import_name for p in packages().values()}:
        lines.append("   :no-index:")
    return [*lines, ""]


def package_of(dotted: str) -> str:
    """The first part of a dotted name."""
    return dotted.partition(".")[0]


def heading(text: str, line: str) -> list[str]:
    """A title with its line below."""
    return [text, line * len(text), ""]


def module_page(module: ModuleType, names: list[str]) -> list[str]:
    """A module's text and its names, in the order in which it offers them."""
    name = module.__name__
    lines = [*heading(name, "="), f".. automodule:: {name}", "   :no-members:", "   :no-index:", ""]
    return lines + [line for n in names for line in directive(name, n, getattr(module, n))]


def native_pages(module: ModuleType, names: list[str]) -> dict[str, list[str]]:
    """tl_core offers several hundred operators: they have a page of their own, and so has Tensor."""
    operators = sorted(n for n in names if inspect.isbuiltin(getattr(module, n)))
    others = [n for n in names if n not in {*operators, "Tensor"}]
    listed = [line for n in operators for line in directive(NATIVE, n, getattr(module, n))]
    return {
        NATIVE: module_page(module, others),
        OPERATORS: [*heading("Operators", "="), *listed],
        TENSOR: [*heading("Tensor", "="), *directive(NATIVE, "Tensor", module.Tensor)],
    }


def package_pages(dist: str, package: str) -> dict[str, list[str]]:
    """File name -> lines: the package's own page lists the pages of its modules."""
    pages: dict[str, list[str]] = {}
    for module, names in public_names.entries(package):
        if module.__name__ == FACADE:  # its names are those of the packages
            names = []
        if module.__name__ == NATIVE:
            pages |= native_pages(module, names)
        elif names or module.__name__ == package:
            pages[module.__name__] = module_page(module, names)
    tree = [".. toctree::", "   :maxdepth: 1", "", *(f"   {p}" for p in pages)]
    return {f"package-{dist}": [*heading(dist, "="), *tree]} | pages


def write(folder: Path) -> None:
    """Writes all pages; unchanged ones keep their date."""
    pages: dict[str, list[str]] = {}
    for dist, package in sorted(packages().items()):
        pages |= package_pages(dist, package.import_name)
    folder.mkdir(parents=True, exist_ok=True)
    for stale in {f.stem for f in folder.glob("*.rst")} - set(pages):
        (folder / f"{stale}.rst").unlink()
    for name, lines in pages.items():
        file, text = folder / f"{name}.rst", "\n".join([*lines, ""])
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
