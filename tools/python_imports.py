"""Rules for Python imports.

- A package imports what the design allows it and its pyproject.toml declares; at import time only what is always there.
- Nobody touches another package's `_name`.
- No circle of imports, not even one hidden in a function.
- A room of a package imports only rooms before it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.cycles import cycles
from tools.packages import ROOT, TABLE, Package, packages

IMPORT_NAMES = {
    "scikit-learn": "sklearn",
    "scipy-openblas32": "scipy_openblas32",
    "pillow": "PIL",
    "protobuf": "google",
}

# Operators whose public names begin with an underscore, as the API has them.
OPERATORS = ("_foreach_", "_fused_")

Found = tuple[Path, int, str]


@dataclass(frozen=True)
class Import:
    """One imported module, or a name taken from one (`name`), with where it stands."""

    line: int
    module: str
    name: str | None
    in_function: bool


class _Finder(ast.NodeVisitor):
    def __init__(self, module: str, is_package: bool) -> None:
        self.parts = module.split(".") if is_package else module.split(".")[:-1]
        self.imports: list[Import] = []
        self.aliases: dict[str, str] = {}  # local name -> module
        self.attributes: list[tuple[int, str, str]] = []
        self.depth = 0

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.imports.append(Import(node.lineno, alias.name, None, self.depth > 0))
            self.aliases[alias.asname or alias.name.split(".")[0]] = (
                alias.name if alias.asname else alias.name.split(".")[0]
            )

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = self.parts[: len(self.parts) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            self.imports.append(Import(node.lineno, module, alias.name, self.depth > 0))
            self.aliases[alias.asname or alias.name] = f"{module}.{alias.name}"

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name):
            self.attributes.append((node.lineno, node.value.id, node.attr))
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        test = ast.unparse(node.test)
        if test in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for child in node.orelse:
                self.visit(child)
        else:
            self.generic_visit(node)

    def _function(self, node: ast.AST) -> None:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function


def find(file: Path, module: str) -> _Finder:
    """The imports and the attributes taken from names in a file."""
    finder = _Finder(module, file.name == "__init__.py")
    finder.visit(ast.parse(file.read_text(), str(file)))
    return finder


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


def _private(finder: _Finder, own: str, family: set[str]) -> Iterator[tuple[int, str]]:
    for found in finder.imports:
        words = [*found.module.split("."), *([found.name] if found.name else [])]
        if words[0] in family - {own} and any(is_private(w) for w in words):
            yield found.line, f"imports {'.'.join(words)}, a private name of another package"
    for line, local, attribute in finder.attributes:
        module = finder.aliases.get(local, "")
        if module.split(".")[0] in family - {own} and is_private(attribute):
            yield line, f"uses {module}.{attribute}, a private name of another package"


def _undeclared(
    finder: _Finder, module: str, package: Package, family: dict[str, str]
) -> Iterator[tuple[int, str]]:
    own = package.import_name
    always = _roots(package.settings["project"].get("dependencies", []))
    sometimes = always.union(*(_roots(r) for r in package.extras.values()))
    always = {family.get(n, n) for n in always}
    sometimes = {family.get(n, n) for n in sometimes}
    design = TABLE[package.dist]
    for part, extra in design.extras_of_parts.items():
        if f"{module}.".startswith(f"{part}."):
            always |= {family.get(n, n) for n in _roots(package.extras[extra])}
    for found in finder.imports:
        root = found.module.split(".")[0]
        if root == own or root in sys.stdlib_module_names:
            continue
        if root in family.values() and root not in design.may_import:
            yield found.line, f"{own} may not import {root}"
        elif root not in sometimes and not (root in family.values() and found.in_function):
            yield found.line, f"imports {root}, which {package.dist} does not declare"
        elif root not in always and not found.in_function:
            yield (
                found.line,
                f"imports {root} at import time, but {package.dist} declares it as an extra only",
            )


def _edges(finder: _Finder, modules: set[str]) -> set[str]:
    """The modules of the repository that a file needs; `from package import name` needs the package only if `name` is
    not a module itself, written in Python or compiled (`_C`)."""
    targets = set()
    for found in finder.imports:
        whole = f"{found.module}.{found.name}" if found.name else found.module
        targets.add(whole if whole in modules or found.name == "_C" else found.module)
    return targets & modules


def _room(module: str, rooms: tuple[str, ...]) -> int | None:
    """The place of a module's room in the order of the rooms; None for a module outside of them."""
    parts = module.split(".")
    return rooms.index(parts[1]) if len(parts) > 1 and parts[1] in rooms else None


def _upward(finder: _Finder, module: str, rooms: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    own = _room(module, rooms)
    for found in finder.imports:
        target = f"{found.module}.{found.name}" if found.name else found.module
        if target.split(".")[0] == module.split(".")[0] and own is not None:
            other = _room(target, rooms)
            if other is not None and other > own:
                yield found.line, f"the room {rooms[own]} may not import the room {rooms[other]}"


def violations(root: Path = ROOT) -> Iterator[Found]:
    """Every import that breaks a rule."""
    every = packages(root)
    family = {p.dist.replace("-", "_"): p.import_name for p in every.values()}
    names = set(family.values())
    paths = {module_name(f, p.source): f for p in every.values() for f in sorted(p.source.rglob("*.py"))}
    graph: dict[str, set[str]] = {}
    for package in every.values():
        for file in sorted(package.source.rglob("*.py")):
            module = module_name(file, package.source)
            finder = find(file, module)
            graph[module] = _edges(finder, set(paths))
            for line, message in _undeclared(finder, module, package, family):
                yield file, line, message
            for line, message in _private(finder, package.import_name, names):
                yield file, line, message
            for line, message in _upward(finder, module, TABLE[package.dist].rooms):
                yield file, line, message
        for file in sorted((package.folder / "tests").rglob("*.py")):
            for line, message in _private(find(file, file.stem), package.import_name, names):
                yield file, line, message
    for cycle in cycles(graph):
        yield paths[cycle[0]], 1, f"imports go round in a circle: {' -> '.join(reversed(cycle))}"
