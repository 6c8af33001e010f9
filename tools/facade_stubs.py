"""`python -m tools.facade_stubs [--write]`: the façade for type checkers and editors.

No checker runs the façade's finder. So the package `tl` has a stub for each module of the API:
`tl/nn/functional/__init__.pyi` exports the names of `tl_nn.functional` from the modules that define them. The modules
are those of the façade's table and those of PyTorch. Without --write, stubs that differ are printed and the exit
status is 1.
"""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from tools.packages import ROOT
from tools.stub_sources import GENERATED, Home, export, file_of, resolve, source

FACADE = ROOT / "packages" / "tl-all" / "src" / "tl"
HEADER = "# Written by `python -m tools.facade_stubs --write`.\n"
SPLIT = "# isort: split\n"  # the order of imports decides which of two names is valid
OPEN_MODULES = ("classes", "ops")  # with names that programs register
PEER_NAMES = ROOT / "packages" / "tl-all" / "tests" / "star_names.txt"
PEER_MODULES = ROOT / "tools" / "facade_modules.txt"


@cache
def table() -> ModuleType:
    """The façade's table, loaded without its package."""
    path = ROOT / "packages" / "tl-core" / "src" / "tl_core" / "base" / "name_table.py"
    spec = importlib.util.spec_from_file_location("name_table", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def objects() -> dict[str, str]:
    """The references of the names that differ from those of their modules: the table's and the façade's own."""
    for node in ast.parse((FACADE / "_names.py").read_text()).body:
        match node:
            case ast.Assign(targets=[ast.Name("OBJECTS")], value=ast.BinOp(right=ast.Dict() as own)):
                return {**table().OBJECTS, **ast.literal_eval(own)}
    raise ValueError("tl/_names.py has no table `OBJECTS = … | {…}`")


@cache
def peer_names() -> dict[str, list[str]]:
    """The public names of PyTorch's modules that tl has as well."""
    names = {}
    for line in PEER_NAMES.read_text().splitlines():
        module, colon, listed = line.partition(":")
        if colon and not line.startswith("#"):
            names["" if module == "-" else module] = listed.partition("|")[0].split()
    return names


def modules() -> list[str]:
    """The dotted names of all modules with a stub, each after the package that contains it."""
    further = [line for line in PEER_MODULES.read_text().splitlines() if not line.startswith("#")]
    listed = {*table().MODULES, *table().ALIASES, *peer_names(), *further}
    listed |= {name.rpartition(".")[0] for name in objects()}
    parents = {".".join(name.split(".")[:depth]) for name in listed for depth in range(name.count(".") + 1)}
    return sorted(name for name in listed | parents if _is_served(name))


def _is_served(dotted: str) -> bool:
    """Whether a module, or a name below it, exists, and the façade does not have it as a file."""
    own = FACADE.joinpath(*dotted.split("."))
    if dotted and (own.with_suffix(".py").exists() or (own / "__init__.py").exists()):
        return False
    return (
        file_of(real_of(dotted)) is not None
        or real_of(dotted) == GENERATED
        or bool(children_in_table(dotted))
    )


def real_of(dotted: str) -> str:
    """The module of a dotted name."""
    return str(table().module_of(dotted)) if dotted else "tl_core"


def children_in_table(dotted: str) -> set[str]:
    """The names directly below a module in the table."""
    prefix = f"{dotted}." if dotted else ""
    names = {*table().MODULES, *table().ALIASES, *objects()}
    return {name[len(prefix) :].partition(".")[0] for name in names if name.startswith(prefix)}


def own_modules() -> list[str]:
    """The façade's public modules of its own."""
    paths = [path for path in FACADE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    return sorted(path.stem for path in paths if not path.stem.startswith("_"))


class Stub:
    """The stub of one module of the façade."""

    def __init__(self, dotted: str, every: list[str]) -> None:
        self.dotted, self.real = dotted, real_of(dotted)
        prefix = f"{dotted}." if dotted else ""
        self.children = {n.removeprefix(prefix) for n in every if n.startswith(prefix) and n != dotted}
        self.children = {child for child in self.children if "." not in child}
        self.every = set(every)
        self.exports: dict[str, set[str]] = defaultdict(set)
        self.modules: list[str] = []
        self.values: set[str] = set()

    @property
    def path(self) -> Path:
        # A folder even without children: pyright warns about a lone file that it lacks the source.
        return FACADE.joinpath(*self.dotted.split("."), "__init__.pyi")

    def names(self) -> list[str]:
        """The names of the module: its own, the table's, PyTorch's, and private classes."""
        here = source(self.real)
        own = [n for n in here.public() if here.listing or self._is_own(n)] if here else []
        private = [n for n in here.bindings if n.startswith("_") and self._is_class(n)] if here else []
        prefix = f"{self.dotted}." if self.dotted else ""
        listed = [n.removeprefix(prefix) for n in objects() if n.startswith(prefix)]
        peers = peer_names().get(self.dotted, [])
        return sorted({*own, *private, *(n for n in listed if "." not in n), *peers})

    def _is_own(self, name: str) -> bool:
        """Whether a name of a module without `__all__` comes from the same package."""
        home = resolve(self.real, name)
        return bool(home and home.name and home.module.partition(".")[0] == self.real.partition(".")[0])

    def _starred(self) -> set[str]:
        """The names that `from MODULE import *` exports: those of a list that checkers read, if none is a module."""
        here = source(self.real)
        if not self.dotted or here is None or not here.is_readable():
            return set()
        homes = {name: self._home(name) for name in here.public()}
        return set(homes) if all(home == Home(self.real, name) for name, home in homes.items()) else set()

    def _settings(self) -> set[str]:
        """The variables of a module of settings, which programs read and set as attributes."""
        file = file_of(self.real)
        text = file.read_text() if file else ""
        if "install_config_module(sys.modules[__name__])\n" not in text:
            return set()
        targets: list[ast.expr] = []
        for node in ast.parse(text).body:
            if isinstance(node, ast.Assign):
                targets += node.targets
            elif isinstance(node, ast.AnnAssign):
                targets.append(node.target)
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        return {name for name in names if not name.startswith("_") and not name.isupper()}

    def _is_class(self, name: str) -> bool:
        """Whether a name is a class of this repository."""
        home = resolve(self.real, name)
        there = source(home.module) if home else None
        return bool(home and there and home.name in there.classes)

    def text(self) -> str:
        """The stub, before the formatter sees it."""
        first = table().first_name_of(self.dotted)
        if first != self.dotted and first in self.every:
            return f"{HEADER}{self._relative(first, '*')}"
        self.values |= self._settings()
        starred = self._starred()
        for name in self.names():
            if name not in starred:
                self._export(name)
        if starred:
            self.exports[self.real].add("*")
        native = set() if self.dotted else self.exports.pop(GENERATED, set())
        if not self.dotted:
            self.exports["tl.version"].add("__version__ as __version__")
            self.exports["tl"] |= {f"{name} as {name}" for name in own_modules()}
        imports = [_import(module, names) for module, names in sorted(self.exports.items())]
        if native:
            star = f"from {GENERATED} import *  # type: ignore[assignment]\n"
            imports += [SPLIT, star, SPLIT, *self._shadowed(), SPLIT]
            if renamed := set(_renamed(native)):
                self.exports[GENERATED] = renamed
                imports.append(_import(GENERATED, renamed))
        children = [f"from . import {c} as {c}\n" for c in sorted(self.children - self._objects())]
        typing = "from typing import Any\n" if self.values or self.dotted in OPEN_MODULES else ""
        pairs = {pair for names in self.exports.values() for pair in _renamed(names)}
        values = [f"{new} = _{new}_\n" for new in sorted(pair.rpartition(" ")[2] for pair in pairs)]
        values += [f"{name}: Any\n" for name in sorted(self.values)]
        if self.dotted in OPEN_MODULES:
            values.append("def __getattr__(name: str) -> Any: ...\n")
        return "".join([HEADER, typing, *imports, *self.modules, *children, "\n", *values])

    def _shadowed(self) -> Iterator[str]:
        """Imports again, for checkers whose last import of a name is valid: in mypy, it is the first."""
        native = source(GENERATED)
        assert native is not None
        for module, names in sorted(self.exports.items()):
            again = {n for n in names if n.partition(" as ")[0] in native.bindings}
            if again:
                yield _import(module, again)

    def _objects(self) -> set[str]:
        """The exported names, which are no modules."""
        return (
            {n.rpartition(" as ")[2] for names in self.exports.values() for n in names}
            | self.values
            | self._starred()
        )

    def _export(self, name: str) -> None:
        home = self._home(name)
        if home is not None and home.name:
            self.exports[home.module].add(f"{home.name} as {name}")
        elif name in self.children:
            return
        elif home is None:
            self.values.add(name)
        elif (facade := table().facade_of(home.module)) in self.every:
            self.modules.append(self._relative(facade, name))
        elif "." in home.module:
            parent, _, last = home.module.rpartition(".")
            self.exports[parent].add(f"{last} as {name}")

    def _relative(self, dotted: str, name: str) -> str:
        """An import that is valid in a copy of the stubs under another name: of a module, or of all its names."""
        depth = self.dotted.count(".") + (self.dotted != "")
        parent, _, last = dotted.rpartition(".")
        if name == "*":
            return f"from .{'.' * depth}{dotted} import *\n"
        return f"from .{'.' * depth}{parent} import {last} as {name}\n"

    def _home(self, name: str) -> Home | None:
        dotted = f"{self.dotted}.{name}" if self.dotted else name
        reference = objects().get(dotted)
        if self.dotted == "return_types":
            return Home(GENERATED, f"_result_{name}")
        if reference is None:
            return export(self.real, name)
        module, _, path = reference.partition(":")
        return None if "." in path else export(module, path)


def _renamed(pairs: set[str]) -> Iterator[str]:
    """The pairs whose names differ from those of their module. A stub exports them by an assignment alone."""
    for pair in pairs:
        name, renamed, new = pair.partition(" as ")
        if renamed and name != new:
            yield pair


def _import(module: str, names: set[str]) -> str:
    if "*" in names:
        others = names - {"*"}
        return f"from {module} import *\n" + (_import(module, others) if others else "")
    return f"from {module} import {', '.join(sorted(map(_alias, names)))}\n"


def _alias(pair: str) -> str:
    """A pair of names in an import: `a as a` exports a name, and `a as _b_` prepares an assignment."""
    name, _, new = pair.partition(" as ")
    return pair if name == new else f"{name} as _{new}_"


def stubs() -> dict[Path, str]:
    """All stubs by their paths."""
    every = modules()
    return formatted({stub.path: stub.text() for stub in (Stub(dotted, every) for dotted in every)})


def formatted(texts: dict[Path, str]) -> dict[Path, str]:
    """The texts as the repository's formatter writes them."""
    with tempfile.TemporaryDirectory() as folder:
        copies = {path: Path(folder, path.relative_to(FACADE)) for path in texts}
        for path, copy in copies.items():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(texts[path])
        settings = f"--config={ROOT / 'pyproject.toml'}"
        for command in (["check", "--select=I", "--fix", "--quiet"], ["format", "--quiet"]):
            subprocess.run(["ruff", *command, settings, "--no-cache", folder], check=True)
        return {path: copy.read_text() for path, copy in copies.items()}


def main() -> int:
    """Writes or compares the stubs."""
    write = "--write" in sys.argv[1:]
    texts = stubs()
    before = [path for path in FACADE.rglob("*.pyi") if path not in texts]
    differ = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    if write:
        for path in before:
            path.unlink()
        for path in differ:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path])
    wrong = sorted(str(path.relative_to(ROOT)) for path in [*before, *differ])
    print(f"{len(texts)} stubs of the façade, {len(wrong)} differ", *wrong[:20], sep="\n  ")
    return bool(wrong) and not write


if __name__ == "__main__":
    sys.exit(main())
