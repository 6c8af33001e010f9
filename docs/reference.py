"""Writes the reference pages: the operators from tl_core's table of them, the rest by module for autodoc."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import pkgutil
import re
import textwrap
from pathlib import Path
from typing import Any

KINDS = {"function": "Functions", "method": "Methods of Tensor"}
# Packages whose public modules are documented from their docstrings.
MODULES = ["tl_autograd", "tl_nn", "tl_backends", "tl_checkpoint"]


def operators() -> list[dict[str, Any]]:
    """The operators' names, kinds, signatures and texts, as the generator wrote them beside tl_core."""
    import tl_core

    found: list[dict[str, Any]] = json.loads((Path(tl_core.__file__).parent / "_ops.json").read_text())
    return found


def as_rst(text: str) -> str:
    """A docstring, which is plain text with `names` in backticks, as reStructuredText."""
    return re.sub(r"(?<!`)`([^`\n]+)`(?!`)|([*|])", lambda m: f"``{m[1]}``" if m[1] else f"\\{m[2]}", text)


def convert_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's hook: converts what is no example."""
    lines[:] = [line if line.lstrip().startswith((">>>", "...")) else as_rst(line) for line in lines]


def entry(operator: dict[str, Any]) -> str:
    """One operator: its signature, its text, its schemas."""
    prefix = "Tensor." if operator["kind"] == "method" else ""
    space = operator.get("namespace") or ""
    name = f"{prefix}{space + '.' if space and not prefix else ''}{operator['name']}"
    signature = operator["signature"]
    signature = signature if signature.startswith("(") else signature[signature.index("(") :]
    lines = [f".. py:{operator['kind']}:: {name}{signature}", "   :no-index:", ""]
    lines += textwrap.indent(as_rst(operator["doc"]), "   ").splitlines()
    lines += ["", *(f"   - ``{schema}``" for schema in operator.get("schemas", ())), ""]
    return "\n".join(lines)


def operator_pages() -> dict[str, str]:
    """File name -> page."""
    pages = {}
    for kind, title in KINDS.items():
        entries = [entry(o) for o in sorted(operators(), key=lambda o: o["name"]) if o["kind"] == kind]
        pages[f"operators-{kind}.rst"] = "\n".join([title, "=" * len(title), "", *entries])
    return pages


def public_modules(package: str) -> list[str]:
    """The package and its modules without an underscore."""
    module = importlib.import_module(package)
    below = pkgutil.walk_packages(module.__path__, f"{package}.", onerror=lambda name: None)
    names = [m.name for m in below if not re.search(r"\._", m.name) and m.name.split(".")[-1] != "version"]
    return [package, *sorted(names)]


def own_members(name: str) -> list[str]:
    """The public classes and functions that a module itself defines."""
    module = importlib.import_module(name)
    members = inspect.getmembers(module, lambda m: inspect.isclass(m) or inspect.isfunction(m))
    return [n for n, m in members if not n.startswith("_") and getattr(m, "__module__", None) == name]


def module_page(package: str) -> str:
    """A package's page: its modules, each with its classes and functions."""
    lines = [package, "=" * len(package), ""]
    for name in public_modules(package):
        if name != package:
            lines += [name, "-" * len(name), ""]
        members = own_members(name)
        lines += [f".. automodule:: {name}", "   :no-members:", "   :no-index:", ""]
        for member in members:
            kind = "class" if inspect.isclass(getattr(importlib.import_module(name), member)) else "function"
            lines += [f".. auto{kind}:: {name}.{member}", "   :no-index:", ""]
    return "\n".join(lines)


def write(folder: Path) -> None:
    """Writes all pages; unchanged ones keep their date."""
    pages = operator_pages() | {f"{p}.rst": module_page(p) for p in MODULES if importlib.util.find_spec(p)}
    folder.mkdir(parents=True, exist_ok=True)
    for stale in {f.name for f in folder.glob("*.rst")} - set(pages):
        (folder / stale).unlink()
    for name, text in pages.items():
        file = folder / name
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
