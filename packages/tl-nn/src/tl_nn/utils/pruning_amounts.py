"""The number of elements or slices that pruning removes, and checks of the arguments that determine it."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

__all__: list[str] = []


def _validate_pruning_amount_init(amount: Any) -> None:
    """Raise an error unless the amount is a number of elements or a share."""
    if not isinstance(amount, (int, float)) or isinstance(amount, bool):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    out_of_range = amount < 0 if isinstance(amount, int) else not 0.0 <= amount <= 1.0
    if out_of_range:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    """Refuse to prune more than there is."""
    if isinstance(amount, int) and amount > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}"
        )


def _validate_structured_pruning(t: Tensor) -> None:
    """Refuse to take slices of vectors."""
    if len(t.shape) <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {len(t.shape)} dims"
        )


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """The number of the `tensor_size` elements to prune."""
    return amount if isinstance(amount, int) else round(amount * tensor_size)
