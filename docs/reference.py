"""Writes the reference: a page for each public name and for each module, under the names that programs use.

`user_modules.txt` lists the modules that programs use, `sections.txt` the sections of their tables, `second_names.txt`
the names that PyTorch's manual has of objects with a page under another name. The façade's table gives each module its
name. All other modules are for developers, with one page for each module.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import class_members
from class_members import kind_of, member_kind

import tl
import tl_core as _core
from tl import _names
from tools import public_names
from tools.packages import packages

HERE = Path(__file__).parent
NATIVE, FACADE = "tl_core", "tl"
TENSOR = f"{FACADE}.Tensor"
PART = "TL_DOCS_MODULES"  # modules to build with commas between, the others are left out
KINDS = {
    "class": "Classes",
    "exception": "Exceptions",
    "function": "Functions",
    "data": "Constants and objects",
}
Pages = dict[str, list[str]]
ABSOLUTE = [".. py:currentmodule:: None", ""]  # names in tables are absolute


# ---- tables --------------------------------------------------------------------------------------------------------


def blocks(file: str) -> dict[str, list[str]]:
    """The lines of a table below each of its `= heading` lines, without comments and empty lines."""
    result: dict[str, list[str]] = {}
    for line in (HERE / file).read_text().splitlines():
        if line.startswith("= "):
            result[line[2:]] = []
        elif line and not line.startswith("#"):
            result[list(result)[-1]].append(line)
    return result


@functools.cache
def groups() -> dict[str, list[str]]:
    """Headings of the reference's list and the modules below them."""
    return blocks("user_modules.txt")


@functools.cache
def user_modules() -> dict[str, int]:
    """The modules that programs use, each with its position in the reference."""
    return {name: i for i, name in enumerate(name for names in groups().values() for name in names)}


@functools.cache
def sections(page: str) -> dict[str, list[str]]:
    """The sections of a page and their names. A name is in the first section that lists it."""
    result: dict[str, list[str]] = {}
    title, seen = "", set()
    for line in blocks("sections.txt").get(page, []):
        if line.startswith("- "):
            title = line[2:]
            result[title] = []
        else:
            result[title] += [name for name in line.split() if name not in seen]
            seen |= {*result[title]}
    return result


# ---- modules and their names ---------------------------------------------------------------------------------------


@dataclass
class Entry:
    """A module with a page: its name there, its object, its public names, and the package of each."""

    title: str
    module: ModuleType
    values: dict[str, Any]
    packages: dict[str, str] = field(default_factory=dict)

    def package_of(self, name: str) -> str:
        """The package that serves a name."""
        return self.packages.get(name) or package_of(self.module.__name__)


def package_of(dotted: str) -> str:
    """The first part of a dotted name."""
    return dotted.partition(".")[0]


def user_name(module: str) -> str | None:
    """The name of a module that programs use, or None for a module that is for developers."""
    facade = _names.facade_of(module)
    if package_of(module) == FACADE:
        name = module
    else:
        name = FACADE if facade == "" else f"{FACADE}.{facade}"
    return name if name in user_modules() else None


def root_entry(names: list[str]) -> Entry:
    """`tl` itself: the core's names, and those that the façade takes from other packages."""
    borrowed = {n: m for n, m in _names.OBJECTS.items() if "." not in n and n not in names and hasattr(tl, n)}
    values = {n: getattr(tl, n) for n in [*names, *borrowed]}
    homes = {n: _names.package_of(m) for n, m in borrowed.items()}
    return Entry(FACADE, tl, values, {n: homes.get(n, NATIVE) for n in values})


def entry(module: ModuleType, names: list[str]) -> Entry | None:
    """The page of a module; None for a module without names of its own."""
    name = module.__name__
    if name == FACADE or not names:  # the façade's names are those of the core
        return None
    if name == NATIVE:
        return root_entry(names)
    return Entry(user_name(name) or name, module, {n: getattr(module, n) for n in names})


def part() -> list[str]:
    """The modules of a partial build; empty for the whole site."""
    return [name for name in os.environ.get(PART, "").split(",") if name]


@functools.cache
def entries() -> dict[str, list[Entry]]:
    """The modules of each distribution."""
    only = {
        NATIVE if name == FACADE else package_of(importlib.import_module(name).__name__) for name in part()
    }
    result: dict[str, list[Entry]] = {}
    for dist, package in sorted(packages().items()):
        if not only or package.import_name in only:
            every = (entry(module, names) for module, names in public_names.entries(package.import_name))
            result[dist] = [e for e in every if e is not None and (not only or e.title in part())]
    return result


def user_entries() -> list[Entry]:
    """The modules that programs use."""
    return [e for listed in entries().values() for e in listed if e.title in user_modules()]


@functools.cache
def class_pages() -> dict[type, str]:
    """The page of each class that programs use: of its names, the one with the fewest dots."""
    result: dict[type, str] = {}
    titled = sorted(user_entries(), key=lambda e: (e.title.count("."), user_modules()[e.title]))
    for each in titled:
        for name, value in each.values.items():
            if inspect.isclass(value):
                result.setdefault(value, f"{each.title}.{name}")
    return result


@functools.cache
def object_pages() -> dict[int, str]:
    """The page of each class and function that programs use, by the identity of the object."""
    result = {id(cls): page for cls, page in class_pages().items()}
    for each in user_entries():
        for name, value in each.values.items():
            if kind_of(value) == "function":
                result.setdefault(id(value), f"{each.title}.{name}")
    return result


# ---- the page of a name --------------------------------------------------------------------------------------------


def heading(text: str, line: str) -> list[str]:
    """A title with its line below."""
    return [text, line * len(text), ""]


def table(title: str, names: list[str]) -> list[str]:
    """A table of names with a line each, which link to their pages."""
    rows = (f"   ~{title}.{name}" for name in names)
    return [".. autosummary::", "   :signatures: none", "", *rows, ""]


def footer(package: str, module: str) -> list[str]:
    """The package that serves a name, and the table in which it is."""
    return [
        "",
        f"*Package:* ``{package.replace('_', '-')}``. *Module:* :doc:`{module} <{file_name(module)}>`.",
        "",
    ]


def inherited_links(others: dict[type, list[str]]) -> Iterator[str]:
    """Links to the members on the pages of the bases."""
    for base, names in others.items():
        page = class_pages()[base]
        links = ", ".join(f":py:obj:`{name} <{page}.{name}>`" for name in names)
        yield from [f":py:obj:`{page}`: {links}", ""]


def class_page(dotted: str, cls: type) -> list[str]:
    """The lines of a class: a table of its members, their texts, and links to those of its bases."""
    split = class_members.members(cls, class_pages().__contains__)
    own = split.pop(cls)
    lines = [f".. auto{kind_of(cls)}:: {dotted}", "   :no-members:", ""]
    if own and dotted != TENSOR:
        lines += [*heading("Members", "-"), *table(dotted, own)]
        for name in (n for n in own if n not in class_members.attributes_section(cls)):
            kind = member_kind(cls, name)
            options = ["   :members:", "   :undoc-members:"] if kind == "class" else []
            lines += [f".. auto{kind}:: {dotted}.{name}", *options, ""]
    if split:
        lines += [*heading("Inherited members", "-"), *inherited_links(split)]
    return lines


def second_name(dotted: str, value: Any) -> list[str]:
    """The lines of an object whose page has another name."""
    text = f"Another name of :py:obj:`{object_pages()[id(value)]}`."
    return [f".. py:{kind_of(value)}:: {dotted}", "", f"   {text}", ""]


def second_names() -> Pages:
    """The pages of the names that the manual has and no module of `user_modules.txt` offers."""
    pages: Pages = {}
    for dotted in (HERE / "second_names.txt").read_text().split("\n"):
        if dotted.startswith("tl."):
            value = functools.reduce(getattr, dotted.split(".")[1:], tl)
            parent = dotted.rpartition(".")[0]
            lines = [f".. auto{kind_of(value)}:: {dotted}", ""]
            if id(value) in object_pages():
                lines = second_name(dotted, value)
            elif inspect.isclass(value):
                lines = class_page(dotted, value)
            elif not inspect.ismodule(functools.reduce(getattr, parent.split(".")[1:], tl)):
                lines = [f".. py:attribute:: {dotted}", "", f"   An attribute of :py:obj:`{parent}`.", ""]
            pages[dotted] = [":orphan:", "", *heading(dotted, "="), *lines]
    return pages


def name_page(each: Entry, name: str) -> list[str]:
    """The page of a name."""
    dotted, value = f"{each.title}.{name}", each.values[name]
    lines = [":orphan:", "", *heading(dotted, "=")]
    if not inspect.isclass(value):
        lines += [f".. auto{kind_of(value)}:: {dotted}", ""]
    elif class_pages()[value] == dotted:
        lines += class_page(dotted, value)
    else:
        lines += second_name(dotted, value)
    return lines + footer(each.package_of(name), each.title)


def tensor_pages() -> Pages:
    """The class Tensor, a table of its members, and a page for each member."""
    names = class_members.members(tl.Tensor, class_pages().__contains__)[tl.Tensor]
    listed: dict[str, list[str]] = {"Methods": [], "In-place methods": [], "Attributes": []}
    pages: Pages = {}
    for name in names:
        kind = member_kind(tl.Tensor, name)
        in_place = "In-place methods" if name.endswith("_") else "Methods"
        listed["Attributes" if kind == "attribute" else in_place].append(name)
        dotted = f"{TENSOR}.{name}"
        lines = [":orphan:", "", *heading(dotted, "="), f".. auto{kind}:: {dotted}", ""]
        pages[dotted] = lines + footer(NATIVE, TENSOR)
    lines = [*heading(TENSOR, "="), *class_page(TENSOR, tl.Tensor)]
    for title, members in listed.items():
        lines += [*heading(title, "-"), *table(TENSOR, members)]
    return {TENSOR: lines, **pages}


# ---- the page of a module ------------------------------------------------------------------------------------------


def kind_heading(page: str, name: str, value: Any) -> str:
    """The heading of a name that no section of the manual lists."""
    if isinstance(value, type(_core.float32)):
        return "Data types"
    if page != FACADE or inspect.isclass(value):
        return KINDS[kind_of(value)]
    if name.endswith("_"):
        return "In-place forms"
    if name in nn_names():
        return "Neural network functions"
    return "Other functions" if callable(value) else "Constants and objects"


@functools.cache
def nn_names() -> frozenset[str]:
    """The functions of neural networks: those of `nn.functional`, and the core's functions below them."""
    listed = [name for names in sections("tl.nn.functional").values() for name in names]
    return frozenset([*listed, *vars(_core.nn_functions)])


def in_sections(each: Entry) -> dict[str, list[str]]:
    """The names of a module under the headings of the manual, then all others by kind."""
    names = [name for name in each.values if f"{each.title}.{name}" != TENSOR]
    result = {title: [n for n in listed if n in names] for title, listed in sections(each.title).items()}
    listed = {name for names in result.values() for name in names}
    for name in sorted({*names} - listed) if result else names:
        result.setdefault(kind_heading(each.title, name, each.values[name]), []).append(name)
    return {title: names for title, names in result.items() if names}


def file_name(title: str) -> str:
    """The file of a module's page. A function may have the dotted name of a module, as `tl.export.unflatten`."""
    parent, _, name = title.rpartition(".")
    clash = title != TENSOR and any(name in each.values for each in user_entries() if each.title == parent)
    return f"{title}-module" if clash else title


def in_contents(title: str) -> bool:
    """Whether a module is in the list of contents beside each page: `tl.nn` is, `tl.nn.utils.rnn` is not."""
    return title in user_modules() and title.count(".") <= 1


def module_head(each: Entry) -> list[str]:
    """A module's title and text."""
    module, package = each.module.__name__, package_of(each.module.__name__)
    served = (
        []
        if module == FACADE
        else [f"The package ``{package.replace('_', '-')}`` has it as ``{module}``.", ""]
    )
    return [
        *heading(each.title, "="),
        f".. automodule:: {module}",
        "   :no-members:",
        "   :no-index:",
        "",
        *served,
    ]


def module_pages(each: Entry) -> Pages:
    """The table of a module, and the pages of its names."""
    lines = [*([] if in_contents(each.title) else [":orphan:", ""]), *module_head(each)]
    for section, names in in_sections(each).items():
        lines += [*heading(section, "-"), *table(each.title, names)]
    pages = {f"{each.title}.{name}": name_page(each, name) for name in each.values}
    if each.title == FACADE:
        pages |= tensor_pages()
    return {file_name(each.title): lines, **pages}


def developer_page(each: Entry) -> list[str]:
    """All names of a module for developers. Names that programs use are links to their pages."""
    lines = [":orphan:", "", *module_head(each)]
    for name, value in each.values.items():
        page = object_pages().get(id(value))
        if page is not None:
            lines += [f"``{name}``: :doc:`{page}`", ""]
        else:
            home = public_names.home_of(value)
            is_other = package_of(home) in class_members.PACKAGES and package_of(home) != package_of(
                each.title
            )
            foreign = is_other and (inspect.isclass(value) or inspect.isfunction(value))
            is_nested = inspect.isclass(value) and "." in value.__qualname__  # its class's page has its entry
            options = ["   :members:", "   :show-inheritance:"] if inspect.isclass(value) else []
            lines += [
                f".. auto{kind_of(value)}:: {each.title}.{name}",
                *options,
                *["   :no-index:"] * (foreign or is_nested),
                "",
            ]
    return lines


# ---- all pages -----------------------------------------------------------------------------------------------------


def all_pages() -> Pages:
    """Page name -> lines; the page of a package lists its modules for developers."""
    pages: Pages = {}
    for dist, listed in entries().items():
        internal = [each for each in listed if each.title not in user_modules()]
        for each in listed:
            pages |= {each.title: developer_page(each)} if each in internal else module_pages(each)
        if internal:
            pages[f"package-{dist}"] = [*heading(dist, "="), *(f"- :doc:`{each.title}`" for each in internal)]
    return pages if part() else {**second_names(), **pages}


def toctree(names: list[str]) -> list[str]:
    """A list of pages that is a part of the list of contents."""
    return [".. toctree::", "   :maxdepth: 1", "", *(f"   {n}" for n in names), ""]


def lists(pages: Pages) -> Pages:
    """The two lists of the reference: the modules that programs use, by subject, and the packages."""
    users = heading("By the names that programs use", "=")
    for title, names in groups().items():
        built = [name for name in names if file_name(name) in pages]
        rest = [name for name in built if not in_contents(name)]
        users += [*heading(title, "-"), *toctree([file_name(name) for name in built if in_contents(name)])]
        users += [*(f"- :doc:`{name} <{file_name(name)}>`" for name in rest), ""]
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
