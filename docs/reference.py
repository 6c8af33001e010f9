"""Writes the reference: a page for each public module under the name that programs use, from the docstrings.

`user_modules.txt` says which modules those are, `sections.txt` in which sections their names stand; the façade's table
gives each module its name. All other modules have pages for developers, package by package. What an operator's row says
beyond its docstring, its schemas, is added from the table that opgen leaves beside tl_core.
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

import tl
import tl_core as _core
from tl import _names
from tools import program_dialect, public_names
from tools.packages import packages

HERE = Path(__file__).parent
NATIVE, FACADE = "tl_core", "tl"
TENSOR = f"{FACADE}.Tensor"


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
    prefix = {"function": FACADE, "method": TENSOR}
    return {f"{prefix[o['kind']]}.{o['name']}": o["schemas"] for o in table if not o["namespace"]}


@cache
def in_dialect(text: str, home: ModuleType | None) -> str:
    """The docstring of an object of a module, with examples as programs have them."""
    return program_dialect.convert(text, program_dialect.names_around(home) if home is not None else {})


def convert_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's hook: converts what is no example, and adds the schemas."""
    if package_of(name) == FACADE or user_name(name):
        home = obj if what == "module" else program_dialect.module_of(obj)
        lines[:] = in_dialect("\n".join(lines), home).split("\n")
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


def share_navigation(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Sphinx's hook: pages outside of the list of contents show the same list, made once for each folder.

    The theme makes it anew for every page, which took nine tenths of the time of writing.
    """
    if page in _contents(app.env) or "toctree" not in context:
        return
    make, folder = context["toctree"], page.rpartition("/")[0]

    def shared(**options: Any) -> str:
        key = (folder, *sorted(options.items()))
        if key not in _navigation:
            _navigation[key] = make(**options)
        return _navigation[key]

    context["toctree"] = shared


_navigation: dict[tuple, str] = {}


@cache
def _contents(environment: Any) -> frozenset[str]:
    """The pages in the list of contents."""
    found, todo = {"index"}, ["index"]
    while todo:
        further = set(environment.toctree_includes.get(todo.pop(), ())) - found
        found |= further
        todo += further
    return frozenset(found)


# ---- tables --------------------------------------------------------------------------------------------------------


def blocks(file: str) -> dict[str, list[str]]:
    """The lines of a table below each of its `= heading` lines, without comments and empty lines."""
    found: dict[str, list[str]] = {}
    for line in (HERE / file).read_text().splitlines():
        if line.startswith("= "):
            found[line[2:]] = []
        elif line and not line.startswith("#"):
            found[list(found)[-1]].append(line)
    return found


@cache
def groups() -> dict[str, list[str]]:
    """Headings of the reference's list and the modules below them."""
    return blocks("user_modules.txt")


@cache
def sections(page: str) -> dict[str, list[str]]:
    """The sections of a page and the names in them; a name stands in the first section that has it."""
    found: dict[str, list[str]] = {}
    title, seen = "", set()
    for line in blocks("sections.txt").get(page, []):
        if line.startswith("- "):
            title = line[2:]
            found[title] = []
        else:
            found[title] += [name for name in line.split() if name not in seen]
            seen |= {*found[title]}
    return found


# ---- pages ---------------------------------------------------------------------------------------------------------


indexed: dict[type, str] = {}  # class -> the name under which it is in the index


def kind_of(value: Any) -> str:
    """The directive of autodoc for a value."""
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isroutine(value) else "data"


def directive(module: str, name: str, value: Any, package: str) -> list[str]:
    """The lines that document one name and say which package serves it.

    What another package defines is in the index there; a class with two names is in the index under the first.
    """
    dotted = f"{module}.{name}"
    lines = [f".. auto{kind_of(value)}:: {dotted}"]
    home = package_of(public_names.home_of(value))
    borrowed = home != package and home in {p.import_name for p in packages().values()}
    again = not borrowed and inspect.isclass(value) and indexed.setdefault(value, dotted) != dotted
    if borrowed or again:
        lines.append("   :no-index:")
    return [*lines, "", f"   *package:* ``{package.replace('_', '-')}``", ""]


def package_of(dotted: str) -> str:
    """The first part of a dotted name."""
    return dotted.partition(".")[0]


def heading(text: str, line: str) -> list[str]:
    """A title with its line below."""
    return [text, line * len(text), ""]


def user_name(module: str) -> str | None:
    """The name of a module that programs use, or None for a module that is for developers."""
    facade = _names.facade_of(module)
    if package_of(module) == FACADE:
        name = module
    else:
        name = FACADE if facade == "" else f"{FACADE}.{facade}"
    return name if any(name in names for names in groups().values()) else None


def kind_heading(page: str, name: str, value: Any) -> str:
    """The heading, on a page with sections, of a name that stands in none of them."""
    if isinstance(value, type(_core.float32)):
        return "Data types"
    if inspect.isclass(value):
        return "Classes"
    if page != FACADE:
        return "Other names"
    if name.endswith("_"):
        return "In-place forms"
    if name in nn_names():
        return "Neural network functions"
    return "Other functions" if callable(value) else "Constants and objects"


@cache
def nn_names() -> frozenset[str]:
    """The functions that neural networks are made of: those of `nn.functional` and what the core has below them."""
    listed = [name for names in sections("tl.nn.functional").values() for name in names]
    return frozenset([*listed, *vars(_core.nn_functions)])


def in_sections(page: str, names: list[str], module: ModuleType) -> dict[str, list[str]]:
    """The names of a page under the headings of the manual; then what the manual's lists don't have, by kind."""
    found = {title: [n for n in listed if n in names] for title, listed in sections(page).items()}
    placed = {name for listed in found.values() for name in listed}
    for name in sorted({*names} - placed):
        found.setdefault(kind_heading(page, name, getattr(module, name)), []).append(name)
    return {title: listed for title, listed in found.items() if listed}


def module_page(module: ModuleType, names: list[str], title: str) -> list[str]:
    """A module's text and its names: in sections where the manual has some, else in the order of the module."""
    package = package_of(module.__name__)
    served = f"Served by the package ``{package.replace('_', '-')}`` as ``{module.__name__}``."
    lines = [*heading(title, "="), served, ""]
    lines += [f".. automodule:: {module.__name__}", "   :no-members:", "   :no-index:", ""]
    if not sections(title):
        return lines + [line for n in names for line in directive(title, n, getattr(module, n), package)]
    for section, listed in in_sections(title, names, module).items():
        lines += heading(section, "-")
        lines += [line for n in listed for line in directive(title, n, getattr(module, n), package)]
    return lines


def root_page(names: list[str]) -> list[str]:
    """`tl` itself: the core's names, and in the same sections those that the façade takes from other packages."""
    lines = [*heading(FACADE, "="), f".. automodule:: {FACADE}", "   :no-members:", "   :no-index:", ""]
    borrowed = {n: m for n, m in _names.OBJECTS.items() if "." not in n}
    offered = [n for n in names if n != "Tensor"] + [n for n in borrowed if n not in names and hasattr(tl, n)]
    for section, listed in in_sections(FACADE, offered, tl).items():
        lines += heading(section, "-")
        for name in listed:
            package = _names.package_of(borrowed.get(name, NATIVE))
            lines += directive(FACADE, name, getattr(tl, name), package)
    return lines


def tensor_page() -> list[str]:
    """The class Tensor has a page of its own."""
    return [*heading(TENSOR, "="), *directive(FACADE, "Tensor", tl.Tensor, NATIVE)]


def pages_of(module: ModuleType, names: list[str]) -> dict[str, list[str]]:
    """Page name -> lines, of one module."""
    name = module.__name__
    if name == FACADE:  # its names are those of the core
        return {}
    if name == NATIVE:
        return {FACADE: root_page(names), TENSOR: tensor_page()}
    title = user_name(name) or name
    return {title: module_page(module, names, title)} if names else {}


def all_pages() -> dict[str, list[str]]:
    """Page name -> lines; a page for each package lists those that are for developers.

    Those are no part of the list of contents, which stands beside each page.
    """
    pages: dict[str, list[str]] = {}
    for dist, package in sorted(packages().items()):
        made: dict[str, list[str]] = {}
        for module, names in public_names.entries(package.import_name):
            made |= pages_of(module, names)
        internal = [name for name in made if not any(name in listed for listed in groups().values())]
        if internal:
            pages[f"package-{dist}"] = [*heading(dist, "="), *(f"- :doc:`{name}`" for name in internal)]
            made |= {name: [":orphan:", "", *made[name]] for name in internal}
        pages |= made
    return pages


def toctree(names: list[str], *options: str) -> list[str]:
    """A list of pages."""
    return [
        ".. toctree::",
        "   :maxdepth: 1",
        *(f"   {o}" for o in options),
        "",
        *(f"   {n}" for n in names),
        "",
    ]


def lists(pages: dict[str, list[str]]) -> dict[str, list[str]]:
    """The two lists of the reference: the modules that programs use, by subject, and the packages."""
    users: list[str] = heading("By the names that programs use", "=")
    for title, names in groups().items():
        users += [*heading(title, "-"), *toctree([n for n in names if n in pages])]
    developers = heading("For developers", "=")
    developers += ["The modules that the packages are made of, under the names of the packages.", ""]
    developers += toctree([name for name in pages if name.startswith("package-")])
    return {"modules": users, "developers": developers}


def write(folder: Path) -> None:
    """Writes all pages; unchanged ones keep their date."""
    pages = all_pages()
    pages |= lists(pages)
    folder.mkdir(parents=True, exist_ok=True)
    for stale in {f.stem for f in folder.glob("*.rst")} - set(pages):
        (folder / f"{stale}.rst").unlink()
    for name, lines in pages.items():
        file, text = folder / f"{name}.rst", "\n".join([*lines, ""])
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
