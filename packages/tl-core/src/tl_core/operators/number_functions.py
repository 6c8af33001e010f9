"""Overloads of the namespace aten that compute with numbers, texts and lists of Python, as in `aten.add.int(1, 2)`.

Programs of TorchScript are made of them. Real functions follow IEEE 754 where those of `math` raise.
"""

from __future__ import annotations

import cmath
import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from tl_core.operators.composites import CompositeOperator

__all__ = ["TEXT_SEARCHES", "NumberOperator", "rows"]

_CONVERSIONS: dict[str, tuple[tuple[type, ...], Callable[[Any], Any]]] = {
    "int": ((int,), int),
    "float": ((int, float), float),
    "complex": ((int, float, complex), complex),
    "bool": ((bool,), bool),
    "str": ((str,), str),
    "Scalar": ((int, float, complex), lambda a: a),
}


class NumberOperator(CompositeOperator):
    """An operator whose arguments are converted to the types of its schema.

    Example:
        >>> from tl_core.operators.packets import aten
        >>> aten.add.float(1, 2), aten.sqrt.int(-1)
        (3.0, nan)
    """

    @functools.cached_property
    def _types(self) -> dict[str, str]:
        """The types of the arguments, as schemas write them."""
        return {a.name: a.real_type.schema_text() for a in self._schema.arguments}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            bound.arguments[name] = self._convert(name, self._types[name], value)
        return self._function(*bound.args, **bound.kwargs)

    def _convert(self, name: str, kind: str, value: Any) -> Any:
        if kind.endswith("[]"):
            return [self._convert(name, kind[:-2], v) for v in value]
        if kind not in _CONVERSIONS:
            return value
        accepted, convert = _CONVERSIONS[kind]
        if not isinstance(value, accepted):
            raise RuntimeError(
                f"{self._name}() Expected a value of type '{kind}' for argument '{name}' but instead found type "
                f"'{type(value).__name__}'."
            )
        return convert(value)


# ---- functions of one number
def _at_pole(name: str, a: float) -> float:
    """The value of a real function where that of `math` has a domain error."""
    if (name in ("log", "log10") and a == 0) or (name == "log1p" and a == -1):
        return -math.inf
    if name == "atanh" and abs(a) == 1:
        return math.copysign(math.inf, a)
    return math.inf if name == "lgamma" and not math.isinf(a) else math.nan


def _elementary(name: str) -> Callable[[Any], Any]:
    """A function of real and complex numbers."""

    def call(a: Any) -> Any:
        if isinstance(a, complex):
            return getattr(cmath, name)(a)
        try:
            return getattr(math, name)(a)
        except ValueError:
            return _at_pole(name, a)
        except OverflowError:
            return math.copysign(math.inf, a) if name == "sinh" else math.inf

    return call


def _angle(a: Any) -> float:
    return cmath.phase(a) if isinstance(a, complex) else math.pi if a < 0 else 0.0


# The functions of real numbers that have a complex one: roots, exponentials, logarithms, circular and hyperbolic ones.
_ELEMENTARY = sorted(
    name
    for name in vars(math).keys() & vars(cmath).keys()
    if callable(getattr(cmath, name)) and not name.startswith(("_", "is"))
)


def _of_one() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in _ELEMENTARY:
        for kind, result in {
            "int": "float",
            "float": "float",
            "complex": "complex",
            "Scalar": "Scalar",
        }.items():
            yield f"{name}.{kind}({kind} a) -> {result}", _elementary(name)
    for name in ("erf", "erfc", "expm1", "lgamma", "log1p"):
        for kind, result in {"int": "float", "float": "float", "Scalar": "Scalar"}.items():
            yield f"{name}.{kind}({kind} a) -> {result}", _elementary(name)
    for name in ("ceil", "floor"):
        for kind, result in {"int": "int", "float": "int", "Scalar": "Scalar"}.items():
            yield f"{name}.{kind}({kind} a) -> {result}", getattr(math, name)
    for kind, result in {"int": "float", "float": "float", "Scalar": "Scalar"}.items():
        yield f"round.{kind}({kind} a) -> {result}", lambda a: float(round(a))
    for kind in ("int", "float", "complex", "Scalar"):
        yield f"neg.{kind}({kind} a) -> {kind}", operator.neg
        yield f"angle.{kind}({kind} a) -> {'Scalar' if kind == 'Scalar' else 'float'}", _angle
    for name in ("isfinite", "isinf", "isnan"):
        for kind in ("float", "complex"):
            yield f"{name}.{kind}({kind} a) -> bool", getattr(cmath, name)
    yield "frexp(float a) -> (float, int)", math.frexp


# ---- functions of two numbers
_SAME = ("int", "float", "complex")
_MIXED = ("int_complex", "complex_int", "float_complex", "complex_float", "int_float", "float_int")
_REAL = ("int", "float", "int_float", "float_int")


def _div(a: Any, b: Any) -> Any:
    try:
        return a / b
    except ZeroDivisionError:
        return (
            cmath.nan
            if isinstance(a, complex) or a == 0 or a != a
            else math.copysign(math.inf, a * math.copysign(1, b))
        )


def _pow(a: Any, b: Any) -> Any:
    if isinstance(a, complex) or isinstance(b, complex):
        return a**b
    if a == 0 and b < 0:
        raise RuntimeError(f"{float(a)} cannot be raised to a negative power")
    try:
        return math.pow(a, b)
    except ValueError:
        return math.nan
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf


def _remainder(a: Any, b: Any) -> Any:
    return math.nan if b == 0 and isinstance(a % 1 + b, float) else a % b


def _fmod(a: Any, b: Any) -> float:
    return math.nan if b == 0 or math.isinf(a) else math.fmod(a, b)


def _log_to_base(a: Any, b: Any) -> Any:
    return _div(_elementary("log")(a), _elementary("log")(b))


def _ldexp(x: float, i: int) -> float:
    try:
        return math.ldexp(x, i)
    except OverflowError:
        return math.copysign(math.inf, x)


def _wider(kinds: str) -> str:
    return max(kinds.split("_"), key=_SAME.index)


def _pairs(name: str, kinds: tuple[str, ...], result: str = "") -> Iterator[str]:
    """The schemas of a function of two numbers; without a result, it has the wider type."""
    for kind in kinds:
        first, _, second = kind.partition("_")
        yield f"{name}.{kind}({first} a, {second or first} b) -> {result or _wider(kind)}"


def _of_two() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in ("add", "sub", "mul"):
        function = getattr(operator, name)
        yield from ((schema, function) for schema in _pairs(name, _SAME + _MIXED))
        yield f"{name}(Scalar a, Scalar b) -> Scalar", function
    yield from ((schema, _div) for schema in _pairs("div", ("int", "float"), "float"))
    yield "div.complex(complex a, complex b) -> complex", _div
    yield "div(Scalar a, Scalar b) -> float", _div
    yield from ((schema, _pow) for schema in _pairs("pow", _REAL, "float"))
    yield from ((schema, _pow) for schema in _pairs("pow", ("complex", "float_complex", "complex_float")))
    yield "pow.Scalar_Scalar(Scalar a, Scalar b) -> float", _pow
    yield "pow.int_to_int(int a, int b) -> int", operator.pow
    yield from ((schema, _remainder) for schema in _pairs("remainder", _REAL))
    yield "remainder(Scalar a, Scalar b) -> Scalar", _remainder
    for name, function, scalars in (
        ("fmod", _fmod, "fmod(Scalar a, Scalar b) -> float"),
        ("copysign", math.copysign, "copysign(Scalar a, Scalar b) -> float"),
        ("atan2", math.atan2, "atan2.Scalar_Scalar(Scalar a, Scalar b) -> float"),
    ):
        yield from ((schema, function) for schema in _pairs(name, _REAL, "float"))
        yield scalars, function
    yield from ((schema, cmath.rect) for schema in _pairs("polar", _REAL, "complex"))
    yield "polar.Scalar_Scalar(Scalar a, Scalar b) -> Scalar", cmath.rect
    yield "gcd.int(int a, int b) -> int", math.gcd
    for kind in ("int_int", "float_float", "complex_complex", *_MIXED):
        result = "complex" if "complex" in kind else "float"
        yield next(_pairs("log", (kind,), result)), _log_to_base
    yield "log.Scalar_Scalar(Scalar a, Scalar b) -> float", _log_to_base
    yield "ldexp(float x, int i) -> float", _ldexp


# ---- comparisons, bits
def _equal_lists(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(bool(x == y) for x, y in zip(a, b, strict=True))


def _unequal_lists(a: list[Any], b: list[Any]) -> bool:
    return not _equal_lists(a, b)


def _comparisons() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        function = getattr(operator, name)
        yield from ((schema, function) for schema in _pairs(name, _REAL, "bool"))
        yield f"{name}(Scalar a, Scalar b) -> bool", function
        yield f"{name}.str(str a, str b) -> bool", function
    for name, of_lists in (("eq", _equal_lists), ("ne", _unequal_lists)):
        function = getattr(operator, name)
        for kind in ("complex", "float_complex", "complex_float", "bool"):
            yield next(_pairs(name, (kind,), "bool")), function
        yield f"{name}.device(Device a, Device b) -> bool", function
        for kind in ("int", "float", "bool", "str", "Tensor"):
            yield f"{name}.{kind}_list({kind}[] a, {kind}[] b) -> bool", of_lists


def _bits() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in ("and", "or", "xor", "lshift", "rshift"):
        for kind in ("int",) if name.endswith("shift") else ("bool", "int"):
            yield f"__{name}__.{kind}({kind} a, {kind} b) -> {kind}", getattr(operator, f"__{name}__")


# ---- lists, texts
def _index_in_list(self: list[Any], el: Any) -> int:
    for i, value in enumerate(self):
        if bool(value == el):
            return i
    raise RuntimeError(f"'{el}' is not in list")


def _bounds(text: str, start: int, end: int) -> tuple[int, int]:
    """The bounds of a search in a text. A negative end counts the place after the last character: -1 is the end."""
    if start < 0:
        start = max(len(text) + start, 0)
    return start, max(len(text) + end + 1, 0) if end < 0 else min(end, len(text))


def _find(self: str, substr: str, start: int = 0, end: int = -1) -> int:
    first, last = _bounds(self, start, end)
    return self.find(substr, first, last) if substr else first


def _find_last(self: str, substr: str, start: int = 0, end: int = -1) -> int:
    first, last = _bounds(self, start, end)
    return self.rfind(substr, first, last) if substr else max(first, last)


def _index_in_text(self: str, substr: str, start: int = 0, end: int = -1) -> int:
    return _require_index(_find(self, substr, start, end))


def _last_index_in_text(self: str, substr: str, start: int = 0, end: int = -1) -> int:
    return _require_index(_find_last(self, substr, start, end))


def _count(self: str, substr: str, start: int = 0, end: int = -1) -> int:
    """The occurrences that begin between the bounds; one may end after the last bound, as in PyTorch."""
    first, last = _bounds(self, start, end)
    return self.count(substr, first, last + max(len(substr) - 1, 0)) if first < last else 0


def _part(text: str, start: int, end: int) -> str:
    """The part of a text that is compared with a prefix. An end before the start stands for the end of the text."""
    first, last = _bounds(text, start, end)
    if first > len(text):
        raise RuntimeError(f"start is {start}, beyond the end of a text of {len(text)} characters")
    return text[first:] if last < first else text[first:last]


def _starts_with(self: str, substr: str, start: int = 0, end: int = -1) -> bool:
    return _part(self, start, end).startswith(substr)


def _ends_with(self: str, substr: str, start: int = 0, end: int = -1) -> bool:
    return _part(self, start, end).endswith(substr)


def _require_index(index: int) -> int:
    if index < 0:
        raise RuntimeError("ValueError: substring not found")
    return index


# Searches in texts, whose bounds are optional. Of their names, only `index` is an operator of tensors too.
TEXT_SEARCHES: dict[str, Callable[..., Any]] = {
    "index": _index_in_text, "rindex": _last_index_in_text, "find": _find, "rfind": _find_last, "count": _count,
    "startswith": _starts_with, "endswith": _ends_with,
}  # fmt: skip


def _lists() -> Iterator[tuple[str, Callable[..., Any]]]:
    for kind in ("int", "float", "bool"):
        yield f"all.{kind}({kind}[] self) -> bool", all
    for kind in ("str", "int", "float", "bool"):
        yield f"any.{kind}({kind}[] self) -> bool", any
    for kind, result in {"int": "int", "float": "float", "complex": "complex", "bool": "int"}.items():
        yield f"sum.{kind}({kind}[] self) -> {result}", sum
    for kind in ("int", "float", "bool", "Tensor", "str"):
        yield f"index.list_{kind}({kind}[] self, {kind} el) -> int", _index_in_list
    yield "add.str(str a, str b) -> str", operator.add
    yield "index.str(str self, str substr, int start=0, int end=-1) -> int", _index_in_text
    yield (
        "slice.str(str string, int? start=None, int? end=None, int step=1) -> str",
        lambda string, start, end, step: string[start:end:step],
    )
    yield (
        "split.str(str self, str? separator=None, int max=-1) -> str[]",
        lambda self, separator, max: self.split(separator, max),
    )


@functools.cache
def rows() -> dict[str, tuple[str, Callable[..., Any]]]:
    """The schemas and functions by name and overload: `add.int`."""
    every = (*_of_one(), *_of_two(), *_comparisons(), *_bits(), *_lists())
    return {schema.partition("(")[0]: (schema, function) for schema, function in every}
