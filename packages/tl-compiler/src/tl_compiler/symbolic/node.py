"""What a symbolic number knows: its expression, the environment of its symbols, and its hint."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

from tl_core.symbolic.numbers import FUNCTIONS_OF_ONE, SymBool, SymFloat, SymInt

from .canonical_forms import call, logic, negate, power, relation
from .expression import (
    Boolean,
    Call,
    Expr,
    Float,
    Integer,
    Symbol,
    sympify,
)
from .python_operators import ARITHMETIC, ROUNDING

__all__ = ["METHOD_TO_OPERATOR", "SymNode", "magic_methods", "method_to_operator", "to_node", "wrap_node"]

_NO_HINT = object()


def wrap_node(node: Any) -> Any:
    """The number of a node; a plain one where the node is a constant.

    Args:
        node: the node.

    Returns:
        A `SymInt`, `SymFloat`, `SymBool` or plain number.
    """
    if not isinstance(node, SymNode):
        return node
    if node.constant is not None:
        return node.constant
    return {int: SymInt, float: SymFloat, bool: SymBool}[node.pytype](node)


def to_node(like: SymNode, number: Any) -> Any:
    """The node of a number; a constant node for a plain one.

    Args:
        like: a node of the same environment.
        number: the number.

    Returns:
        The node, or NotImplemented if it is no number.
    """
    if isinstance(number, (SymInt, SymFloat, SymBool)):
        return number.node
    if isinstance(number, (bool, int, float)):
        return like._constant_node(number)
    return NotImplemented


class SymNode:
    """The node of a symbolic number.

    Args:
        expr: the expression.
        shape_env: the environment that knows its symbols.
        pytype: int, float or bool.
        hint: its value in the example that is traced; None where there is none.
        constant: the plain number that it always is.
        fx_node: the node of a graph that computes it.
    """

    __slots__ = ("__weakref__", "_expr", "_hint", "constant", "fx_node", "pytype", "shape_env")

    def __init__(
        self,
        expr: Any,
        shape_env: Any,
        pytype: type,
        hint: Any = None,
        constant: Any = None,
        fx_node: Any = None,
    ) -> None:
        self._expr = sympify(expr)
        self.shape_env = shape_env
        self.pytype = pytype
        self._hint = _NO_HINT if hint is None or isinstance(hint, (SymInt, SymFloat, SymBool)) else hint
        self.constant = constant
        self.fx_node = fx_node

    # ---- what is known
    @property
    def expr(self) -> Expr:
        """The expression, with what was learned of its symbols put in."""
        return self.shape_env.replace(self._expr)

    @property
    def hint(self) -> Any:
        """Its value in the example, or None."""
        if self._hint is _NO_HINT:
            value = self.shape_env.size_hint(self._expr, allow_none=True)
            return None if value is None else self.pytype(value)
        return self._hint

    def has_hint(self) -> bool:
        """Whether its value in the example is known."""
        return self.hint is not None

    def require_hint(self, fallback: Any = None) -> Any:
        """Its value in the example.

        Args:
            fallback: what stands for it where there is none.

        Returns:
            The number.
        """
        value = self.hint
        if value is not None:
            return value
        if fallback is not None:
            return fallback
        return self.pytype(self.shape_env.size_hint(self.expr))

    def example(self) -> Any:
        """A plain number that stands for it where operators run on examples; of what data decide any that may be."""
        value = self.hint
        probes = self.shape_env.__dict__.get("probes")
        if value is None and probes is not None:
            return self.pytype(probes.evaluate(self.expr, 0))
        return self.require_hint() if value is None else value

    def maybe_as_constant(self) -> Any:
        """The plain number that it is, or None."""
        if self.constant is not None:
            return self.constant
        e = self.expr
        return self.pytype(e.evaluate({})) if isinstance(e, (Integer, Float, Boolean)) else None

    def maybe_as_int(self) -> int | None:
        """The int that it is, or None."""
        value = self.maybe_as_constant()
        return int(value) if value is not None and self.pytype is not float else None

    def maybe_as_float(self) -> float | None:
        """The float that it is, or None."""
        value = self.maybe_as_constant()
        return float(value) if value is not None else None

    def maybe_as_bool(self) -> bool | None:
        """The bool that it is, or None."""
        value = self.maybe_as_constant()
        return bool(value) if value is not None and self.pytype is bool else None

    def is_int(self) -> bool:
        """Whether it is an int."""
        return self.pytype is int

    def is_float(self) -> bool:
        """Whether it is a float."""
        return self.pytype is float

    def is_bool(self) -> bool:
        """Whether it is a bool."""
        return self.pytype is bool

    def is_symbolic(self) -> bool:
        """Always."""
        return True

    def is_constant(self) -> bool:
        """Never: constants are plain numbers."""
        return False

    def is_nested_int(self) -> bool:
        """Never."""
        return False

    def nested_int(self) -> None:
        """Nothing: it is not the size of a ragged dimension."""
        return

    def str(self) -> builtins.str:
        """The text of the expression."""
        return f"{self.expr}"

    def __str__(self) -> builtins.str:
        return self.str()

    def __repr__(self) -> builtins.str:
        return f"SymNode({self._expr}, shape_env={self.shape_env!r}, pytype={self.pytype}, hint={self.hint})"

    def clone(self) -> SymNode:
        """The node itself."""
        return self

    # ---- constants
    def _constant_node(self, number: Any) -> SymNode:
        return SymNode(sympify(number), self.shape_env, type(number), number, constant=number)

    def wrap_int(self, num: int) -> SymNode:
        """A constant node of an int."""
        return self._constant_node(int(num))

    def wrap_float(self, num: float) -> SymNode:
        """A constant node of a float."""
        return self._constant_node(float(num))

    def wrap_bool(self, num: bool) -> SymNode:
        """A constant node of a bool."""
        return self._constant_node(bool(num))

    # ---- guards
    def evaluate(self, size_oblivious: bool = False) -> Any:
        """Its value, which from now on is a guard.

        Args:
            size_oblivious: whether sizes without a hint count as neither 0 nor 1.

        Returns:
            The plain number.
        """
        return self.shape_env.evaluate_sym_node(self, size_oblivious)

    def guard_int(self, file: builtins.str, line: int) -> int:
        """Its value as an int, which from now on is a guard."""
        return int(self.evaluate())

    def guard_float(self, file: builtins.str, line: int) -> float:
        """Its value as a float, which from now on is a guard."""
        return float(self.evaluate())

    def guard_bool(self, file: builtins.str, line: int) -> bool:
        """Whether it is true, which from now on is a guard."""
        return bool(self.evaluate())

    def guard_size_oblivious(self, file: builtins.str, line: int) -> bool:
        """Whether it is true where sizes without a hint count as neither 0 nor 1."""
        return bool(self.evaluate(size_oblivious=True))

    def expect_true(self, file: builtins.str, line: int) -> bool:
        """Whether it is true; where that isn't known it is checked when the program runs."""
        return bool(self.shape_env.expect_true(self.expr))

    def expect_size(self, file: builtins.str, line: int) -> bool:
        """As `expect_true` of being no less than zero; a symbol that data decide is a size from then on."""
        e = self.expr
        if isinstance(e, Symbol) and not self.has_hint():
            self.shape_env.size_like.add(e)
        return bool(self.shape_env.expect_true(relation(">=", e, Integer(0))))

    def int_(self) -> int:
        """Its value as an int, which from now on is a guard."""
        return self.guard_int("", 0)

    def bool_(self) -> bool:
        """Whether it is true, which from now on is a guard."""
        return self.guard_bool("", 0)

    # ---- arithmetic
    def _node(self, expr: Expr, pytype: type) -> SymNode:
        return SymNode(expr, self.shape_env, pytype)

    def sym_float(self) -> SymNode:
        """The number as a float."""
        if self.pytype is float:
            return self
        return self._node(call("ToFloat", self.expr), float)

    def sym_int(self) -> SymNode:
        """The number as an int; of a condition 1 or 0."""
        if self.pytype is bool:
            return self._node(call("Piecewise", Integer(1), self.expr, Integer(0)), int)
        return self.trunc()

    def trunc(self) -> SymNode:
        """The number without its fraction."""
        return self._node(call("TruncToInt", self.expr), int)

    def floor(self) -> SymNode:
        """The number rounded down."""
        return self._node(call("FloorToInt", self.expr), int)

    def ceil(self) -> SymNode:
        """The number rounded up."""
        return self._node(call("CeilToInt", self.expr), int)

    def round(self, ndigits: int | None = None) -> SymNode:
        """The number rounded, half to even."""
        if ndigits is None:
            return self._node(call("RoundToInt", self.expr), int)
        return self._node(call("RoundDecimal", self.expr, Integer(ndigits)), float)

    def is_integer(self) -> SymNode:
        """Whether it is a whole number."""
        if self.pytype is int:
            return self.wrap_bool(True)
        truncation = call("TruncToFloat", self.expr)
        return self._node(relation("==", self.expr, truncation), bool)

    def neg(self) -> SymNode:
        """The number below zero."""
        return self._node(-self.expr, self.pytype)

    def abs(self) -> SymNode:
        """The number without its sign."""
        return self._node(self.shape_env.simplify(call("Abs", self.expr)), self.pytype)

    def sym_not(self) -> SymNode:
        """The condition that holds where this one doesn't."""
        return self._node(negate(self.expr), bool)

    def sym_ite(self, t: SymNode, f: SymNode) -> SymNode:
        """One of two numbers, as this condition says."""
        return self._node(call("Piecewise", t.expr, self.expr, f.expr), t.pytype)

    def truediv(self, other: SymNode) -> SymNode:
        """The quotient."""
        name = "FloatTrueDiv" if float in (self.pytype, other.pytype) else "IntTrueDiv"
        a, b = (self.sym_float(), other.sym_float()) if name == "FloatTrueDiv" else (self, other)
        return self._node(call(name, a.expr, b.expr), float)

    def floordiv(self, other: SymNode) -> SymNode:
        """The quotient rounded down."""
        if float in (self.pytype, other.pytype):
            quotient = call("FloatTrueDiv", self.sym_float().expr, other.sym_float().expr)
            return self._node(call("ToFloat", call("FloorToInt", quotient)), float)
        return self._node(self.shape_env.simplify(self.expr // other.expr), int)

    def pow_by_natural(self, other: SymNode) -> SymNode:
        """The power with an exponent of zero or more."""
        return self._node(power(self.expr, other.expr), int)

    def float_pow(self, other: SymNode) -> SymNode:
        """The power of floats."""
        return self._node(call("FloatPow", self.sym_float().expr, other.sym_float().expr), float)

    def pow(self, other: SymNode) -> SymNode:
        """The power."""
        integral = self.pytype is int and other.pytype is int
        return self.pow_by_natural(other) if integral else self.float_pow(other)

    def sym_sum(self, args: Any) -> SymNode:
        """The sum of several numbers."""
        total: Expr = Integer(0)
        for a in args:
            total = total + sympify(a)
        return self._node(total, int)

    def is_contiguous(self, sizes: Any, strides: Any) -> SymNode:
        """Whether a geometry is contiguous, decided by the example."""
        step, good = 1, True
        for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
            good &= size.require_hint() == 1 or stride.require_hint() == step
            step *= size.require_hint()
        return self.wrap_bool(bool(good))


def _arithmetic(make: Callable[[Expr, Expr], Expr]) -> Callable[[SymNode, SymNode], SymNode]:
    def method(self: SymNode, other: SymNode) -> SymNode:
        kind = float if float in (self.pytype, other.pytype) else int
        a, b = (
            (self.sym_float(), other.sym_float()) if kind is float else (_as_number(self), _as_number(other))
        )
        return self._node(make(a.expr, b.expr), kind)

    return method


def _comparison(sign: str) -> Callable[[SymNode, SymNode], SymNode]:
    def method(self: SymNode, other: SymNode) -> SymNode:
        if sign in ("==", "!=") and self.pytype is bool and other.pytype is bool:
            same = logic(
                "or",
                logic("and", self.expr, other.expr),
                logic("and", negate(self.expr), negate(other.expr)),
            )
            return self._node(same if sign == "==" else negate(same), bool)
        if float in (self.pytype, other.pytype):
            self, other = self.sym_float(), other.sym_float()
        return self._node(relation(sign, self.expr, other.expr), bool)

    return method


def _define(name: str, method: Callable[..., SymNode]) -> None:
    method.__name__, method.__qualname__ = name, f"SymNode.{name}"
    method.__doc__ = f"The node of the operator `{name}` on the expressions of the nodes."
    setattr(SymNode, name, method)


def _as_number(self: SymNode) -> SymNode:
    return self.sym_int() if self.pytype is bool else self


_ARITHMETIC: dict[str, Callable[[Expr, Expr], Expr]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "mod": operator.mod,
    "sym_max": lambda a, b: call("Max", a, b),
    "sym_min": lambda a, b: call("Min", a, b),
    "lshift": lambda a, b: call("LShift", a, b),
    "rshift": lambda a, b: call("RShift", a, b),
}
for _name, _make in _ARITHMETIC.items():
    _define(_name, _arithmetic(_make))
for _name, _sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    _define(_name, _comparison(_sign))


def _bits(name: str) -> Callable[[SymNode, SymNode], SymNode]:
    def method(self: SymNode, other: SymNode) -> SymNode:
        if self.pytype is bool and other.pytype is bool and name != "xor":
            return self._node(logic(name, self.expr, other.expr), bool)
        return self._node(call(f"BitwiseFn_bitwise_{name}", self.expr, other.expr), int)

    return method


for _name in ("and", "or", "xor"):
    _define(f"bitwise_{_name}", _bits(_name))
for _name in ("and", "or"):
    _define(f"sym_{_name}", _bits(_name))
    _define(f"{_name}_", _bits(_name))


def _function(name: str) -> Callable[[SymNode], SymNode]:
    def method(self: SymNode) -> SymNode:
        return self._node(call(f"OpaqueUnaryFn_{name}", self.sym_float().expr), float)

    return method


for _name in FUNCTIONS_OF_ONE:
    _define(f"sym_{_name}", _function(_name))


def _tables() -> tuple[dict[str, Any], set[str]]:
    from tl_core.symbolic import arithmetic as symbolic

    named = {
        **ARITHMETIC,
        **{f"bitwise_{n}": getattr(operator, f"{n}_" if n != "xor" else n) for n in ("and", "or", "xor")},
        "and": operator.and_,
        "or": operator.or_,
        "pow": operator.pow,
        "pow_by_natural": operator.pow,
        "float_pow": operator.pow,
        "int_truediv": operator.truediv,
        "float_truediv": operator.truediv,
        "int_floordiv": operator.floordiv,
        **ROUNDING,
        **{
            n: getattr(symbolic, n)
            for n in ("sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not")
        },
    }
    return named, set(named)


METHOD_TO_OPERATOR, magic_methods = _tables()


def method_to_operator(method: str) -> Any:
    """The function of Python that a node's method stands for.

    Args:
        method: its name.

    Returns:
        The function.

    Example:
        >>> method_to_operator("add").__name__
        'add'
    """
    return METHOD_TO_OPERATOR[method]


def is_quotient(e: Expr) -> bool:
    """Whether an expression is a quotient rounded down."""
    return isinstance(e, Call) and e.name == "FloorDiv"
