"""Reductions of a loss over many elements to one number."""

from __future__ import annotations

import warnings

from tl_core import Tensor

_NAMES = ("none", "mean", "sum")


def reduce_losses(losses: Tensor, reduction: str) -> Tensor:
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
    """The number of a reduction in calls of operators."""
    check(reduction)
    return _NAMES.index(reduction)


def reduction_name(code: int, function: str) -> str:
    """The reduction with a number. `function` is the caller's name for the error.

    Raises:
        ValueError: If it is the number of none.
    """
    if code not in (0, 1, 2):
        raise ValueError(f"{function}(): reduction must be 0, 1 or 2, got {code!r}")
    return _NAMES[code]


def check(reduction: str) -> None:
    """Refuse the name of a reduction that doesn't exist."""
    if reduction not in _NAMES:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction of the two old switches. Each of them is True by default."""
    if reduce is not None and not reduce:
        reduction = "none"
    else:
        reduction = "mean" if size_average is None or size_average else "sum"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    return reduction


def resolve_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """`reduction`, unless one of the old switches is given, which then decides."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)


def get_enum(reduction: str) -> int:
    """The number of a reduction, by the name that programs written for older versions call."""
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2
        )
        return reduction_code("mean")
    return reduction_code(reduction)


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that the two old switches mean."""
    return reduction_code(legacy_get_string(size_average, reduce, emit_warning))
