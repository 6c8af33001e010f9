"""Distances of vectors."""

from __future__ import annotations

from typing import Any

from .formula import Recording, formula, named


@formula("_distances")
def _distances(r: Recording, x1: Any, x2: Any, p: float, product: bool, later: bool) -> Any:
    if later:
        return r(named("_pdist_forward"), x1, p)
    return r(named("_cdist_forward"), x1, x2, p, 1 if product else 2)


@formula("_distances_backward")
def _distances_backward(r: Recording, grad: Any, x1: Any, x2: Any, distances: Any, p: float) -> Any:
    return r(named("_cdist_backward"), grad, x1, x2, p, distances)
