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
        """File and line of a part of the function."""
        return f"optable/rules/{self.family}.py:{getattr(node or self.definition, 'lineno', 0)}"


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
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    helpers = {node.name: node for node in definitions if not node.decorator_list}
    for definition in definitions:
        for decorator in definition.decorator_list:
            for kind, row in _declared(decorator):
                yield RuleFunction(kind, row, path.stem, definition, helpers)


def _declared(decorator: ast.expr) -> Iterator[tuple[str, str]]:
    """The rules that `@kind("row", …)` declares."""
    if (
        isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Name)
        and decorator.func.id in KINDS
    ):
        for name in decorator.args:
            yield decorator.func.id, ast.literal_eval(name)
