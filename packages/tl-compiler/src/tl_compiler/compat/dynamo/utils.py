"""Helpers of the reference's frame evaluation that libraries import."""

from __future__ import annotations

import copy
import functools
import sys
from typing import Any

import tl_core
from tl_compiler.compiler import dynamo_config as config
from tl_compiler.compiler.counters import counters

__all__ = [
    "CompileEventLogger",
    "MetricsContext",
    "counters",
    "deepcopy_to_fake_tensor",
    "disable_cache_limit",
    "get_metrics_context",
    "is_compile_supported",
    "same",
]


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


def deepcopy_to_fake_tensor(obj: Any, fake_mode: Any) -> Any:
    """A copy of an object with a tensor without memory for each of its tensors.

    Args:
        obj: the object, such as a module.
        fake_mode: the mode that makes them.
    """
    from tl_core.subclasses.fake_converter import FakeCopyMode

    with FakeCopyMode(fake_mode):
        return copy.deepcopy(obj)


class MetricsContext:
    """Counts of one compilation, which are told when its block ends.

    Args:
        on_exit: called with the counts; None: nothing is told.

    Example:
        >>> with MetricsContext() as counts:
        ...     counts.increment("graphs", 1)
        ...     counts.metrics
        {'graphs': 1}
    """

    def __init__(self, on_exit: Any = None) -> None:
        self._on_exit, self._depth = on_exit, 0
        self.metrics: dict[str, Any] = {}

    def in_progress(self) -> bool:
        """Whether a block is entered."""
        return self._depth > 0

    def increment(self, metric: str, value: int) -> None:
        """Adds to a count.

        Args:
            metric: its name.
            value: what is added.

        Raises:
            RuntimeError: no block is entered.
        """
        self._need()
        self.metrics[metric] = self.metrics.get(metric, 0) + value

    def set(self, metric: str, value: Any, overwrite: bool = False) -> None:
        """Notes a fact.

        Args:
            metric: its name.
            value: the fact.
            overwrite: whether one that is there is replaced.

        Raises:
            RuntimeError: no block is entered, or it is there.
        """
        self._need()
        if metric in self.metrics and not overwrite:
            raise RuntimeError(f"Metric '{metric}' has already been set in the current context")
        self.metrics[metric] = value

    def _need(self) -> None:
        if not self._depth:
            raise RuntimeError("metrics are counted within their block only: enter it first")

    def __enter__(self) -> MetricsContext:
        self._depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if not self._depth:
            if self._on_exit is not None:
                self._on_exit(self.metrics)
            self.metrics = {}


_metrics = MetricsContext()


def get_metrics_context() -> MetricsContext:
    """The counts of the compilation that runs."""
    return _metrics


class CompileEventLogger:
    """Notes what happens in a compilation, in its counts."""

    @staticmethod
    def increment_toplevel(key: str, value: int = 1, log_level: Any = None) -> None:
        """Adds to a count of the compilation that runs.

        Args:
            key: its name.
            value: what is added.
            log_level: accepted.

        Raises:
            RuntimeError: none runs.
        """
        if not _metrics.in_progress():
            raise RuntimeError(
                "No toplevel event active: counts are kept within a block of get_metrics_context()"
            )
        _metrics.increment(key, value)

    @staticmethod
    def try_add_pt2_compile(event_name: str, **metadata: Any) -> None:
        """Notes facts of the compilation that runs; nothing where none does.

        Args:
            event_name: the event.
            metadata: the facts.
        """
        if _metrics.in_progress():
            for key, value in metadata.items():
                _metrics.set(key, value, overwrite=True)
