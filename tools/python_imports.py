"""Rules for Python imports.

- A package imports what the design allows it and its pyproject.toml declares; at import time only what is always there.
- Nobody touches another package's `_name`.
- No circle of imports, not even one hidden in a function, in a text or in type hints.
- A room of a package imports only rooms before it.
- No module outside a folder `compat` imports from one.

`tools.import_reader` defines an import by text. The lazy table of a package, and the imports of its `__init__` for type
hints, are no part of a circle and may name the folder `compat`, if they only name modules below the package: such a
table is the list of the package's public names. An import of a name of the table counts as an import of the entry.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.cycles import cycles
from tools.import_reader import ImportReader, imported_by_text, lazy_home, read
from tools.packages import ROOT, TABLE, Package, packages

IMPORT_NAMES = {
    "scikit-learn": "sklearn",
    "scipy-openblas32": "scipy_openblas32",
    "pillow": "PIL",
    "protobuf": "google",
}

# Operators whose public names begin with an underscore, as the API has them, and those of quantized bytes, which it
# lacks.
OPERATORS = (
    "_foreach_",
    "_fused_",
    "_int8_",
    "_int_mm",
    "_pack_int8",
    "_add_bytes",
    "_quantize_bytes",
    "_quantized_embedding_bag",
    "_dequantize_bytes",
    "_weight_int",
    "_convert_weight_to_int4pack_for_cpu",
)

# The folder of names that exist for other people's programs.
COMPAT = "compat"

# Modules that import others by name for a program: those of packages above that it has loaded, and those that its
# pickles name.
BY_NAME = ("tl_core.dispatch.overridable", "tl_core.base.former_names")

# Classes of two modules that refer to each other in type hints: a node and its graph, a graph and the writer of its
# code. Both are one type for a reader, and too long for one file.
MUTUAL_TYPES = {
    ("tl_compiler.fx.node", "tl_compiler.fx.graph"),
    ("tl_compiler.fx.code_generation", "tl_compiler.fx.graph"),
}

Found = tuple[Path, int, str]


@dataclass(frozen=True)
class Need:
    """A module that another module imports, with the line of the import."""

    line: int
    target: str
    is_declared: bool = False  # in the package's own lazy table, or in MUTUAL_TYPES


def is_private(name: str) -> bool:
    """`_name`, but not `__name__` and no operator."""
    is_special = name.startswith("__") and name.endswith("__")
    return name.startswith("_") and not is_special and not name.startswith(OPERATORS)


def module_name(file: Path, source: Path) -> str:
    """The dotted name of a file of a package."""
    parts = [source.name, *file.relative_to(source).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _roots(requirements: list[str]) -> set[str]:
    names = (re.split(r"[\s\[<>=!~;]", r, maxsplit=1)[0] for r in requirements)
    return {IMPORT_NAMES.get(n, n.replace("-", "_")) for n in names}


def _private(reader: ImportReader, own: str, family: set[str]) -> Iterator[tuple[int, str]]:
    for each in reader.imports:
        words = each.target.split(".")
        if not each.for_types and words[0] in family - {own} and any(map(is_private, words)):
            yield each.line, f"imports {each.target}, a private name of another package"
    for line, local, attribute in reader.attributes:
        module = reader.aliases.get(local, "")
        if module.split(".")[0] in family - {own} and is_private(attribute):
            yield line, f"uses {module}.{attribute}, a private name of another package"


def _undeclared(reader: ImportReader, package: Package, family: dict[str, str]) -> Iterator[tuple[int, str]]:
    own = package.import_name
    always = _roots(package.settings["project"].get("dependencies", []))
    sometimes = always.union(*(_roots(r) for r in package.extras.values()))
    always = {family.get(n, n) for n in always}
    sometimes = {family.get(n, n) for n in sometimes}
    design = TABLE[package.dist]
    may_import = set(design.may_import)
    for part, extra in design.extras_of_parts.items():
        if f"{reader.module}.".startswith(f"{part}."):
            roots = {family.get(n, n) for n in _roots(package.extras[extra])}
            always |= roots
            may_import |= roots
    for line, root, in_function in _imported_roots(reader, set(family.values())):
        if root in package.import_names or root in sys.stdlib_module_names:
            continue
        if root in family.values() and root not in may_import:
            yield line, f"{own} may not import {root}"
        elif root not in sometimes and not (root in family.values() and in_function):
            yield line, f"imports {root}, which {package.dist} does not declare"
        elif root not in always and not in_function:
            yield line, f"imports {root} at import time, but {package.dist} declares it as an extra only"


def _imported_roots(reader: ImportReader, family: set[str]) -> Iterator[tuple[int, str, bool]]:
    """The line and the top-level name of each import, and whether a function runs the import."""
    for each in reader.imports:
        if not each.for_types:
            yield each.line, each.module.split(".")[0], each.in_function
    for line, text in reader.texts:
        root = text.split(".")[0]
        if root in family:
            yield line, root, True


def _needs(reader: ImportReader, readers: dict[str, ImportReader]) -> Iterator[Need]:
    """The modules of the repository that a file imports. `from package import name` needs the package only if `name` is
    not a module itself, written in Python or compiled (`_C`)."""
    modules = set(readers)
    below = f"{reader.module}." if reader.is_package else "/"
    for each in reader.imports:
        target = each.target if each.target in modules or each.name == "_C" else each.module
        is_declared = reader.is_lazy and target.startswith(below)
        is_mutual = (reader.module, target) in MUTUAL_TYPES
        yield Need(each.line, target, each.for_types and (is_declared or is_mutual))
        yield from _lazy_needs(each.line, target, each.name, readers)
    for line, target in imported_by_text(reader, modules):
        if reader.module not in BY_NAME:
            yield Need(line, target, target.startswith(below))
    for line, local, attribute in reader.attributes:
        yield from _lazy_needs(line, reader.aliases.get(local, ""), attribute, readers)


def _lazy_needs(
    line: int, package: str, name: str | None, readers: dict[str, ImportReader]
) -> Iterator[Need]:
    """The entry of a package's lazy table that an import of `name` loads."""
    if name is not None and package in readers and readers[package].is_package:
        home = lazy_home(readers[package], name, set(readers))
        if home is not None:
            yield Need(line, home)


def _room(module: str, rooms: tuple[str, ...]) -> int | None:
    """The place of a module's room in the order of the rooms; None for a module outside of them."""
    parts = module.split(".")
    return rooms.index(parts[1]) if len(parts) > 1 and parts[1] in rooms else None


def _upward(reader: ImportReader, rooms: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    own = _room(reader.module, rooms)
    for each in reader.imports:
        if each.module.split(".")[0] == reader.module.split(".")[0] and own is not None:
            other = _room(each.target, rooms)
            if other is not None and other > own:
                yield each.line, f"the room {rooms[own]} may not import the room {rooms[other]}"


def _in_compat(module: str) -> bool:
    return module.split(".")[1:2] == [COMPAT]


def _into_compat(module: str, needs: list[Need], family: set[str]) -> Iterator[tuple[int, str]]:
    for need in needs:
        is_ours = need.target.split(".")[0] in family
        if is_ours and _in_compat(need.target) and not _in_compat(module) and not need.is_declared:
            yield need.line, f"imports {need.target}, but only {COMPAT} and tests may import from {COMPAT}"


def _circles(needs: dict[str, list[Need]]) -> Iterator[tuple[str, str]]:
    """The module and the message of each circle of imports."""
    graph = {
        module: {n.target for n in each if n.target in needs and not n.is_declared}
        for module, each in needs.items()
    }
    for cycle in cycles(graph):
        yield cycle[0], f"imports go round in a circle: {' -> '.join(reversed(cycle))}"


def violations(root: Path = ROOT) -> Iterator[Found]:
    """Every import that breaks a rule."""
    every = packages(root)
    family = {p.distribution.replace("-", "_"): p.import_name for p in every.values()}
    folders = [folder for package in every.values() for folder in package.sources]
    paths = {module_name(f, folder): f for folder in folders for f in sorted(folder.rglob("*.py"))}
    readers = {module: read(file, module) for module, file in paths.items()}
    needs = {module: list(_needs(reader, readers)) for module, reader in readers.items()}
    for package in every.values():
        for module, file in paths.items():
            if module.split(".")[0] in package.import_names:
                for line, message in _broken(readers[module], needs[module], package, family):
                    yield file, line, message
        for file in sorted((package.folder / "tests").rglob("*.py")):
            for line, message in _private(read(file, file.stem), package.import_name, set(family.values())):
                yield file, line, message
    for module, message in _circles(needs):
        yield paths[module], 1, message


def _broken(
    reader: ImportReader, needs: list[Need], package: Package, family: dict[str, str]
) -> Iterator[tuple[int, str]]:
    """The line and the message of each rule that a module breaks by itself."""
    yield from _undeclared(reader, package, family)
    yield from _private(reader, package.import_name, set(family.values()))
    yield from _upward(reader, TABLE[package.dist].rooms)
    yield from _into_compat(reader.module, needs, set(family.values()))
