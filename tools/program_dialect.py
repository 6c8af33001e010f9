"""Examples in the dialect of programs: `tl_nn.Linear(2, 3)` of a package's docstring is `torch.nn.Linear(2, 3)`.

Docstrings say the names of their package, so `help` agrees with the import of a user who has this package alone. The
site shows each example after `import tl as torch`, and `tools.doc_examples` runs both forms. A name of the repository
becomes a name of `torch` if the façade serves the same object under it. Otherwise the example imports it from its
module.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import functools
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from tl_core.base import name_table
from tools.packages import packages

FACADE, ROOT = "tl", "torch"
IMPORT = f"import {FACADE} as {ROOT}"
OURS = frozenset(p.import_name for p in packages().values())
Edit = tuple[int, int, str]  # start, end and text


# ---- the names that an example may use -----------------------------------------------------------------------------


@functools.cache
def names_of(module: ModuleType) -> dict[str, Any]:
    """The names of a module, with those that it imports at their first use."""
    listed = getattr(module, "__all__", ())
    return {**{name: getattr(module, name) for name in listed if hasattr(module, name)}, **vars(module)}


@functools.cache
def names_around(module: ModuleType) -> dict[str, Any]:
    """The names that the examples of a module's docstrings may use: packages, names of the package, of the module."""
    package = names_of(importlib.import_module(module.__name__.partition(".")[0]))
    package = {n: v for n, v in package.items() if not hasattr(builtins, n)}  # `bool` is a dtype there
    return {**{name: importlib.import_module(name) for name in OURS}, **package, **names_of(module)}


def module_of(value: Any) -> ModuleType | None:
    """The module of this repository that defines an object."""
    others = (getattr(value, name, None) for name in ("fget", "__func__", "__objclass__", "__class__"))
    for each in (value, *others):
        name = getattr(each, "__module__", None)
        if isinstance(name, str) and name.partition(".")[0] in OURS:
            return sys.modules.get(name)
    return None


# ---- names of the façade -------------------------------------------------------------------------------------------


@functools.cache
def attribute(dotted: str) -> Any:
    """The value of a dotted name below the façade, or None."""
    value: Any = importlib.import_module(FACADE)
    for part in dotted.split(".") if dotted else ():
        value = getattr(value, part, None)
    return value


def facade_path(module: ModuleType, name: str, value: Any) -> str | None:
    """The name below the façade of an attribute of a module."""
    parts = (name_table.facade_of(module.__name__), name)
    dotted = ".".join(part for part in parts if part)
    known = parts[0] is not None and value is not None
    return dotted if known and attribute(dotted) is value else None


def path_of(name: str, value: Any, module: ModuleType | None = None) -> str | None:
    """The name below the façade of a value that an example knows as `name`."""
    if isinstance(value, ModuleType):
        dotted = name_table.facade_of(value.__name__)
        return dotted if dotted is not None and attribute(dotted) is value else None
    preferred = [f"nn.{name}"] if isinstance(value, type) else []  # `nn.Parameter`, not `Parameter`
    for dotted in [*preferred, name]:
        if value is not None and attribute(dotted) is value:
            return dotted
    homes = (module, module_of(value))
    tops = (sys.modules.get(home.__name__.rpartition(".")[0]) for home in homes if home is not None)
    paths = (facade_path(each, name, value) for each in (*homes, *tops) if each is not None)
    return next(filter(None, paths), None)


# ---- conversion ----------------------------------------------------------------------------------------------------


@dataclass
class Conversion:
    """The state of the conversion of one text: known names, and the imports that its examples need."""

    names: dict[str, Any]
    aliases: dict[str, ModuleType] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    imports: list[str] = field(default_factory=list)

    def need(self, line: str) -> None:
        """Adds an import."""
        if line not in self.imports:
            self.imports.append(line)

    def spelling(self, dotted: str) -> str:
        """A name of the façade in the example."""
        self.need(IMPORT)
        return f"{ROOT}.{dotted}" if dotted else ROOT

    def chain(self, node: ast.expr) -> tuple[ast.Name, list[ast.Attribute]] | None:
        """The root of `a.b.c` and its attributes from left to right."""
        attributes = []
        while isinstance(node, ast.Attribute):
            attributes.append(node)
            node = node.value
        return (node, attributes[::-1]) if isinstance(node, ast.Name) else None

    def of_module(self, root: ast.Name, attributes: list[ast.Attribute]) -> tuple[ast.expr, str] | None:
        """The part of a chain below a module, and its text."""
        module, rest = self.aliases[root.id], attributes
        used: ast.expr = root
        while rest and isinstance(getattr(module, rest[0].attr, None), ModuleType):
            module, used, rest = getattr(module, rest[0].attr), rest[0], rest[1:]
        if rest:
            name = rest[0].attr
            path = path_of(name, getattr(module, name, None), module)
            if path is not None:
                return rest[0], self.spelling(path)
        elif (path := path_of(root.id, module)) is not None:
            return used, self.spelling(path)
        name = self.aliases[root.id].__name__
        self.need(f"import {name}" if root.id == name else f"import {name} as {root.id}")
        return None

    def of_name(self, root: ast.Name) -> tuple[ast.expr, str] | None:
        """A name that the docstring's module knows, and its text."""
        value = self.names[root.id]
        path = path_of(root.id, value, sys.modules.get(self.names.get("__name__", "")))
        if path is not None:
            return root, self.spelling(path)
        home = module_of(value)
        if isinstance(value, ModuleType):
            plain = value.__name__ == root.id
            self.need(f"import {root.id}" if plain else f"import {value.__name__} as {root.id}")
        else:
            own = home is not None and getattr(home, root.id, None) is value
            named = home.__name__ if home is not None and own else self.names["__name__"]
            self.need(f"from {named} import {root.id}")
        return None

    def edits(self, tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
        """The expressions to replace, and their texts."""
        for node in ast.iter_child_nodes(tree):
            chain = self.chain(node) if isinstance(node, ast.Attribute | ast.Name) else None
            if chain is None or chain[0].id in self.variables or not isinstance(chain[0].ctx, ast.Load):
                yield from self.edits(node)
                continue
            root, attributes = chain
            edit = None
            if root.id in self.aliases:
                edit = self.of_module(root, attributes)
            elif isinstance(self.names.get(root.id), ModuleType) and self.names[root.id].__name__ in OURS:
                self.aliases[root.id] = self.names[root.id]
                edit = self.of_module(root, attributes)
            elif root.id in self.names and self.names[root.id] is not getattr(builtins, root.id, None):
                edit = self.of_name(root)
            if edit is not None:
                yield edit

    def import_text(self, node: ast.Import | ast.ImportFrom) -> str | None:
        """The text in the place of an import; None for an import of other modules."""
        if isinstance(node, ast.ImportFrom):
            return self.from_import_text(node)
        if ast.unparse(node) == IMPORT:
            self.variables.add(ROOT)
            return None
        rest = []
        for alias in node.names:
            known = alias.name.partition(".")[0] in OURS and (alias.asname or "." not in alias.name)
            module = importlib.import_module(alias.name) if known else None
            dotted = (
                name_table.facade_of(module.__name__) if module is not None and alias.name != FACADE else ""
            )
            if module is not None and alias.asname and dotted:  # `import tl.nn.functional as F`
                rest.append(ast.alias(f"{FACADE}.{dotted}", alias.asname))
                self.variables.add(alias.asname)
            elif module is not None:
                self.aliases[alias.asname or alias.name] = module
            else:
                rest.append(alias)
                self.variables.add(alias.asname or alias.name.partition(".")[0])
        if [(a.name, a.asname) for a in rest] == [(a.name, a.asname) for a in node.names]:
            return None
        return ast.unparse(ast.Import(rest)) if rest else ""

    def from_import_text(self, node: ast.ImportFrom) -> str | None:
        """`from tl.nn import Linear` for `from tl_nn import Linear`."""
        self.variables |= {alias.asname or alias.name for alias in node.names}
        if node.module is None or node.module.partition(".")[0] not in OURS - {FACADE}:
            return None
        module = importlib.import_module(node.module)
        if any(facade_path(module, a.name, getattr(module, a.name, None)) is None for a in node.names):
            return None
        dotted = name_table.facade_of(node.module)
        home = f"{FACADE}.{dotted}" if dotted else FACADE
        return ast.unparse(ast.ImportFrom(home, node.names, 0))

    def source(self, text: str) -> str:
        """The statements of one example."""
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return text
        changes: list[tuple[Any, str]] = []
        for statement in tree.body:
            line = self.import_text(statement) if isinstance(statement, ast.Import | ast.ImportFrom) else None
            if line is not None:
                changes.append((statement, line))
        nodes = list(ast.walk(tree))
        targets = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        self.variables |= {n.arg for n in nodes if isinstance(n, ast.arg)}
        self.variables |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        if all(not isinstance(s, ast.Assign) for s in tree.body):  # `x = f(x)` reads the former x
            self.variables |= targets
        changes += self.edits(tree)
        self.variables |= targets
        return replace(text, changes)


def replace(text: str, changes: list[tuple[Any, str]]) -> str:
    """A source with other texts for some of its nodes."""
    lines = text.encode().splitlines(keepends=True)
    starts = [sum(map(len, lines[:i])) for i in range(len(lines) + 1)]
    data = text.encode()
    spans = [
        (starts[n.lineno - 1] + n.col_offset, starts[n.end_lineno - 1] + n.end_col_offset, new)
        for n, new in changes
    ]
    for start, end, new in sorted(spans, reverse=True):
        data = data[:start] + new.encode() + data[end:]
    return data.decode()


def with_prompts(source: str, indent: int) -> list[str]:
    """Statements with the prompts of the interpreter."""
    lines = source.rstrip("\n").split("\n")
    return [f"{' ' * indent}{'... ' if i else '>>> '}{line}".rstrip() for i, line in enumerate(lines)]


def convert(text: str, names: dict[str, Any]) -> str:
    """A text whose examples are in the dialect of programs. Examples that know `names` import them."""
    examples = doctest.DocTestParser().get_examples(text)
    state, lines, result, done = Conversion(names), text.split("\n"), [], 0
    at = None
    for example in examples:
        result += lines[done : example.lineno]
        at = len(result) if at is None else at
        source = state.source(example.source)
        if source == example.source:
            result += lines[example.lineno : example.lineno + example.source.count("\n")]
        elif source.strip() and not source.lstrip().startswith("#"):  # an import without its comment
            result += with_prompts(source, example.indent)
        done = example.lineno + example.source.count("\n")
    result += lines[done:]
    if at is not None:
        header = [f"{' ' * examples[0].indent}>>> {line}" for line in state.imports]
        result[at:at] = [line for line in header if line not in result]
    return "\n".join(result)
