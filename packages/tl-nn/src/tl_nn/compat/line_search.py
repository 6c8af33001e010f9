"""The line search of LBFGS under the names by which other optimizers import it from `torch.optim.lbfgs`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import Tensor

from ..optim.line_search import _cubic_minimum, _Point, _Search

__all__: list[str] = []


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None
) -> Any:
    """The minimum of the cubic with values f and derivatives g at two points, within the bounds."""
    first, second = _Point(x1, float(f1), g1, g1), _Point(x2, float(f2), g2, g2)
    return _cubic_minimum(first, second, bounds)


def _strong_wolfe(
    obj_func: Callable[[Any, Any, Tensor], tuple[float, Tensor]],
    x: Any,
    t: Any,
    d: Tensor,
    f: float,
    g: Tensor,
    gtd: Tensor,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, Tensor, Any, int]:
    """A step size with the strong Wolfe conditions.

    Args:
        obj_func: loss and gradient after a step: called with x, a size and the direction.
        x: the start.
        t: the first size.
        d: the direction.
        f, g, gtd: loss, gradient and derivative along the direction at the start.
        c1, c2: the share of the derivative that the decrease of the loss keeps, and that may be left at the end.
        tolerance_change: the bracket at which the search ends.
        max_ls: the largest number of steps.

    Returns:
        loss, gradient, size, and the number of calls of `obj_func`.
    """
    start = _Point(0, f, g.clone(), gtd)
    search = _Search(lambda size, direction: obj_func(x, size, direction), d, start, max_ls)
    search.decrease, search.curvature, search.tolerance = c1, c2, tolerance_change
    best = search.zoom(*search.bracket(t))
    return best.loss, best.grad, best.size, search.evaluations
