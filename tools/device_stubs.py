"""`python -m tools.device_stubs [--write]`: what type checkers see of the device modules.

`cuda`, `xpu`, `mtia`, `mps`, `cpu` and `accelerator` are filled from the rows of tl_backends/device_names.py when they
are imported, which no type checker follows. Beside each such module stands a stub that says the same. Without --write,
stubs that differ are named and the exit status is 1.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.packages import ROOT

SOURCES = ROOT / "packages" / "tl-backends" / "src"
FILLED = ".fill(globals())"
HEADER = "# Written by `python -m tools.device_stubs --write` from device_names.py.\n"
TYPES = "from collections.abc import Callable, Iterable, Iterator\nfrom typing import Any, Self\n"


def filled() -> list[Path]:
    """The modules that are filled from the table."""
    return sorted(p for p in SOURCES.rglob("*.py") if f"{FILLED}\n" in p.read_text())


def dotted(path: Path) -> str:
    """The name under which a module is imported."""
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")


def shown(module: str, names: list[str]) -> str:
    """An import that shows the names as the importing module's own: `__all__` does it for public ones."""
    parts = [f"{n} as {n}" if n.startswith("_") else n for n in names]
    return f"from {module} import {', '.join(parts)}\n" if parts else ""


def definition(signature: str, indent: str = "") -> str:
    """A function as a stub has it, from a row's signature: the decorator, if any, stands before the name."""
    head, _, rest = signature.partition("(")
    *decorator, name = head.split()
    lines = [f"@{decorator[0]}\n"] if decorator else []
    return "".join(f"{indent}{line}" for line in [*lines, f"def {name}({rest}: ...\n"])


def class_definition(row: Any, import_of: Callable[[type], str]) -> str:
    """A class as a stub has it."""
    name, _, arguments = row.signature.partition("(")
    base = row.base if isinstance(row.base, str) else import_of(row.base)
    members = [f"__init__(self, {arguments} -> None"] if arguments else []
    members += [signature for signature, *_ in row.members]
    body = "".join(definition(signature, "    ") for signature in members) or "    ...\n"
    return f"class {name}{f'({base})' if base else ''}:\n{body}"


class Stub:
    """The stub of one module."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, dotted(path)
        self.module = import_module(self.name)
        self.key = self.name.removeprefix("tl_backends.")
        self.imports: set[str] = set()

    def text(self) -> str:
        """The stub, formatted."""
        own, shared = list(self.own()), list(self.shared())
        parts = [*self.classes(), *self.functions(), *own, *shared]
        public = f"__all__ = {sorted(set(self.module.__all__))!r}\n"
        head = [HEADER, TYPES, *sorted(self.imports), self.submodules(), public]
        return formatted("\n".join([*head, *parts]), self.path)

    def import_of(self, cls: type) -> str:
        """The name of a base class, which is imported."""
        if cls is object:
            return ""
        self.imports.add(f"from {cls.__module__} import {cls.__name__}\n")
        return cls.__name__

    def own(self) -> Iterator[str]:
        """What the module's source imports and defines."""
        for node in ast.parse(self.path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and not (node.module or "").endswith("device_kind"):
                self.imports.add(shown(node.module or "", [name.name for name in node.names]))
            elif isinstance(node, ast.ClassDef | ast.FunctionDef):
                yield without_bodies(node)

    def classes(self) -> Iterator[str]:
        """The classes of the table."""
        for row in names().CLASSES:
            if self.key in row.modules.split():
                yield class_definition(row, self.import_of)

    def functions(self) -> Iterator[str]:
        """The functions of the table."""
        for modules, rows in names().FUNCTIONS.items():
            for signature, *_ in rows if self.key in modules.split() else ():
                yield definition(signature)

    def shared(self) -> Iterator[str]:
        """Existing objects, constants and second names."""
        for same in names().SAME:
            if self.key not in same.modules.split():
                continue
            if isinstance(same.what, str):
                yield f"{same.name} = {same.what}\n"
            elif isinstance(same.what, bool | tuple):
                yield f"{same.name}: {type(same.what).__name__}\n"
            else:
                self.imports.add(shown(same.what.__module__, [same.name]))

    def submodules(self) -> str:
        """The names of submodules that the package has as well, and the submodules themselves."""
        flat = names().FLAT.get(self.key, "").split()
        lines = [shown(f"{self.name}.{part}", import_module(f"{self.name}.{part}").__all__) for part in flat]
        return "".join([*lines, shown(self.name, names().LISTED.get(self.key, "").split())])


def names() -> ModuleType:
    """The table."""
    return import_module("tl_backends.device_names")


def without_bodies(node: ast.ClassDef | ast.FunctionDef) -> str:
    """A definition whose functions do nothing, and without docstrings."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef):
            inner.body = [ast.Expr(ast.Constant(...))]
        elif isinstance(inner, ast.ClassDef):
            inner.body = [n for n in inner.body if not isinstance(n, ast.Expr)] or [ast.Pass()]
    return ast.unparse(node) + "\n"


def formatted(text: str, path: Path) -> str:
    """The text as the repository's formatter writes it, without imports that nothing uses."""
    where = f"--stdin-filename={path.with_suffix('.pyi')}"
    for command in (
        ["check", "--fix", "--exit-zero", "--quiet"],
        ["format", "--quiet"],
        ["check", "--fix", "--quiet"],
    ):
        done = subprocess.run(
            ["ruff", *command, where, "-"], input=text, capture_output=True, text=True, cwd=ROOT
        )
        if done.returncode:
            raise SystemExit(f"{path.name}: ruff {command[0]}: {done.stdout}{done.stderr}")
        text = done.stdout
    return text


def main() -> int:
    """Writes or compares the stubs."""
    differ = []
    for path in filled():
        stub, text = path.with_suffix(".pyi"), Stub(path).text()
        if not stub.exists() or stub.read_text() != text:
            differ.append(str(stub.relative_to(ROOT)))
            if "--write" in sys.argv[1:]:
                stub.write_text(text)
    print(f"{len(filled())} device modules, {len(differ)} stubs differ", *differ, sep="\n  ")
    return bool(differ) and "--write" not in sys.argv[1:]


if __name__ == "__main__":
    sys.exit(main())
