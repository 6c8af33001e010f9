"""Backends that count and store graphs, and helpers of PyTorch's own tests, which programs use too."""

from __future__ import annotations

import functools
import re
import unittest
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import tl_core

from .recorders import (
    AotEagerAndRecordGraphs,
    CompileCounter,
    CompileCounterWithBackend,
    EagerAndRecordGraphs,
)
from .test_helpers import (
    check_dynamic_shape_capture,
    clone_me,
    collect_results,
    expectedFailureCodegenDynamic,
    expectedFailureDynamic,
    expectedFailureDynamicWrapper,
    extract_graph,
    reduce_to_scalar_loss,
    remove_optimized_module_prefix,
    requires_bwd_pass,
    reset_rng_state,
    skipIfNotPy311,
    skipIfNotPy312,
    skipIfOnlyNotPy312,
    skipIfPy312,
    standard_test,
    unsupported,
    xfailIfPy312,
)
from .utils import same

__all__ = [
    "AotEagerAndRecordGraphs",
    "CompileCounter",
    "CompileCounterWithBackend",
    "EagerAndRecordGraphs",
    "check_dynamic_shape_capture",
    "clone_me",
    "collect_results",
    "empty_line_normalizer",
    "expectedFailureCodegenDynamic",
    "expectedFailureDynamic",
    "expectedFailureDynamicWrapper",
    "extract_graph",
    "make_test_cls_with_patches",
    "normalize_gm",
    "rand_strided",
    "reduce_to_scalar_loss",
    "remove_optimized_module_prefix",
    "remove_trailing_space",
    "requires_bwd_pass",
    "reset_rng_state",
    "same",
    "skipIfNotPy311",
    "skipIfNotPy312",
    "skipIfOnlyNotPy312",
    "skipIfPy312",
    "standard_test",
    "strip_comment",
    "unsupported",
    "xfailIfPy312",
]


def strip_comment(code: str) -> str:
    """Generated code without its comments.

    Args:
        code: the code.

    Example:
        >>> strip_comment("x = 1  # one")
        'x = 1  '
    """
    return re.sub(r"(?m)#.*$", "", code)


def remove_trailing_space(code: str) -> str:
    """Generated code without blanks at the ends of lines.

    Args:
        code: the code.

    Example:
        >>> remove_trailing_space("x = 1  ")
        'x = 1'
    """
    return "\n".join(line.rstrip() for line in code.split("\n"))


def empty_line_normalizer(code: str) -> str:
    """Generated code without empty lines.

    Args:
        code: the code.

    Example:
        >>> empty_line_normalizer("x = 1\\n\\ny = 2")
        'x = 1\\ny = 2'
    """
    return re.sub(r"[\r\n]+", "\n", code)


def normalize_gm(gm_str: str) -> str:
    """Generated code without comments and blanks at the ends of lines.

    Args:
        gm_str: the code.

    Example:
        >>> normalize_gm("x = 1  # one")
        'x = 1'
    """
    return "\n".join(re.sub(r"\s*#.*$", "", line).rstrip() for line in gm_str.split("\n")).strip()


def rand_strided(
    size: Sequence[int],
    stride: Sequence[int],
    dtype: Any = tl_core.float32,
    device: Any = "cpu",
    extra_size: int = 0,
) -> Any:
    """A tensor of random numbers with given strides.

    Args:
        size: its sizes.
        stride: its strides.
        dtype: its element type; normal numbers where they are floating, else small integers.
        device: where it lies.
        extra_size: how many elements its storage has beyond those it needs.

    Example:
        >>> rand_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    last = sum((n - 1) * step for n, step in zip(size, stride, strict=True)) + 1 if 0 not in size else 0
    count = last + extra_size
    if dtype.is_floating_point or dtype.is_complex:
        flat = tl_core.randn(count, dtype=dtype, device=device)
    else:
        flat = tl_core.randint(0, 2, (count,), dtype=dtype, device=device)
    return tl_core.as_strided(flat, tuple(size), tuple(stride))


def make_test_cls_with_patches(
    cls: type,
    cls_prefix: str,
    fn_suffix: str,
    *patches: tuple[Any, str, Any],
    xfail_prop: str | None = None,
    decorator: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda x: x,
) -> type:
    """A class with the tests of another, each of which runs while attributes have other values.

    Args:
        cls: the class.
        cls_prefix: what the name of the new one begins with.
        fn_suffix: what the names of its tests end in.
        patches: an object, the name of an attribute, and its value meanwhile.
        xfail_prop: an attribute of tests that are expected to fail.
        decorator: is applied to each test.

    Returns:
        The class.
    """
    patched_cls = type(f"{cls_prefix}{cls.__name__}", cls.__bases__, {})
    patched_cls.__qualname__ = patched_cls.__name__
    patched_cls.__module__ = cls.__module__
    for name in dir(cls):
        value = getattr(cls, name)
        if not name.startswith("test_") or not callable(value):
            if name in cls.__dict__ and not hasattr(patched_cls, name):
                setattr(patched_cls, name, cls.__dict__[name])
            continue
        test: Any = decorator(_patch_test(value, patches))
        if xfail_prop is not None and hasattr(value, xfail_prop):
            test = unittest.expectedFailure(test)
        setattr(patched_cls, f"{name}{fn_suffix}", test)
    return patched_cls


def _patch_test(test: Callable[..., Any], patches: Sequence[tuple[Any, str, Any]]) -> Callable[..., Any]:
    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> Any:
        with ExitStack() as stack:
            for owner, name, value in patches:
                stack.enter_context(patch.object(owner, name, value))
            return test(*args, **kwargs)

    return run
