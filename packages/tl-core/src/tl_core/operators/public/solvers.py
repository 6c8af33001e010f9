"""Systems of equations, and norms by singular values."""

from __future__ import annotations

from typing import Any

from tl_core.operators.packets import aten

from .formula import Recording, formula


@formula("_linalg_solve")
def _solve(r: Recording, a: Any, b: Any) -> Any:
    if b.ndim < a.ndim:  # else it would be taken for vectors
        b = r(aten.expand.default, b, [1] * (a.ndim - b.ndim) + list(b.shape))
    return r(aten.linalg_solve.default, a, b)


@formula("_linalg_pinv")
def _pinv(r: Recording, a: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    named = {"atol": atol, "rtol": rtol, "hermitian": hermitian or None}
    return r(aten.linalg_pinv.default, a, **{k: v for k, v in named.items() if v is not None})


@formula("_linalg_lstsq")
def _lstsq(r: Recording, a: Any, b: Any, rcond: float, driver: str) -> Any:
    return r(aten.linalg_lstsq.default, a, b, rcond, driver=driver)


@formula("_singular_norm")
def _singular_norm(r: Recording, a: Any, value: Any, *factors: Any) -> Any:
    return r(aten.clone.default, value)


@formula("_singular_norm_backward")
def _singular_norm_backward(
    r: Recording, grad: Any, a: Any, weights: Any, u: Any, values: Any, vh: Any
) -> Any:
    scales = r(aten.mul.Tensor, weights, r(aten.unsqueeze.default, grad, -1))
    return r.parts(aten.matmul.default, r(aten.mul.Tensor, u, r(aten.unsqueeze.default, scales, -2)), vh)
