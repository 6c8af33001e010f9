"""Helpers of PyTorch's frame evaluation that libraries import."""

from __future__ import annotations

import copy
import functools
import sys
import warnings
from typing import Any

import tl_core
from tl_compiler.compiler import dynamo_config as config
from tl_compiler.compiler.counters import counters

__all__ = [
    "CompileEventLogger",
    "MetricsContext",
    "clone_input",
    "clone_inputs",
    "counters",
    "deepcopy_to_fake_tensor",
    "detect_fake_mode",
    "disable_cache_limit",
    "get_metrics_context",
    "ifdynstaticdefault",
    "is_compile_supported",
    "istype",
    "same",
    "warn_once",
]

_shown: set[str] = set()  # texts of warnings


def disable_cache_limit() -> Any:
    """A region, or a decorator, in which any number of versions of a frame may be kept: there are none."""
    # The module of settings gets `patch` when it is loaded.
    return config.patch({"recompile_limit": sys.maxsize, "accumulated_recompile_limit": sys.maxsize})  # type: ignore[attr-defined]


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """A warning that a process shows once, whatever the filters of warnings are.

    Args:
        msg: its text.
        stacklevel: how many callers above this one it is shown for.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_once("a doubt")
        ...     warn_once("a doubt")
        >>> len(caught)
        1
    """
    if msg in _shown:
        return
    _shown.add(msg)
    warnings.warn(msg, stacklevel=stacklevel + 1)


def istype(obj: object, allowed_types: Any) -> bool:
    """Whether the class of an object is one of several, and not only derived from one.

    Args:
        obj: the object.
        allowed_types: a class, or a list, tuple or set of classes.

    Example:
        >>> istype(True, int), istype(True, (int, bool))
        (False, True)
    """
    if isinstance(allowed_types, (tuple, list, set)):
        return type(obj) in allowed_types
    return type(obj) is allowed_types


def clone_input(x: Any, *, dtype: Any = None) -> Any:
    """A copy of a tensor with the same strides, gradient and record of derivatives.

    Args:
        x: the tensor.
        dtype: the element type of the copy; None: that of the tensor.

    Example:
        >>> clone_input(tl_core.ones(2, 3).t()).stride()
        (1, 3)
    """
    with tl_core.no_grad():
        result = tl_core.empty_strided(
            tuple(x.shape), x.stride(), dtype=dtype or x.dtype, device=x.device
        ).copy_(x)
        if x.is_leaf and x.requires_grad:
            result.requires_grad_(True)
        if x.is_leaf and x.grad is not None:
            result.grad = clone_input(x.grad, dtype=dtype)
    return result


def clone_inputs(example_inputs: Any) -> Any:
    """Copies of tensors.

    Args:
        example_inputs: tensors and other values, in a list, a tuple or a dictionary.

    Returns:
        A list, or a dictionary.
    """
    if isinstance(example_inputs, dict):
        return {name: clone_inputs([value])[0] for name, value in example_inputs.items()}
    return [clone_input(x) if isinstance(x, tl_core.Tensor) else x for x in example_inputs]


def detect_fake_mode(inputs: Any = None) -> Any:
    """The mode of the tensors without memory among values; None without such a tensor.

    Args:
        inputs: the values, in nested containers.

    Example:
        >>> detect_fake_mode([tl_core.ones(2)]) is None
        True
    """
    from tl_core.pytree import tree_leaves
    from tl_core.subclasses import FakeTensor

    return next((x.fake_mode for x in tree_leaves(inputs) if isinstance(x, FakeTensor)), None)


def ifdynstaticdefault(count1: Any, count2: Any) -> Any:
    """One of two values: the first if sizes are numbers by default, the second if they are symbols.

    Args:
        count1: the first value.
        count2: the second value.

    Example:
        >>> ifdynstaticdefault(1, 2)
        1
    """
    return count1 if config.assume_static_by_default else count2


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
    """Whether two results are equal up to a tolerance: tensors, numbers, containers and attributes of objects.

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
    if type(ref) is type(res) and type(ref).__eq__ is object.__eq__ and hasattr(ref, "__dict__"):
        return again(vars(ref), vars(res))
    return bool(type(ref) is type(res) and ref == res)


def _same_tensors(a: Any, b: Any, by_direction: bool, tol: float, equal_nan: bool, exact_dtype: bool) -> bool:
    if isinstance(b, (bool, int, float, complex)):
        b = tl_core.full_like(a, b)
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
