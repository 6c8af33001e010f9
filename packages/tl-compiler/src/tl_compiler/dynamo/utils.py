"""Helpers of the reference's frame evaluation that libraries import."""

from __future__ import annotations

import collections
import functools
import sys
from typing import Any

import tl_core

from . import config

__all__ = ["counters", "disable_cache_limit", "is_compile_supported", "same"]

counters: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(
    collections.Counter
)


def disable_cache_limit() -> Any:
    """A region, or a decorator, in which any number of versions of a frame may be kept: there are none."""
    # The module of settings gets `patch` when it is loaded.
    return config.patch({"recompile_limit": sys.maxsize, "accumulated_recompile_limit": sys.maxsize})  # type: ignore[attr-defined]


def is_compile_supported(device_type: Any) -> bool:
    """Whether there is a code generator for a device: no.

    Args:
        device_type: the device.
    """
    return False


def same(
    ref: Any,
    res: Any,
    fp64_ref: Any = None,
    cos_similarity: bool = False,
    tol: float = 1e-4,
    equal_nan: bool = False,
    exact_dtype: bool = True,
) -> bool:
    """Whether two results are equal up to a tolerance: tensors, numbers, and containers of them.

    Args:
        ref: a result.
        res: another.
        fp64_ref: accepted.
        cos_similarity: whether tensors need only have the same direction, up to the tolerance.
        tol: how far numbers may differ, relatively and absolutely.
        equal_nan: whether NaN equals NaN.
        exact_dtype: whether element types must be equal.

    Example:
        >>> import tl_core
        >>> same([tl_core.ones(2), 1.0], [tl_core.ones(2), 1.0])
        True
    """
    again = functools.partial(
        same, cos_similarity=cos_similarity, tol=tol, equal_nan=equal_nan, exact_dtype=exact_dtype
    )
    if isinstance(ref, (list, tuple)):
        return len(ref) == len(res) and all(again(a, b) for a, b in zip(ref, res, strict=True))
    if isinstance(ref, dict):
        return set(ref) == set(res) and all(again(ref[k], res[k]) for k in ref)
    if isinstance(ref, tl_core.Tensor):
        return _same_tensors(ref, res, cos_similarity, tol, equal_nan, exact_dtype)
    if isinstance(ref, float) and isinstance(res, float):
        return abs(ref - res) <= tol * max(1.0, abs(ref)) or (equal_nan and ref != ref and res != res)
    return bool(type(ref) is type(res) and ref == res)


def _same_tensors(a: Any, b: Any, by_direction: bool, tol: float, equal_nan: bool, exact_dtype: bool) -> bool:
    if not isinstance(b, tl_core.Tensor) or a.shape != b.shape or (exact_dtype and a.dtype != b.dtype):
        return False
    b = b.to(a.dtype)
    if by_direction:
        x, y = a.flatten().double(), b.flatten().double()
        if bool((x == y).all()):
            return True
        return bool((x @ y) / (x.norm() * y.norm()).clamp_min(1e-12) >= 1 - tol)
    if not (a.is_floating_point() or a.is_complex()):
        return bool((a == b).all())
    return bool(tl_core.allclose(a, b, rtol=tol, atol=tol, equal_nan=equal_nan))
