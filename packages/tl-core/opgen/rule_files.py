"""The functions of `optable/rules/`, by kind of rule and name of row."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from opgen.formulas.rule_parser import Helpers

FOLDER = Path(__file__).parents[1] / "optable" / "rules"
KINDS = ("jvp", "batch")


@dataclass(frozen=True)
class RuleFunction:
    """A rule of one row, as the syntax tree of its function."""

    kind: str  # jvp | batch
    row: str
    family: str  # the name of the file
    definition: ast.FunctionDef
    helpers: Helpers

    def position(self, node: ast.AST | None = None) -> str:
        """File and line of a part of the function, or of a helper."""
        node = node or self.definition
        return f"optable/rules/{getattr(node, 'family', self.family)}.py:{getattr(node, 'lineno', 0)}"


@cache
def rule_functions(folder: Path = FOLDER) -> dict[tuple[str, str], RuleFunction]:
    """(kind, row) -> the function; raises ValueError if a row has two."""
    functions: dict[tuple[str, str], RuleFunction] = {}
    for path in sorted(folder.glob("[!_]*.py")):
        for function in _functions(path):
            key = (function.kind, function.row)
            if key in functions:
                raise ValueError(
                    f"{function.position()}: {function.row} has a rule at {functions[key].position()}"
                )
            functions[key] = function
    return functions


def _functions(path: Path) -> Iterator[RuleFunction]:
    tree = _parse(path)
    definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    helpers = {**_imported_helpers(path, tree), **_helpers(tree)}
    for definition in definitions:
        for decorator in definition.decorator_list:
            for kind, row in _declared(decorator):
                yield RuleFunction(kind, row, path.stem, definition, helpers)


def _parse(path: Path) -> ast.Module:
    """The tree of a file. Its nodes have the name of the file, for the messages of errors in helpers."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in ast.walk(tree):
        node.family = path.stem  # type: ignore[attr-defined]  # an attribute of ours on every node
    return tree


def _helpers(tree: ast.Module) -> Helpers:
    return {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef) and not n.decorator_list}


def _imported_helpers(path: Path, tree: ast.Module) -> Helpers:
    """The helpers that a file imports from another file of rules."""
    helpers: dict[str, ast.FunctionDef] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            known = _helpers(_parse(path.parent / f"{node.module}.py"))
            helpers |= {name.name: known[name.name] for name in node.names}
    return helpers


def _declared(decorator: ast.expr) -> Iterator[tuple[str, str]]:
    """The rules that `@kind("row", …)` declares."""
    if (
        isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Name)
        and decorator.func.id in KINDS
    ):
        for name in decorator.args:
            yield decorator.func.id, ast.literal_eval(name)
