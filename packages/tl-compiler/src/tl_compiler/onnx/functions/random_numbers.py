"""Random numbers. The nodes are those that no optimizer of ONNX takes for constants."""

from __future__ import annotations

from typing import Any

from .registry import translates

__all__: list[str] = []  # the functions enter the table of translations by the names of operators


def _uniform(op: Any, like: Any, low: float = 0.0, high: float = 1.0) -> Any:
    return op.RandomUniformLike(like, low=float(low), high=float(high))


@translates("aten::uniform_", "aten::uniform")
def uniform(op: Any, self: Any, low: float = 0.0, high: float = 1.0, generator: Any = None) -> Any:
    """Uniform numbers."""
    return _uniform(op, self, low, high)


@translates("aten::exponential_", "aten::exponential")
def exponential(op: Any, self: Any, lambd: float = 1.0, generator: Any = None) -> Any:
    """Exponential numbers, by the inverse of their distribution."""
    rest = op.Sub(op.constant(1.0, self), _uniform(op, self))
    return op.Neg(op.Mul(op.Log(rest), op.constant(1.0 / lambd, self)))


@translates("aten::bernoulli")
def bernoulli(op: Any, self: Any, generator: Any = None) -> Any:
    """1 with the probability of each element. onnxruntime's operator of that name returns 1 with the rest of it."""
    return op.Cast(op.Less(_uniform(op, self), self), to=int(self.dtype))


@translates("aten::bernoulli.p", "aten::bernoulli_.float")
def bernoulli_of_number(op: Any, self: Any, p: float = 0.5, generator: Any = None) -> Any:
    """1 with one probability."""
    return op.Cast(op.Less(_uniform(op, self), op.constant(float(p), self)), to=int(self.dtype))


@translates("aten::normal_")
def normal(op: Any, self: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Normal numbers."""
    return op.RandomNormalLike(self, mean=float(mean), scale=float(std))


@translates("aten::random_.from", "aten::random.from")
def integers(op: Any, self: Any, first: int, to: int, generator: Any = None) -> Any:
    """Whole numbers from a first one to that before `to`."""
    return op.Floor(_uniform(op, self, first, to))


@translates("aten::random_.to", "aten::random.to")
def integers_below(op: Any, self: Any, to: int, generator: Any = None) -> Any:
    """Whole numbers from 0 to that before `to`."""
    return op.Floor(_uniform(op, self, 0, to))
