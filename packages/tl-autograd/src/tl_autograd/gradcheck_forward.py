"""The further checks of `gradcheck`: forward mode, and derivatives of whole batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_autograd import forward_ad
from tl_autograd.backward import grad
from tl_autograd.func.jvp import jvp
from tl_autograd.func.vmap import vmap
from tl_core import Tensor

__all__ = ["batched_gradient_mismatch", "batched_tangent_mismatch", "pushed"]


def pushed(func: Callable, inputs: tuple, x: Tensor, direction: Tensor) -> list[Tensor]:
    """Tangents of the outputs that are not integers, for one input's direction; zeros where there is none.

    Args:
        func: the function, of tensors, to a tensor or a tuple of them.
        inputs: its inputs, a tensor or a tuple, of double precision.
        x: the input that is moved.
        direction: the direction, of the input's shape.
    """
    with forward_ad.dual_level():
        duals = tuple(_dual(i, direction if i is x else None) for i in inputs)
        result = func(*duals)
        outputs = (result,) if isinstance(result, Tensor) else tuple(result)
        found = [forward_ad.unpack_dual(y) for y in outputs if _varies(y)]
        return [
            tl_core.zeros_like(y.primal.detach()) if y.tangent is None else y.tangent.detach() for y in found
        ]


def _dual(x: Any, direction: Tensor | None) -> Any:
    """An input as a dual tensor outside of any graph, with a tangent of zero where it does not move."""
    if not isinstance(x, Tensor) or not x.requires_grad:
        return x
    return forward_ad.make_dual(x.detach(), tl_core.zeros_like(x) if direction is None else direction)


def _detached(x: Any) -> Any:
    return x.detach() if isinstance(x, Tensor) else x


def _varies(y: Any) -> bool:
    return isinstance(y, Tensor) and (y.is_floating_point() or y.is_complex())


def _pair(y: Tensor) -> Tensor:
    generator = tl_core.Generator().manual_seed(1)
    return tl_core.rand((2, *y.shape), dtype=tl_core.float64, generator=generator).to(y.dtype)


def _apart(a: Tensor, b: Tensor, atol: float, rtol: float) -> bool:
    return a.shape != b.shape or not tl_core.allclose(a, b, atol=atol, rtol=rtol, equal_nan=True)


def batched_gradient_mismatch(y: Tensor, inputs: list[Tensor], atol: float, rtol: float) -> str | None:
    """What is wrong with the gradients of an output for a batch of vectors; None: nothing.

    Args:
        y: an output.
        inputs: its inputs, a tensor or a tuple, of double precision.
        atol: the absolute tolerance.
        rtol: the relative tolerance.
    """
    vectors = _pair(y)

    def of_one(v: Tensor) -> tuple:
        found = grad(y, inputs, v, retain_graph=True, allow_unused=True)
        return tuple(tl_core.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True))

    try:
        batched = vmap(of_one)(vectors)
    except RuntimeError as error:
        return f"While considering batched gradients: computing them with vmap raised {error}"
    each = [of_one(v) for v in vectors]
    for i, whole in enumerate(batched):
        if _apart(whole, tl_core.stack([g[i] for g in each]), atol, rtol):
            return f"the batched gradient with respect to input {i} differs from those of single vectors"
    return None


def batched_tangent_mismatch(
    func: Callable, inputs: tuple, x: Tensor, atol: float, rtol: float
) -> str | None:
    """What is wrong with the tangents for a batch of one input's directions; None: nothing.

    Args:
        func: the function, of tensors, to a tensor or a tuple of them.
        inputs: its inputs, a tensor or a tuple, of double precision.
        x: the input that is moved.
        atol: the absolute tolerance.
        rtol: the relative tolerance.
    """
    directions = _pair(x)

    def of_one(v: Tensor) -> tuple:
        def of_input(moved: Tensor) -> tuple:
            result = func(*(moved if i is x else _detached(i) for i in inputs))
            outputs = (result,) if isinstance(result, Tensor) else tuple(result)
            return tuple(y for y in outputs if _varies(y))

        return jvp(of_input, (x.detach(),), (v,))[1]

    try:
        batched = vmap(of_one)(directions)
    except RuntimeError as error:
        return f"While considering batched tangents: computing them with vmap raised {error}"
    each = [of_one(v) for v in directions]
    for k, whole in enumerate(batched):
        if _apart(whole, tl_core.stack([t[k] for t in each]), atol, rtol):
            return f"the batched tangent of output {k} differs from those of single directions"
    return None
