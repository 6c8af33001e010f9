"""Arithmetic of dynamic sizes."""

from __future__ import annotations

from typing import Any

from .registry import translates

__all__: list[str] = []  # the functions enter the table of translations by the names of operators


def _value(op: Any, number: Any) -> Any:
    return number if hasattr(number, "const_value") else op.constant(number)


def _alike(op: Any, a: Any, b: Any) -> tuple[Any, Any]:
    a, b = _value(op, a), _value(op, b)
    if a.dtype == b.dtype:
        return a, b
    return op.Cast(a, to=1), op.Cast(b, to=1)


def _binary(name: str, operator: str) -> None:
    @translates(f"_operator::{name}")
    def lower(op: Any, a: Any, b: Any) -> Any:
        return getattr(op, operator)(*_alike(op, a, b))


for _name, _operator in (
    *(("add", "Add"), ("sub", "Sub"), ("mul", "Mul"), ("pow", "Pow"), ("eq", "Equal")),
    *(("lt", "Less"), ("le", "LessOrEqual"), ("gt", "Greater"), ("ge", "GreaterOrEqual")),
    *(("and_", "And"), ("or_", "Or")),
):
    _binary(_name, _operator)


@translates("_operator::ne")
def not_equal(op: Any, a: Any, b: Any) -> Any:
    """Whether two numbers differ."""
    return op.Not(op.Equal(*_alike(op, a, b)))


@translates("_operator::neg")
def negative(op: Any, a: Any) -> Any:
    """The negative of a number."""
    return op.Neg(_value(op, a))


@translates("_operator::truediv")
def divide(op: Any, a: Any, b: Any) -> Any:
    """The quotient as a float."""
    return op.Div(op.Cast(_value(op, a), to=1), op.Cast(_value(op, b), to=1))


@translates("_operator::mod")
def modulo(op: Any, a: Any, b: Any) -> Any:
    """The remainder with the sign of the divisor."""
    a, b = _alike(op, a, b)
    if a.dtype == 1:
        return op.Sub(a, op.Mul(b, op.Floor(op.Div(a, b))))
    return op.Mod(a, b)


@translates("_operator::floordiv")
def floor_divide(op: Any, a: Any, b: Any) -> Any:
    """The quotient, rounded down."""
    a, b = _alike(op, a, b)
    if a.dtype == 1:
        return op.Floor(op.Div(a, b))
    return op.Div(op.Sub(a, op.Mod(a, b)), b)


@translates("sym::sym_max", "sym::max")
def greatest(op: Any, *numbers: Any) -> Any:
    """The greatest of numbers."""
    return _fold(op, "Max", numbers)


@translates("sym::sym_min", "sym::min")
def least(op: Any, *numbers: Any) -> Any:
    """The least of numbers."""
    return _fold(op, "Min", numbers)


def _fold(op: Any, name: str, numbers: Any) -> Any:
    result = numbers[0]
    for number in numbers[1:]:
        result = getattr(op, name)(*_alike(op, result, number))
    return result


@translates("sym::sym_float")
def to_float(op: Any, a: Any) -> Any:
    """The number as a float."""
    return op.Cast(_value(op, a), to=1)


@translates("sym::sym_int")
def to_int(op: Any, a: Any) -> Any:
    """The number as an integer."""
    return op.Cast(_value(op, a), to=7)


@translates("sym::sym_not")
def negation(op: Any, a: Any) -> Any:
    """The negation of a condition."""
    return op.Not(_value(op, a))


@translates("sym::sym_ite")
def choose(op: Any, condition: Any, a: Any, b: Any) -> Any:
    """One of two numbers."""
    return op.Where(_value(op, condition), *_alike(op, a, b))


@translates("sym::sym_sum")
def total(op: Any, numbers: Any) -> Any:
    """The sum of numbers."""
    return _fold(op, "Add", list(numbers))


@translates("sym::_sym_sqrt", "sym::sym_sqrt")
def square_root(op: Any, a: Any) -> Any:
    """The square root of a number."""
    return op.Sqrt(op.Cast(_value(op, a), to=1))


def _rounding(name: str, operator: str) -> None:
    @translates(f"math::{name}")
    def lower(op: Any, a: Any) -> Any:
        value = _value(op, a)
        return value if value.dtype == 7 else op.Cast(getattr(op, operator)(value), to=7)


_rounding("floor", "Floor")
_rounding("ceil", "Ceil")


@translates("math::trunc")
def truncate(op: Any, a: Any) -> Any:
    """The number without its fraction."""
    return op.Cast(_value(op, a), to=7)


@translates("_operator::abs")
def magnitude(op: Any, a: Any) -> Any:
    """The magnitude of a number."""
    return op.Abs(_value(op, a))
