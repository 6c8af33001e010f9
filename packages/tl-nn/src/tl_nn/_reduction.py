"""How a loss over many elements becomes one number."""

from __future__ import annotations

import warnings

from tl_core import Tensor


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The elements themselves, their mean, or their sum.

    Raises:
        ValueError: If `reduction` isn't "none", "mean" or "sum".
    """
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    check(reduction)
    return losses


def reduction_code(reduction: str) -> int:
    """The number by which operators know a reduction."""
    check(reduction)
    return ("none", "mean", "sum").index(reduction)


def check(reduction: str) -> None:
    """Refuse the name of a reduction that doesn't exist."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the two old switches mean; left out, each of them is True."""
    if reduce is False:
        reduction = "none"
    else:
        reduction = "sum" if size_average is False else "mean"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    return reduction


def chosen(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """`reduction`, unless one of the old switches is given, which then decides."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)
