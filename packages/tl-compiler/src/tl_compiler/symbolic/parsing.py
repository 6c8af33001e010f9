"""Reads the expressions of `.pt2` files. Only numbers, symbols and known constructors are taken; nothing is
executed."""

from __future__ import annotations

import ast
from functools import reduce
from typing import Any

from .canonical_forms import add, call, logic, mul, negate, power, relation
from .expression import (
    FUNCTIONS,
    Expr,
    Float,
    Integer,
    Symbol,
    false,
    sympify,
    true,
)

__all__ = ["parse"]

_RELATIONS = {
    "Equality": "==",
    "Eq": "==",
    "Unequality": "!=",
    "Ne": "!=",
    "StrictLessThan": "<",
    "LessThan": "<=",
    "StrictGreaterThan": ">",
    "GreaterThan": ">=",
}
_LONGEST = 1 << 16
_DEEPEST = 200


def parse(source: str, symbols: dict[str, Symbol] | None = None) -> Expr:
    """The expression that a text stands for, in either form: constructors, or as people write it.

    Args:
        source: the text.
        symbols: the symbols by name: those that are known are taken from it, new ones are put there.

    Returns:
        The expression.

    Raises:
        ValueError: the text is none, or too long or deep.
    """
    if len(source) > _LONGEST:
        raise ValueError(f"an expression of {len(source)} characters; the limit is {_LONGEST}")
    try:
        tree = ast.parse(source.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"no expression: {source[:80]!r}") from error
    return _Reader({} if symbols is None else symbols, source).read(tree.body, 0)


class _Reader:
    def __init__(self, symbols: dict[str, Symbol], source: str) -> None:
        self.symbols, self.source = symbols, source

    def _refuse(self, what: str) -> ValueError:
        return ValueError(f"{what} in the expression {self.source[:80]!r}")

    def read(self, node: ast.AST, depth: int) -> Expr:
        if depth > _DEEPEST:
            raise self._refuse("too many levels")
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            return sympify(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._call(node.func.id, node, depth)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.read(node.operand, depth + 1)
        if isinstance(node, ast.BinOp):
            return self._binary(node, depth)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            signs = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
            sign = signs.get(type(node.ops[0]))
            if sign:
                return relation(
                    sign, self.read(node.left, depth + 1), self.read(node.comparators[0], depth + 1)
                )
        raise self._refuse(f"{type(node).__name__}")

    def _name(self, name: str) -> Expr:
        if name in ("true", "True"):
            return true
        if name in ("false", "False"):
            return false
        if name not in self.symbols:
            self.symbols[name] = Symbol(name, positive=not name.startswith("u"))
        return self.symbols[name]

    def _binary(self, node: ast.BinOp, depth: int) -> Expr:
        a, b = self.read(node.left, depth + 1), self.read(node.right, depth + 1)
        names = {ast.FloorDiv: "FloorDiv", ast.Mod: "Mod", ast.Div: "IntTrueDiv"}
        if isinstance(node.op, ast.Add):
            return a + b
        if isinstance(node.op, ast.Sub):
            return a - b
        if isinstance(node.op, ast.Mult):
            return a * b
        if isinstance(node.op, ast.BitAnd):
            return logic("and", a, b)
        if isinstance(node.op, ast.BitOr):
            return logic("or", a, b)
        if isinstance(node.op, ast.Pow):
            return self._power(a, b)
        if type(node.op) in names:
            return call(names[type(node.op)], a, b)
        raise self._refuse(type(node.op).__name__)

    def _power(self, a: Expr, b: Expr) -> Expr:
        if isinstance(b, Integer) and not -64 <= b.value <= 64:
            raise self._refuse("a power above 64")
        return power(a, b)

    def _plain(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.Constant):
            raise self._refuse("an argument that is no constant")
        return node.value

    def _call(self, name: str, node: ast.Call, depth: int) -> Expr:
        options = {k.arg: k.value for k in node.keywords}
        if name == "Symbol":
            return self._symbol(node, options)
        if name == "Integer":
            return Integer(int(self._signed_number(node.args[0])))
        if name == "Float":
            return Float(float(self._signed_number(node.args[0])))
        if name == "Piecewise":
            return self._piecewise(node, depth)
        if options:
            raise self._refuse(f"options of {name}")
        args = [self.read(a, depth + 1) for a in node.args]
        if not args:
            raise self._refuse(f"{name} without arguments")
        if name == "Add":
            return reduce(add, args)
        if name == "Mul":  # numbers come last, because a number is distributed over a sum that is alone
            return reduce(mul, sorted(args, key=lambda a: isinstance(a, (Integer, Float))))
        if name in ("And", "Or"):
            return logic(name.lower(), *args)
        arity = 2 if name in _RELATIONS or name == "Pow" else 1 if name == "Not" else len(args)
        if len(args) != arity:
            raise self._refuse(f"{len(args)} arguments of {name}")
        if name == "Not":
            return negate(args[0])
        if name in _RELATIONS:
            return relation(_RELATIONS[name], *args)
        if name == "Pow":
            return self._power(*args)
        return self._function(name, args)

    def _function(self, name: str, args: list[Expr]) -> Expr:
        if name not in FUNCTIONS:
            raise self._refuse(f"the unknown function {name!r}")
        if name in ("PowByNatural", "LShift"):
            raise_limit = args[-1].evaluate({}) if args[-1].is_number else 0
            if raise_limit > 64:
                raise self._refuse("a power above 64")
        try:
            return call(name, *args)
        except (TypeError, ZeroDivisionError, OverflowError) as error:
            raise self._refuse(f"wrong arguments of {name}") from error

    def _signed_number(self, node: ast.AST) -> Any:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._plain(node.operand)
        return self._plain(node)

    def _symbol(self, node: ast.Call, options: dict[str | None, ast.expr]) -> Expr:
        name = self._plain(node.args[0]) if len(node.args) == 1 else None
        if not isinstance(name, str) or not name.isidentifier():
            raise self._refuse("a symbol without a name")
        if name not in self.symbols:
            assumptions = {k: bool(self._plain(v)) for k, v in options.items()}
            integer = assumptions.get("integer", not assumptions.get("real", False))
            self.symbols[name] = Symbol(name, assumptions.get("positive", False), integer)
        return self.symbols[name]

    def _piecewise(self, node: ast.Call, depth: int) -> Expr:
        pairs = [p.args for p in node.args if isinstance(p, ast.Call) and len(p.args) == 2]
        if len(pairs) != 2 or len(node.args) != 2:
            raise self._refuse("a choice that isn't between two values")
        (a, c), (b, _) = pairs
        return call("Piecewise", *(self.read(x, depth + 1) for x in (a, c, b)))
