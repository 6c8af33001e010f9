"""The names that a type checker sees in the modules of the packages, and the module that defines each of them.

A checker does not run a module. It reads definitions and imports, in `if TYPE_CHECKING` too. In strict settings, a
name that a module only imports belongs to the module that defines it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

from tools.packages import ROOT

GENERATED = "tl_core._C"  # its stub is written when the package is built


@dataclass(frozen=True)
class Home:
    """The place of a name: the module that defines it, or a module that the name stands for."""

    module: str
    name: str = ""  # "" for the module itself


@dataclass
class Source:
    """The bindings of one module: definitions, imported names, star imports."""

    module: str
    package: str
    bindings: dict[str, Home] = field(default_factory=dict)
    classes: set[str] = field(default_factory=set)
    stars: list[str] = field(default_factory=list)
    listing: list[ast.expr] = field(default_factory=list)  # the parts of `__all__`

    def read(self, statements: list[ast.stmt]) -> None:
        """Reads statements, also those in branches."""
        for node in statements:
            self._read_one(node)

    def _read_one(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ImportFrom):
            self._imported(node)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                target = alias.name if alias.asname else alias.name.partition(".")[0]
                self.bindings[alias.asname or target] = Home(target)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            self._define(node.name)
            if isinstance(node, ast.ClassDef):
                self.classes.add(node.name)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            self._assigned(node)
        else:
            for part in ("body", "orelse", "finalbody"):
                self.read([n for n in getattr(node, part, []) if isinstance(n, ast.stmt)])
            for handler in getattr(node, "handlers", []):
                self.read(handler.body)

    def _define(self, name: str) -> None:
        self.bindings[name] = Home(self.module, name)

    def _imported(self, node: ast.ImportFrom) -> None:
        base = self.package.split(".")[: -node.level + 1 or None] if node.level else []
        target = ".".join([*base, *((node.module or "").split(".") if node.module else [])])
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(target)
            elif target == self.module:
                self.bindings[alias.asname or alias.name] = Home(f"{target}.{alias.name}")
            else:
                self.bindings[alias.asname or alias.name] = Home(target, alias.name)

    def _assigned(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for name in (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and _is_stored(n)):
            if name == "__all__" and node.value is not None:
                self.listing = [*(self.listing if isinstance(node, ast.AugAssign) else []), node.value]
            else:
                self._define(name)

    def _strings(self, node: ast.expr) -> Iterator[str]:
        """The names in an expression for `__all__`."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Attribute) and node.attr == "__all__":
            home = resolve(self.module, ast.unparse(node.value))
            other = source(home.module) if home and not home.name else None
            yield from other.public() if other else []
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    yield from self._strings(child)

    def is_readable(self) -> bool:
        """Whether all checkers read `__all__`: mypy reads lists of strings, but no other module's list."""
        lists = [part.elts for part in self.listing if isinstance(part, ast.List | ast.Tuple)]
        strings = all(isinstance(item, ast.Constant) for items in lists for item in items)
        return bool(lists) and len(lists) == len(self.listing) and strings

    def public(self) -> list[str]:
        """The names that `from MODULE import *` binds."""
        if self.listing:
            return list(dict.fromkeys(name for part in self.listing for name in self._strings(part)))
        names = [name for name in self.bindings if not name.startswith("_")]
        for star in self.stars:
            other = source(star)
            names += other.public() if other else []
        return list(dict.fromkeys(names))


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


@cache
def file_of(module: str) -> Path | None:
    """The file of a module of this repository, the stub where there is one."""
    root, *rest = module.split(".")
    base = ROOT.joinpath("packages", root.replace("_", "-"), "src", root, *rest)
    if root == "tl":
        base = ROOT.joinpath("packages", "tl-all", "src", root, *rest)
    candidates = (
        base / "__init__.pyi",
        base / "__init__.py",
        base.with_suffix(".pyi"),
        base.with_suffix(".py"),
    )
    return next((path for path in candidates if path.is_file()), None)


@cache
def source(module: str) -> Source | None:
    """The bindings of a module; None for a module outside of this repository."""
    path = file_of(module)
    if path is None and module != GENERATED:
        return None
    package = module if path and path.stem == "__init__" else module.rpartition(".")[0]
    result = Source(module, package)
    result.read(ast.parse(path.read_text() if path else generated()).body)
    return result


def generated() -> str:
    """The stub of tl-core's native module, as the build writes it."""
    folder = str(ROOT / "packages" / "tl-core")
    sys.path.insert(0, folder)
    try:
        text: str = import_module("opgen.stub").native_pyi(import_module("opgen.collect").rows())
    finally:
        sys.path.remove(folder)
    return text


def export(module: str, name: str) -> Home | None:
    """The module from which a stub imports a name: the module itself if its `__all__` lists the name."""
    home, here = resolve(module, name), source(module)
    listed = home and home.name and here and here.is_readable() and name in here.public()
    return Home(module, name) if listed else home


def resolve(module: str, name: str) -> Home | None:
    """The place of a name that a module has; None for a name that no checker sees there."""
    head, _, rest = name.partition(".")
    home = _resolve(module, head, frozenset())
    return resolve(home.module, rest) if home and rest and not home.name else home


def _resolve(module: str, name: str, seen: frozenset[tuple[str, str]]) -> Home | None:
    if (module, name) in seen:
        return None
    seen |= {(module, name)}
    here = source(module)
    if here is None:
        return Home(module, name) if not module.startswith("tl") else None
    home = here.bindings.get(name)
    if home is None:
        others = (_resolve(star, name, seen) for star in reversed(here.stars) if _offers(star, name))
        found = next((other for other in others if other), None)
        return found or (Home(f"{module}.{name}") if file_of(f"{module}.{name}") else None)
    if not home.name or home == Home(module, name):
        return home
    if file_of(f"{home.module}.{home.name}") and name not in _bindings(home.module):
        return Home(f"{home.module}.{home.name}")
    if source(home.module) is None:
        return home
    return _resolve(home.module, home.name, seen)


def _bindings(module: str) -> dict[str, Home]:
    other = source(module)
    return other.bindings if other else {}


def _offers(module: str, name: str) -> bool:
    other = source(module)
    if other is None:
        return not name.startswith("_") and hasattr(import_module(module), name)
    return name in other.public()
