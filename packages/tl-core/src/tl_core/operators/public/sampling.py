"""Reading at points."""

from __future__ import annotations

from typing import Any

from tl_core.operators.packets import aten

from .formula import Recording, formula, named


def _plain(order: Any) -> bool:
    return not any(order)


@formula("_grid_sample")
def _grid_sample(
    r: Recording, x: Any, grid: Any, interpolation: int, padding: int, align: bool, order: Any
) -> Any:
    if not _plain(order):
        return NotImplemented
    op = named(f"grid_sampler_{x.ndim - 2}d")
    return r(op, x, grid, interpolation, padding, align)


@formula("_grid_sample_adjoint")
def _grid_sample_adjoint(r: Recording, grad: Any, grid: Any, sizes: Any, *settings: Any) -> Any:
    *modes, order = settings
    if not _plain(order):
        return NotImplemented
    op = named(f"grid_sampler_{grad.ndim - 2}d_backward")
    return r(op, grad, r.unseen(aten.new_empty.default, grad, sizes), grid, *modes, [True, False])[0]


@formula("_grid_sample_derivative")
def _grid_sample_derivative(r: Recording, grad: Any, x: Any, grid: Any, *settings: Any) -> Any:
    *modes, order = settings
    if not _plain(order):
        return NotImplemented
    op = named(f"grid_sampler_{grad.ndim - 2}d_backward")
    return r(op, grad, x, grid, *modes, [False, True])[1]
