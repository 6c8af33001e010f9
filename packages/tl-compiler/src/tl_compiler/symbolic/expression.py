"""Expressions of integers: sums, products, quotients, remainders, extremes, comparisons.

A sum holds its terms with their coefficients and one constant, so equal sums are equal objects by value. The functions
of `canonical_forms` build the expressions.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from tl_core.symbolic.numbers import FUNCTIONS_OF_ONE

__all__ = [
    "Boolean",
    "Call",
    "Expr",
    "Float",
    "Integer",
    "Logic",
    "Product",
    "Relation",
    "Sum",
    "Symbol",
    "false",
    "sympify",
    "true",
]

Number = int | float
# The canonical forms of results, by the name of the operation. `canonical_forms` adds them, because it builds the
# classes of this file.
FORMS: dict[str, Callable[..., Expr]] = {}


class Expr:
    """A value that isn't known yet, made of symbols and numbers."""

    __slots__ = ("_hash", "_key")
    _key: tuple[Any, ...]

    def __init__(self, *key: Any) -> None:
        self._key = key
        self._hash = hash((type(self).__name__, key))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, (bool, int, float)):
            return self.is_number and self.evaluate({}) == other
        return type(self) is type(other) and self._hash == other._hash and self._key == other._key

    # ---- what it is made of
    @property
    def args(self) -> tuple[Any, ...]:
        """The expressions that it is made of."""
        return ()

    @property
    def func(self) -> Any:
        """The kind of expression."""
        return type(self)

    @property
    def free_symbols(self) -> set[Symbol]:
        """The symbols in it."""
        symbols: set[Symbol] = set()
        stack: list[Expr] = [self]
        while stack:
            e = stack.pop()
            if isinstance(e, Symbol):
                symbols.add(e)
            stack.extend(e.args)
        return symbols

    @property
    def is_number(self) -> bool:
        """Whether it has no symbol."""
        return not self.free_symbols

    @property
    def is_integer(self) -> bool:
        """Whether its values are integers."""
        return all(a.is_integer for a in self.args)

    @property
    def is_symbol(self) -> bool:
        """Whether it is one symbol."""
        return isinstance(self, Symbol)

    def has(self, *kinds: Any) -> bool:
        """Whether a symbol, or an expression of a class, occurs in it."""
        return any(isinstance(self, k) if isinstance(k, type) else self == k for k in kinds) or any(
            a.has(*kinds) for a in self.args
        )

    def xreplace(self, rule: Mapping[Any, Any]) -> Expr:
        """The expression with others in place of some, put into canonical form again.

        Args:
            rule: from expressions to expressions or numbers.

        Returns:
            The expression.
        """
        if self in rule:
            return sympify(rule[self])
        args = self.args
        if not args:
            return self
        changed = [a.xreplace(rule) for a in args]
        return (
            self
            if all(a is b for a, b in zip(args, changed, strict=True))
            else FORMS["rebuild"](self, changed)
        )

    def subs(self, old: Any, new: Any = None) -> Expr:
        """The expression with others in place of some.

        Args:
            old: one expression, or a mapping of them.
            new: what stands in its place.

        Returns:
            The expression.
        """
        return self.xreplace(dict(old) if isinstance(old, (dict, list)) else {old: new})

    def evaluate(self, values: Mapping[Symbol, Number]) -> Any:
        """Its value where those of its symbols are given.

        Args:
            values: a number for each symbol.

        Returns:
            The number.

        Raises:
            KeyError: a symbol has no value.
        """
        raise NotImplementedError

    # ---- arithmetic
    def __add__(self, other: Any) -> Expr:
        return FORMS["add"](self, sympify(other))

    def __radd__(self, other: Any) -> Expr:
        return FORMS["add"](sympify(other), self)

    def __sub__(self, other: Any) -> Expr:
        return FORMS["add"](self, FORMS["scale"](sympify(other), -1))

    def __rsub__(self, other: Any) -> Expr:
        return FORMS["add"](sympify(other), FORMS["scale"](self, -1))

    def __mul__(self, other: Any) -> Expr:
        return FORMS["mul"](self, sympify(other))

    def __rmul__(self, other: Any) -> Expr:
        return FORMS["mul"](sympify(other), self)

    def __neg__(self) -> Expr:
        return FORMS["scale"](self, -1)

    def __pow__(self, other: Any) -> Expr:
        return FORMS["power"](self, sympify(other))

    def __floordiv__(self, other: Any) -> Expr:
        return FORMS["floor_div"](self, sympify(other))

    def __rfloordiv__(self, other: Any) -> Expr:
        return FORMS["floor_div"](sympify(other), self)

    def __mod__(self, other: Any) -> Expr:
        return FORMS["mod"](self, sympify(other))

    def __rmod__(self, other: Any) -> Expr:
        return FORMS["mod"](sympify(other), self)

    def __lt__(self, other: Any) -> Expr:
        return FORMS["relation"]("<", self, sympify(other))

    def __le__(self, other: Any) -> Expr:
        return FORMS["relation"]("<=", self, sympify(other))

    def __gt__(self, other: Any) -> Expr:
        return FORMS["relation"](">", self, sympify(other))

    def __ge__(self, other: Any) -> Expr:
        return FORMS["relation"](">=", self, sympify(other))

    def __int__(self) -> int:
        return int(self._constant())

    def __float__(self) -> float:
        return float(self._constant())

    def __bool__(self) -> bool:
        return bool(self._constant())

    def _constant(self) -> Any:
        if not self.is_number:
            raise TypeError(f"the value of {self} isn't known")
        return self.evaluate({})

    def __repr__(self) -> str:
        return self.shown()

    __str__ = __repr__

    def shown(self) -> str:
        """The text; `printing` writes it."""
        return f"{type(self).__name__}{self._key}"

    def __reduce__(self) -> Any:
        return type(self), self._key


class Integer(Expr):
    """An integer.

    Args:
        value: the number.
    """

    __slots__ = ()

    def __init__(self, value: int) -> None:
        super().__init__(int(value))

    @property
    def value(self) -> int:
        """The number."""
        return int(self._key[0])

    is_integer = True

    def evaluate(self, values: Mapping[Symbol, Number]) -> int:
        return self.value


class Float(Expr):
    """A floating-point number.

    Args:
        value: the number.
    """

    __slots__ = ()

    def __init__(self, value: float) -> None:
        super().__init__(float(value))

    @property
    def value(self) -> float:
        """The number."""
        return float(self._key[0])

    is_integer = False

    def evaluate(self, values: Mapping[Symbol, Number]) -> float:
        return self.value


class Boolean(Expr):
    """True or false.

    Args:
        value: which.
    """

    __slots__ = ()

    def __init__(self, value: bool) -> None:
        super().__init__(bool(value))

    is_integer = False

    def evaluate(self, values: Mapping[Symbol, Number]) -> bool:
        return bool(self._key[0])


true, false = Boolean(True), Boolean(False)


class Symbol(Expr):
    """A number that isn't known, by its name.

    Args:
        name: the name.
        positive: whether it is known to be above zero.
        integer: whether it is an integer.
    """

    __slots__ = ()

    def __init__(self, name: str, positive: bool = False, integer: bool = True) -> None:
        super().__init__(name, bool(positive), bool(integer))

    @property
    def name(self) -> str:
        """The name."""
        return str(self._key[0])

    @property
    def positive(self) -> bool:
        """Whether it is known to be above zero."""
        return bool(self._key[1])

    @property
    def is_integer(self) -> bool:
        return bool(self._key[2])

    def evaluate(self, values: Mapping[Symbol, Number]) -> Number:
        return values[self]


class Sum(Expr):
    """Terms with coefficients, and a constant. `add` and `scale` make them.

    Args:
        terms: pairs of a term and its coefficient, in the order of their keys.
        constant: the number that is added.
    """

    __slots__ = ()

    def __init__(self, terms: tuple[tuple[Expr, Number], ...], constant: Number) -> None:
        super().__init__(terms, constant)

    @property
    def terms(self) -> tuple[tuple[Expr, Number], ...]:
        """Pairs of a term and its coefficient."""
        return self._key[0]

    @property
    def constant(self) -> Number:
        """The number that is added."""
        return self._key[1]

    @property
    def args(self) -> tuple[Expr, ...]:
        return tuple(t for t, _ in self.terms)

    @property
    def is_integer(self) -> bool:
        integral = isinstance(self.constant, int)
        return integral and all(t.is_integer and isinstance(c, int) for t, c in self.terms)

    def evaluate(self, values: Mapping[Symbol, Number]) -> Number:
        return sum((c * t.evaluate(values) for t, c in self.terms), self.constant)


class Product(Expr):
    """A product of powers. `mul` makes them.

    Args:
        factors: pairs of a base and its exponent, in the order of their keys.
    """

    __slots__ = ()

    def __init__(self, factors: tuple[tuple[Expr, int], ...]) -> None:
        super().__init__(factors)

    @property
    def factors(self) -> tuple[tuple[Expr, int], ...]:
        """Pairs of a base and its exponent."""
        return self._key[0]

    @property
    def args(self) -> tuple[Expr, ...]:
        return tuple(b for b, _ in self.factors)

    def evaluate(self, values: Mapping[Symbol, Number]) -> Number:
        return math.prod(b.evaluate(values) ** n for b, n in self.factors)


def _round_half_even(x: float, digits: int | None = None) -> Any:
    return round(x) if digits is None else round(x, digits)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "Max": max,
    "Min": min,
    "Abs": abs,
    "PowByNatural": pow,
    "FloatPow": lambda a, b: float(a) ** float(b),
    "IntTrueDiv": operator.truediv,
    "FloatTrueDiv": operator.truediv,
    "ToFloat": float,
    "TruncToInt": math.trunc,
    "TruncToFloat": lambda x: float(math.trunc(x)),
    "FloorToInt": math.floor,
    "CeilToInt": math.ceil,
    "RoundToInt": round,
    "RoundDecimal": _round_half_even,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitwiseFn_bitwise_and": operator.and_,
    "BitwiseFn_bitwise_or": operator.or_,
    "BitwiseFn_bitwise_xor": operator.xor,
    "Piecewise": lambda a, c, b: a if c else b,
}
_FLOATS = frozenset({"FloatPow", "IntTrueDiv", "FloatTrueDiv", "ToFloat", "TruncToFloat", "RoundDecimal"})
# Files of other writers name the three inverse functions, for which there is no method.
for _name in (*FUNCTIONS_OF_ONE, "asinh", "acosh", "atanh"):
    FUNCTIONS[f"OpaqueUnaryFn_{_name}"] = getattr(math, _name)


class Call(Expr):
    """A function of expressions, such as a quotient rounded down. `call` makes them.

    Args:
        name: a name of `FUNCTIONS`.
        operands: its arguments.
    """

    __slots__ = ()

    def __init__(self, name: str, operands: tuple[Expr, ...]) -> None:
        super().__init__(name, operands)

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self._key[0])

    @property
    def args(self) -> tuple[Expr, ...]:
        return self._key[1]

    @property
    def is_integer(self) -> bool:
        if self.name in _FLOATS or self.name.startswith("OpaqueUnaryFn_"):
            return False
        return self.name.endswith("ToInt") or all(
            a.is_integer for a in self.args if not isinstance(a, (Relation, Logic, Boolean))
        )

    def evaluate(self, values: Mapping[Symbol, Number]) -> Any:
        return FUNCTIONS[self.name](*(a.evaluate(values) for a in self.args))


RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
SWAPPED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Relation(Expr):
    """A comparison of two expressions. `relation` makes them.

    Args:
        op: one of `==`, `!=`, `<`, `<=`, `>`, `>=`.
        lhs, rhs: what is compared.
    """

    __slots__ = ()

    def __init__(self, op: str, lhs: Expr, rhs: Expr) -> None:
        super().__init__(op, lhs, rhs)

    @property
    def rel_op(self) -> str:
        """The comparison."""
        return str(self._key[0])

    @property
    def lhs(self) -> Expr:
        """The left side."""
        return self._key[1]

    @property
    def rhs(self) -> Expr:
        """The right side."""
        return self._key[2]

    @property
    def args(self) -> tuple[Expr, ...]:
        return self._key[1:]

    def evaluate(self, values: Mapping[Symbol, Number]) -> bool:
        return RELATIONS[self.rel_op](self.lhs.evaluate(values), self.rhs.evaluate(values))


class Logic(Expr):
    """Conditions joined by and, or; or one negated. `logic` and `negate` make them.

    Args:
        op: `and`, `or`, `not`.
        operands: the conditions.
    """

    __slots__ = ()

    def __init__(self, op: str, operands: tuple[Expr, ...]) -> None:
        super().__init__(op, operands)

    @property
    def op(self) -> str:
        """How they are joined."""
        return str(self._key[0])

    @property
    def args(self) -> tuple[Expr, ...]:
        return self._key[1]

    def evaluate(self, values: Mapping[Symbol, Number]) -> bool:
        operands = (bool(a.evaluate(values)) for a in self.args)
        if self.op == "not":
            return not next(operands)
        return all(operands) if self.op == "and" else any(operands)


def sympify(value: Any) -> Expr:
    """The expression that a number is; an expression is itself.

    Args:
        value: an expression or a number.

    Returns:
        The expression.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return true if value else false
    if isinstance(value, int):
        return Integer(value)
    if isinstance(value, float):
        return Float(value)
    if hasattr(value, "node") and hasattr(value.node, "expr"):
        return value.node.expr
    raise TypeError(f"an expression is made of numbers and symbols, got {type(value).__name__}")


def order_key(e: Expr) -> tuple[Any, ...]:
    """What terms are ordered by: their text, numbers in names by value."""
    return (type(e).__name__, str(e))
