"""A search along a direction for a point that fulfils the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, sqrt
from typing import Any, NamedTuple

from tl_core import Tensor

__all__ = ["strong_wolfe"]

_DECREASE = 1e-4  # how much of the slope's promise the loss must keep
_CURVATURE = 0.9  # how much of the slope may be left
_TOLERANCE = 1e-9


class _Point(NamedTuple):
    """A step size, with loss, gradient and slope there."""

    size: Any
    loss: float
    grad: Tensor
    derivative: Any


def strong_wolfe(
    at: Callable[[Any, Tensor], tuple[float, Tensor]],
    size: Any,
    direction: Tensor,
    loss: float,
    grad: Tensor,
    derivative: Tensor,
    limit: int,
) -> tuple[float, Tensor, Any, int]:
    """A step size that fulfils the strong Wolfe conditions, or the best size of the search.

    Args:
        at (callable): Gives loss and gradient after a step of a size along the direction.
        size (float): The step size to try first.
        direction (Tensor, shape (n,)): The direction.
        loss (float): The loss at the start.
        grad (Tensor, shape (n,)): The gradient at the start.
        derivative (Tensor, shape ()): The derivative of the loss along the direction at the start.
        limit (int): How many more sizes are tried after the first one, at most.

    Returns:
        loss, gradient, size, and how often `at` was called.
    """
    search = _Search(at, direction, _Point(0, loss, grad.clone(), derivative), limit)
    best = search.zoom(*search.bracket(size))
    return best.loss, best.grad, best.size, search.evaluations


class _Search:
    """Algorithms 3.5 and 3.6 of Nocedal and Wright, with the safeguards of Schmidt's minFunc."""

    decrease, curvature, tolerance = _DECREASE, _CURVATURE, _TOLERANCE

    def __init__(self, at: Any, direction: Tensor, start: _Point, limit: int) -> None:
        self.at, self.direction, self.start, self.limit = at, direction, start, limit
        self.evaluations = self.iterations = 0
        self.length = direction.abs().max()

    def point(self, size: Any) -> _Point:
        """The point after a step of this size. Outside the domain of the loss, the loss is infinite.

        A step to a point outside the domain is too long, as in minFunc.
        """
        loss, grad = self.at(size, self.direction)
        self.evaluations += 1
        derivative = grad.dot(self.direction)
        inside = isfinite(loss) and isfinite(float(derivative))
        return _Point(size, loss if inside else inf, grad.clone(), derivative)

    def loss_bound(self, size: Any) -> Any:
        """The largest loss that is a sufficient decrease after a step of this size."""
        return self.start.loss + self.decrease * size * self.start.derivative

    def is_flat(self, point: _Point) -> bool:
        """Whether the slope is small enough."""
        return bool(abs(point.derivative) <= -self.curvature * self.start.derivative)

    def bracket(self, size: Any) -> tuple[list[_Point], bool]:
        """A bracket of a good point, and whether one of its ends is good."""
        previous, new = self.start, self.point(size)
        while self.iterations < self.limit:
            rising = self.iterations > 1 and new.loss >= previous.loss
            if new.loss > self.loss_bound(new.size) or rising:
                return [previous, new], False
            if self.is_flat(new):
                return [new], True
            if new.derivative >= 0:
                return [previous, new], False
            low = new.size + 0.01 * (new.size - previous.size)
            previous, new = new, self.point(_cubic_minimum(previous, new, (low, new.size * 10)))
            self.iterations += 1
        return [self.start, new], False

    def zoom(self, ends: list[_Point], is_final: bool) -> _Point:
        """The best point after shrinking the bracket."""
        if is_final:
            return ends[0]
        slow = False
        low, high = sorted(ends, key=lambda end: end.loss)
        while self.iterations < self.limit:
            if abs(high.size - low.size) * self.length < self.tolerance:
                break
            size, slow = _inside(low, high, slow)
            new = self.point(size)
            self.iterations += 1
            if new.loss > self.loss_bound(size) or new.loss >= low.loss:
                high = new
                low, high = (low, high) if low.loss <= high.loss else (high, low)
                continue
            if self.is_flat(new):
                return new
            if new.derivative * (high.size - low.size) >= 0:
                high = low
            low = new
        return low


def _inside(low: _Point, high: _Point, slow: bool) -> tuple[Any, bool]:
    """A size within the bracket, and whether the next one must be kept away from its ends."""
    least, most = sorted((low.size, high.size))
    size = _cubic_minimum(low, high)
    margin = 0.1 * (most - least)
    if min(most - size, size - least) >= margin:
        return size, False
    if not (slow or size >= most or size <= least):
        return size, True
    return (most - margin if abs(size - most) < abs(size - least) else least + margin), False


def _cubic_minimum(a: _Point, b: _Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """The minimum of the cubic with these values and derivatives, or the middle of the bounds."""
    low, high = bounds or sorted((a.size, b.size))
    first = a.derivative + b.derivative - 3 * (a.loss - b.loss) / (a.size - b.size)
    square = float(first * first - a.derivative * b.derivative)
    if not (isfinite(square) and square >= 0):
        return (low + high) / 2.0
    root = sqrt(square)
    left, right = (a, b) if a.size <= b.size else (b, a)
    size = right.size - (right.size - left.size) * (
        (right.derivative + root - first) / (right.derivative - left.derivative + 2 * root)
    )
    return min(max(size, low), high)
