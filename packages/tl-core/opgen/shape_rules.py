"""The sizes of results: `_shapes.json`, from the rows' `shape`.

A rule is an expression of Python in the language of `grad`, over sizes instead of tensors. It may use

- the row's arguments: of tensors `shape`, `ndim`, `dtype`, `numel()`, of lists the elements, and numbers;
- arithmetic, comparisons, `and`, `or`, `not`, `a if c else b`, lists, indexing, slicing, comprehensions;
- the functions of `tl_core/operators/shape_functions.py`.

Its value is the list of sizes; with several results, or a list of them, a list of such lists. `""` leaves it to what
is implied: elementwise rows extend their inputs, rows with `dim` and `keepdim` reduce, rows that write their first
argument keep its shape, those of `view_copy` do as the view. Rows without a rule are few: tracers try them at several
sizes.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

from opgen.row import Row

DATA = "data"  # the word for results whose sizes the elements decide
_ATTRIBUTES = {"shape", "ndim", "dtype", "numel"}
_NODES = (
    ast.Expression, ast.Name, ast.Load, ast.Store, ast.Constant, ast.Attribute, ast.Call, ast.BinOp, ast.UnaryOp,
    ast.BoolOp, ast.And, ast.Or, ast.Not, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Div, ast.Mod,
    ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn, ast.IfExp,
    ast.List, ast.Tuple, ast.Subscript, ast.Slice, ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.Starred,
)  # fmt: skip


class ShapeError(ValueError):
    """A rule that is no part of the language; the message has the file and line of the row."""


def functions() -> set[str]:
    """The names that rules may call, read from the text of `tl_core/operators/shape_functions.py`."""
    path = Path(__file__).parents[1] / "src" / "tl_core" / "operators" / "shape_functions.py"
    tree = ast.parse(path.read_text())
    names: set[str] = set()
    for node in tree.body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == "FUNCTIONS":
            names |= {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
            names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return names


def shapes_json(rows: list[Row]) -> str:
    """Operator name -> the names and defaults of its arguments, and its rule; raises ShapeError."""
    known, by_name = functions(), {row.name: row for row in rows}
    table: dict[str, list] = {}
    for row in rows:
        text = row.shape or implied(row, by_name)
        if not text or text == DATA:
            continue
        _check(row, text, known)
        defaults = [(a.name, _default(a.default)) for a in row.args]
        arguments = [name if default is None else [name, default] for name, default in defaults]
        for variant, schema in row.forms():
            if not schema.rets:
                continue
            rule = f"{row.args[0].name}.shape" if variant == "inplace" and not row.writes_self else text
            table[schema.name] = [arguments, rule]
    lines = (f"{json.dumps(n)}:{json.dumps(e, separators=(',', ':'))}" for n, e in sorted(table.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def implied(row: Row, by_name: dict[str, Row]) -> str:
    """The rule of a row that states none; empty if its kind implies none."""
    names = {a.name for a in row.args}
    if row.elementwise:
        return _extended([a.name for a in row.args[: row.elementwise.inputs]], row)
    if row.each:
        several = next(a.name for a in row.args if a.is_tensor_list)
        return f"[t.shape for t in {several}]" if row.rets else ""
    if row.family == "sparse":
        return ""
    if row.writes_self and len(row.rets) == 1 and row.args[0].is_tensor:
        return f"{row.args[0].name}.shape"
    if row.family == "view_copy":
        view = by_name.get(row.name.replace("_copy", "", 1))
        return (view.shape or implied(view, by_name)) if view else ""
    if (
        {"dim", "keepdim"} <= names
        and row.args[0].name in ("self", "A", "input")
        and "backward" not in row.name
    ):
        text = f"reduction({row.args[0].name}.shape, dim, keepdim)"
        return text if len(row.rets) == 1 else "[" + ", ".join([text] * len(row.rets)) + "]"
    return ""


def _extended(names: list[str], row: Row) -> str:
    kinds = {a.name: a for a in row.args}
    if len(names) == 1:
        return f"{names[0]}.shape"
    return f"broadcast({', '.join(_shape_of(kinds[n]) for n in names)})"


def _shape_of(arg) -> str:
    return f"{arg.name}.shape" if arg.type == "Tensor" and not arg.optional else f"sizes({arg.name})"


def _default(text: str | None):
    if text is None or text == "None":
        return None
    if text in ("True", "False"):
        return text == "True"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _check(row: Row, text: str, known: set[str]) -> None:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as e:
        raise _error(row, text, f"is no Python expression: {e.msg}") from None
    scope = {a.name for a in row.args}
    scope |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in ast.walk(tree):
        _check_node(row, node, scope, known)


def _check_node(row: Row, node: ast.AST, scope: set[str], known: set[str]) -> None:
    if not isinstance(node, _NODES) and not isinstance(node, ast.keyword):
        raise _error(row, ast.unparse(node), f"has {type(node).__name__}, which rules of shapes do not have")
    if isinstance(node, ast.Attribute) and node.attr not in _ATTRIBUTES:
        raise _error(
            row, ast.unparse(node), f"reads .{node.attr}; rules read {', '.join(sorted(_ATTRIBUTES))}"
        )
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id
        if name not in known or name in scope:
            why = (
                "is an argument of the row"
                if name in scope
                else "is no function of tl_core/operators/shape_functions.py"
            )
            raise _error(row, ast.unparse(node), f"calls {name}, which {why}")
    elif isinstance(node, ast.Name) and node.id not in scope and node.id not in known:
        raise _error(row, node.id, "is no argument of the row")


def _error(row: Row, text: str, why: str) -> ShapeError:
    return ShapeError(f"{row.where}: the shape of {row.name}: {text!r} {why}")
