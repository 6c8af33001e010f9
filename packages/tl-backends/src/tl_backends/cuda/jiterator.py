"""Elementwise CUDA kernels from a line of C++."""

from collections.abc import Callable
from typing import Any

from tl_backends.absent_device import CUDA

__all__: list[str] = []


def _create_jit_fn(code_string: str, **kwargs: Any) -> Callable:
    """A function that runs a piece of C++ on each element."""
    raise CUDA.error("jiterator._create_jit_fn")


def _create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs: Any) -> Callable:
    """A function that runs a piece of C++ with several results on each element."""
    raise CUDA.error("jiterator._create_multi_output_jit_fn")
