"""Arguments of an operator's schema, drawn from a seed: numbers and sizes small enough that many of them fit."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Argument", "Call", "DrawnTensor", "draw_call", "tensors_of"]

FLOATS = ("float32", "float64", "bfloat16", "float16")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
DTYPES = (*["float32"] * 8, *["float64"] * 4, *["int64"] * 3, "bool", "bool", *INTEGERS, *COMPLEX, *FLOATS)
SHAPES = (
    *((), (1,), (0,), (3,), (5,), (2, 3), (3, 3), (2, 0), (1, 1), (3, 1), (4, 4)),
    *((2, 3, 4), (2, 3, 3), (2, 4, 5), (1, 2, 4, 4), (1, 4, 4, 4, 4)),
)
LAYOUTS = ("contiguous", "contiguous", "contiguous", "transposed", "strided", "expanded", "channels_last")
NUMBERS = (0, 1, 2, -1, 3, 0.5, -1.5, 2.0, True, 1e-3, 0.0)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, float("nan"), float("inf"), float("-inf"))
# The texts that operators know; any other operator gets "none".
TEXTS = {
    "gelu": ("none", "tanh"),
    "scatter_reduce": ("sum", "prod", "mean", "amax", "amin"),
    "index_reduce": ("prod", "mean", "amax", "amin"),
    "div": ("floor", "trunc"),
    "linalg_norm": ("fro", "nuc"),
    "linalg_matrix_norm": ("fro", "nuc"),
    "linalg_qr": ("reduced", "complete", "r"),
    "linalg_eigh": ("L", "U"),
    "linalg_eigvalsh": ("L", "U"),
    "meshgrid": ("ij", "xy"),
    "pad": ("constant", "reflect", "replicate", "circular"),
    "searchsorted": ("left", "right"),
    "einsum": ("ij,jk->ik", "ij->ji", "i,i->i"),
}


@dataclass(frozen=True)
class Argument:
    """An argument of a schema: its name, the text of its type, and how it is passed."""

    name: str
    type: str
    by_keyword: bool
    has_default: bool


@dataclass(frozen=True)
class DrawnTensor:
    """A tensor before either library makes it."""

    shape: tuple[int, ...]
    dtype: str
    elements: list[Any]
    layout: str


@dataclass(frozen=True)
class Call:
    """The arguments of one call."""

    args: list[Any]
    kwargs: dict[str, Any]


class _Draw:
    """Draws the arguments of one call, most of whose tensors have one shape and type."""

    def __init__(self, operator: str, seed: str, special: bool) -> None:
        self.special = special
        self.random = random.Random(seed)
        self.operator = operator
        self.shape = self.random.choice(SHAPES)
        self.dtype = self.random.choice(DTYPES)

    def value(self, type: str) -> Any:
        """A value of a type, as the schema writes it."""
        if match := re.fullmatch(r"Optional\[(.*)\]", type):
            return None if self.random.random() < 0.5 else self.value(match[1])
        if match := re.fullmatch(r"List\[(.*)\]", type):
            count = self.random.choice((1, 2, 1, 2, 0, 3, len(self.shape)))
            return [self.value(match[1]) for _ in range(count)]
        functions = {"Tensor": self.tensor, "int": self.index, "SymInt": self.index, "float": self.real}
        functions |= {"bool": self.truth, "number": self.number, "Scalar": self.number, "str": self.text}
        return functions[type]()

    def tensor(self) -> DrawnTensor:
        shape: tuple[int, ...] = self.shape
        roll = self.random.random()
        if roll >= 0.85:
            shape = tuple(1 if self.random.random() < 0.3 else size for size in shape)
            shape = shape[self.random.randrange(len(shape) + 1) :]
        elif roll >= 0.6:
            shape = self.random.choice(SHAPES)
        dtype = self.dtype if self.random.random() < 0.8 else self.random.choice(DTYPES)
        count = 1
        for size in shape:
            count *= size
        return DrawnTensor(shape, dtype, self.elements(dtype, count), self.random.choice(LAYOUTS))

    def elements(self, dtype: str, count: int) -> list[Any]:
        if dtype == "bool":
            return [self.truth() for _ in range(count)]
        if dtype in INTEGERS:
            low, high = self.random.choice(((-3, 4), (0, 3), (-128, 128)))
            low = max(low, 0) if dtype == "uint8" else low
            return [self.random.randrange(low, high) for _ in range(count)]
        kind = self.random.choice(("normal", "normal", "positive", "unit", "special", "whole", "large"))
        kind = kind if self.special or kind != "special" else "normal"
        numbers = [self.element(kind) for _ in range(count)]
        return [complex(x, self.element(kind)) for x in numbers] if dtype in COMPLEX else numbers

    def element(self, kind: str) -> float:
        if kind == "special":
            return self.random.choice(SPECIAL)
        if kind == "whole":
            return float(self.random.randrange(-3, 4))
        if kind == "unit":
            return self.random.random()
        x = self.random.gauss(0, 1)
        return abs(x) + 0.1 if kind == "positive" else x * 100 if kind == "large" else x

    def index(self) -> int:
        return self.random.choice((0, 1, -1, 2, 3, -2, 1, 0, 5, 4))

    def real(self) -> float:
        return self.random.choice((0.0, 1.0, 0.5, -1.0, 2.0, 1e-5, 0.1, 3.0))

    def truth(self) -> bool:
        return self.random.random() < 0.5

    def number(self) -> Any:
        return self.random.choice(NUMBERS)

    def text(self) -> str:
        names = [name for name in TEXTS if self.operator.startswith(name)]
        return self.random.choice(TEXTS[names[-1]]) if names else "none"


def draw_call(operator: str, arguments: list[Argument], seed: str, special: bool = True) -> Call:
    """The arguments of one call.

    Args:
        operator: the operator's name without namespace and overload.
        arguments: the schema's.
        seed: decides the draw.
        special: whether NaN and infinities are among the numbers.
    """
    draw = _Draw(operator, seed, special)
    call = Call([], {})
    for argument in arguments:
        if argument.has_default and draw.truth():
            continue
        value = draw.value(argument.type)
        if argument.by_keyword or argument.has_default:
            call.kwargs[argument.name] = value
        else:
            call.args.append(value)
    return call


def tensors_of(value: Any) -> Iterator[DrawnTensor]:
    """The tensors among the arguments.

    Args:
        value: an argument, or several.
    """
    if isinstance(value, DrawnTensor):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from tensors_of(item)
