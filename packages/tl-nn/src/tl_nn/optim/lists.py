"""Steps of update rules over lists of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor

from .hyperparameters import has_effect

__all__ = [
    "add_scaled",
    "add_squares",
    "add_to_each",
    "approach",
    "as_real",
    "clone_for_graph",
    "count_steps",
    "directions",
    "scale",
    "scale_each",
    "subtract_scaled",
    "update_moments",
    "with_decay",
    "with_values",
]


def as_real(
    params: Sequence[Tensor], grads: Sequence[Tensor], *state: Sequence[Tensor]
) -> tuple[Sequence[Tensor], ...]:
    """The lists with complex tensors as views on pairs of real numbers. Conjugate gradients are materialized.

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
    params: Sequence[Tensor], grads: Sequence[Tensor], maximize: bool, weight_decay: Any = 0
) -> Sequence[Tensor]:
    """The gradients with their sign, and the penalty on large parameters in them.

    Args:
        params: the parameters, a list of tensors.
        grads: their gradients.
        maximize: whether gradients change their sign.
        weight_decay: the factor of the penalty.
    """
    if maximize:
        grads = tl_core._foreach_neg(grads)
    return add_scaled(grads, params, weight_decay) if has_effect(weight_decay) else grads


def with_decay(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    lr: Any,
    weight_decay: Any,
    decoupled: bool,
    maximize: bool,
) -> Sequence[Tensor]:
    """The `directions`, with weight decay in them, or, if decoupled, in the parameters, which shrink.

    Args:
        params: the parameters, a list of tensors.
        grads: their gradients.
        lr: the learning rate, a number or a tensor of one element.
        weight_decay: the factor of the penalty.
        decoupled: whether the decay acts on the parameters themselves.
        maximize: whether gradients change their sign.
    """
    if decoupled and has_effect(weight_decay):
        scale(params, 1 - lr * weight_decay)
    return directions(params, grads, maximize, 0 if decoupled else weight_decay)


def update_moments(
    means: Sequence[Tensor], squares: Sequence[Tensor], grads: Sequence[Tensor], beta1: Any, beta2: Any
) -> None:
    """Let gradients enter their running means, and their squares the running mean squares.

    Args:
        means: the running means, changed in place.
        squares: the running mean squares, changed in place.
        grads: their gradients.
        beta1: how much of the means is kept.
        beta2: how much of the mean squares is kept.
    """
    approach(means, grads, 1 - beta1)
    add_squares(squares, grads, beta2)


def scale(tensors: Sequence[Tensor], factor: Any) -> None:
    """`tensors *= factor`, in place.

    Args:
        tensors: the tensors to change.
        factor: a number, or a tensor of no dimension whose derivative is recorded.
    """
    if isinstance(factor, Tensor):
        _replace(tensors, [tensor.clone() * factor for tensor in tensors])
    else:
        tl_core._foreach_mul_(tensors, factor)


def scale_each(tensors: Sequence[Tensor], factors: list[Any]) -> None:
    """`tensors *= factors`, in place.

    Args:
        tensors: the tensors to change.
        factors: a list as long of numbers, or of tensors of no dimension whose derivatives are recorded.
    """
    if any(isinstance(factor, Tensor) for factor in factors):
        _replace(tensors, [tensor.clone() * factor for tensor, factor in zip(tensors, factors, strict=True)])
    else:
        tl_core._foreach_mul_(tensors, factors)


def add_scaled(tensors: Sequence[Tensor], summands: Sequence[Tensor], factor: Any) -> Sequence[Tensor]:
    """`tensors + factor * summands`.

    Args:
        tensors: the first summands.
        summands: the second summands, a list as long.
        factor: a number, or a tensor of no dimension whose derivative is recorded.
    """
    if isinstance(factor, Tensor):
        return tl_core._foreach_add(tensors, [other.clone() * factor for other in summands])
    return tl_core._foreach_add(tensors, summands, alpha=factor)


def add_to_each(tensors: Sequence[Tensor], summand: Any) -> Sequence[Tensor]:
    """`tensors + summand`.

    Args:
        tensors: a list of tensors.
        summand: a number, or a tensor of no dimension whose derivative is recorded.
    """
    if isinstance(summand, Tensor):
        return [tensor + summand for tensor in tensors]
    return tl_core._foreach_add(tensors, summand)


def approach(means: Sequence[Tensor], values: Sequence[Tensor], weight: Any) -> None:
    """Let values enter their running means: `means += weight * (values - means)`, in place.

    Args:
        means: the running means, changed in place.
        values: a list as long.
        weight: a number, or a tensor of no dimension whose derivative is recorded.
    """
    if isinstance(weight, Tensor):
        differences = tl_core._foreach_sub(values, means)
        tl_core._foreach_add_(means, [difference * weight for difference in differences])
    else:
        tl_core._foreach_lerp_(means, values, weight)


def add_squares(squares: Sequence[Tensor], values: Sequence[Tensor], decay: Any) -> None:
    """Add the squares of values to their running means, in place.

    Args:
        squares: the running means, changed in place.
        values: a list as long.
        decay: the factor of the means: a number, or a tensor of no dimension whose derivative is recorded.
    """
    scale(squares, decay)
    if isinstance(decay, Tensor):
        tl_core._foreach_add_(squares, [value * value * (1 - decay) for value in values])
    else:
        tl_core._foreach_addcmul_(squares, values, values, value=1 - decay)


def _replace(tensors: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    for tensor, value in zip(tensors, values, strict=True):
        tensor.copy_(value)


def count_steps(steps: Sequence[Tensor]) -> list[float]:
    """Increment the numbers of steps and return them."""
    tl_core._foreach_add_(steps, 1)
    return [step.item() for step in steps]


def clone_for_graph(tensors: Sequence[Tensor], differentiable: bool) -> Sequence[Tensor]:
    """The tensors themselves, or copies for a graph, which survive changes of the originals."""
    return tl_core._foreach_clone(tensors) if differentiable else tensors


def subtract_scaled(params: Sequence[Tensor], updates: Sequence[Tensor], lr: Any) -> None:
    """`params -= lr * updates`, in place.

    Args:
        params: the parameters, a list of tensors.
        updates: the subtrahends, a list as long.
        lr: the learning rate: a number, or a tensor of no dimension whose derivative is recorded.
    """
    if isinstance(lr, Tensor):
        tl_core._foreach_sub_(params, [update.clone() * lr for update in updates])
    else:
        tl_core._foreach_add_(params, updates, alpha=-lr)


def with_values(like: Tensor, values: Tensor) -> Tensor:
    """Other values at the indices of a coalesced tensor."""
    return tl_core.sparse_coo_tensor(
        like._indices(), values, like.shape, check_invariants=False, is_coalesced=True
    )
