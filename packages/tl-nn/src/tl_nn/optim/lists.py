"""Steps of update rules over lists of tensors."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

__all__ = [
    "as_real",
    "counted",
    "decayed",
    "directions",
    "guarded",
    "subtract_scaled",
    "update_moments",
    "with_values",
]


def as_real(params: list[Tensor], grads: list[Tensor], *state: list[Tensor]) -> tuple[list[Tensor], ...]:
    """The lists with complex tensors as views on pairs of real numbers; conjugate gradients are written out.

    Args:
        params: the parameters.
        grads: their gradients.
        state: lists of state beside them.
    """
    if not any(tensor.is_complex() for tensor in params):
        return params, grads, *state
    lists = (params, [g.resolve_conj() for g in grads], *state)
    return tuple([tl_core.view_as_real(t) if t.is_complex() else t for t in each] for each in lists)


def directions(
    params: list[Tensor], grads: list[Tensor], maximize: bool, weight_decay: Any = 0
) -> list[Tensor]:
    """The gradients with their sign, and the penalty on large parameters in them.

    Args:
        params: the parameters, a list of tensors.
        grads: their gradients.
        maximize: whether gradients change their sign.
        weight_decay: the factor of the penalty.
    """
    if maximize:
        grads = tl_core._foreach_neg(grads)
    if isinstance(weight_decay, Tensor):
        return tl_core._foreach_add(grads, [param * weight_decay for param in params])
    if weight_decay:
        return tl_core._foreach_add(grads, params, alpha=weight_decay)
    return grads


def decayed(
    params: list[Tensor], grads: list[Tensor], lr: Any, weight_decay: float, decoupled: bool, maximize: bool
) -> list[Tensor]:
    """The `directions`, with weight decay in them, or, if decoupled, in the parameters, which shrink.

    Args:
        params: the parameters, a list of tensors.
        grads: their gradients.
        lr: the learning rate, a number or a tensor of one element.
        weight_decay: the factor of the penalty.
        decoupled: whether the decay acts on the parameters themselves.
        maximize: whether gradients change their sign.
    """
    if decoupled and weight_decay:
        tl_core._foreach_mul_(params, 1 - lr * weight_decay)
    return directions(params, grads, maximize, 0 if decoupled else weight_decay)


def update_moments(
    means: list[Tensor], squares: list[Tensor], grads: list[Tensor], beta1: Any, beta2: Any
) -> None:
    """Let gradients enter their running means, and their squares the running mean squares.

    Args:
        means: the running means; changed in place.
        squares: the running mean squares; changed in place.
        grads: their gradients.
        beta1: how much of the means is kept.
        beta2: how much of the mean squares is kept.
    """
    tl_core._foreach_lerp_(means, grads, 1 - beta1)
    tl_core._foreach_mul_(squares, beta2)
    if isinstance(beta2, Tensor):
        tl_core._foreach_add_(squares, [grad * grad * (1 - beta2) for grad in grads])
    else:
        tl_core._foreach_addcmul_(squares, grads, grads, value=1 - beta2)


def counted(steps: list[Tensor]) -> list[float]:
    """The numbers of steps, this one included."""
    tl_core._foreach_add_(steps, 1)
    return [step.item() for step in steps]


def guarded(tensors: list[Tensor], differentiable: bool) -> list[Tensor]:
    """The tensors themselves, or copies that a graph may keep while the originals are changed in place."""
    return tl_core._foreach_clone(tensors) if differentiable else tensors


def subtract_scaled(params: list[Tensor], updates: list[Tensor], lr: Any) -> None:
    """`params -= lr * updates`, in place; `lr` is a number or a tensor of one element.

    Args:
        params: the parameters, a list of tensors.
        updates: what is subtracted, a list as long.
        lr: the learning rate, a number or a tensor of one element.
    """
    if isinstance(lr, Tensor):
        tl_core._foreach_sub_(params, [update * lr.to(update.device) for update in updates])
    else:
        tl_core._foreach_add_(params, updates, alpha=-lr)


def with_values(like: Tensor, values: Tensor) -> Tensor:
    """Other values at the indices of a coalesced tensor."""
    return tl_core.sparse_coo_tensor(
        like._indices(), values, like.shape, check_invariants=False, is_coalesced=True
    )
