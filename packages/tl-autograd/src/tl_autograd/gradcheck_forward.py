"""The further checks of `gradcheck`: forward mode, and derivatives of whole batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_autograd import forward_ad
from tl_autograd.backward import grad
from tl_autograd.func import older_vmap
from tl_autograd.func.vmap import vmap
from tl_core import Tensor

__all__ = [
    "batched_gradient_mismatch",
    "batched_tangent_mismatch",
    "missing_tangent_mismatch",
    "push_direction",
]


def push_direction(
    func: Callable, inputs: tuple, x: Tensor, direction: Tensor, fill: bool = True
) -> list[Tensor]:
    """Tangents of the inexact outputs for a direction of one input; zeros for outputs without a tangent.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: the inputs, a tuple, of double precision.
        x: the input that moves.
        direction: the direction, of the input's shape.
        fill: whether the other inputs have tangents of zeros; otherwise they have none.
    """
    with forward_ad.dual_level():
        duals = tuple(_dual(i, direction if i is x else None, fill) for i in inputs)
        result = func(*duals)
        outputs = (result,) if isinstance(result, Tensor) else tuple(result)
        pairs = [forward_ad.unpack_dual(y) for y in outputs if _varies(y)]
        return [
            tl_core.zeros_like(y.primal.detach()) if y.tangent is None else y.tangent.detach() for y in pairs
        ]


def _dual(x: Any, direction: Tensor | None, fill: bool) -> Any:
    """An input as a dual tensor outside of any graph. The tangent of an input that doesn't move is zero or missing."""
    if not isinstance(x, Tensor) or not x.requires_grad:
        return x
    if direction is None and not fill:
        return x.detach()
    return forward_ad.make_dual(x.detach(), tl_core.zeros_like(x) if direction is None else direction)


def _varies(y: Any) -> bool:
    return isinstance(y, Tensor) and (y.is_floating_point() or y.is_complex())


def _pair(y: Tensor) -> Tensor:
    generator = tl_core.Generator().manual_seed(1)
    return tl_core.rand((2, *y.shape), dtype=tl_core.float64, generator=generator).to(y.dtype)


def _apart(a: Tensor, b: Tensor, atol: float, rtol: float) -> bool:
    return a.shape != b.shape or not tl_core.allclose(a, b, atol=atol, rtol=rtol, equal_nan=True)


def batched_gradient_mismatch(y: Tensor, inputs: list[Tensor], atol: float, rtol: float) -> str | None:
    """The first mismatch of the gradients of an output for a batch of vectors; None without a mismatch.

    Args:
        y: an output that requires gradients.
        inputs: the inputs to differentiate with respect to, of double precision.
        atol: the absolute tolerance.
        rtol: the relative tolerance.
    """
    vectors = _pair(y)

    def of_one(v: Tensor) -> tuple:
        grads = grad(y, inputs, v, retain_graph=True, allow_unused=True)
        return tuple(tl_core.zeros_like(x) if g is None else g for g, x in zip(grads, inputs, strict=True))

    try:
        batched = vmap(of_one)(vectors)
    except RuntimeError as error:
        return f"While considering batched gradients: computing them with vmap raised {error}"
    each = [of_one(v) for v in vectors]
    for i, several in enumerate(batched):
        if _apart(several, tl_core.stack([g[i] for g in each]), atol, rtol):
            return f"the batched gradient with respect to input {i} differs from those of single vectors"
    return None


def missing_tangent_mismatch(
    func: Callable, inputs: tuple, x: Tensor, atol: float, rtol: float
) -> str | None:
    """The first mismatch between missing tangents and zero tangents of all inputs except one; None without a mismatch.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: the inputs, a tuple, of double precision.
        x: the input that moves. The only differentiable input moves by zero.
        atol: the absolute tolerance.
        rtol: the relative tolerance.
    """
    alone = sum(isinstance(i, Tensor) and i.requires_grad for i in inputs) == 1
    missing = push_direction(
        func, inputs, x, tl_core.zeros_like(x) if alone else tl_core.ones_like(x), fill=False
    )
    zero = (
        [tl_core.zeros_like(t) for t in missing]
        if alone
        else push_direction(func, inputs, x, tl_core.ones_like(x))
    )
    for k, (m, z) in enumerate(zip(missing, zero, strict=True)):
        if _apart(m, z, atol, rtol):
            return f"the tangent of output {k} differs where tangents of inputs are missing instead of zero"
    return None


def batched_tangent_mismatch(
    func: Callable, inputs: tuple, x: Tensor, atol: float, rtol: float
) -> str | None:
    """The first mismatch of the tangents for a batch of directions of one input; None without a mismatch.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: the inputs, a tuple, of double precision.
        x: the input that moves.
        atol: the absolute tolerance.
        rtol: the relative tolerance.
    """
    directions = _pair(x)

    def of_one(v: Tensor) -> tuple:
        return tuple(push_direction(func, inputs, x, v, fill=False))

    try:
        batched = older_vmap.vmap(of_one)(directions)
    except RuntimeError as error:
        return f"While considering batched tangents: computing them with vmap raised {error}"
    each = [of_one(v) for v in directions]
    for k, several in enumerate(batched):
        if _apart(several, tl_core.stack([t[k] for t in each]), atol, rtol):
            return f"the batched tangent of output {k} differs from those of single directions"
    return None
