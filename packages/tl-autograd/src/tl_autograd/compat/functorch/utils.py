"""Small helpers of transforms."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tl_autograd.compat.functorch import native
from tl_autograd.compat.functorch.native import unwrap_if_dead
from tl_core import Tensor

__all__ = ["argnums_t", "enable_single_level_autograd_function", "exposed_in", "unwrap_dead_wrappers"]

argnums_t = int | tuple[int, ...]


def exposed_in(module: str) -> Callable[[Any], Any]:
    """A decorator that says in which module a name is public."""

    def set_module(f: Any) -> Any:
        f.__module__ = module
        return f

    return set_module


@contextlib.contextmanager
def enable_single_level_autograd_function() -> Iterator[None]:
    """Sets the switch of that name."""
    before = native.get_single_level_autograd_function_allowed()
    native.set_single_level_autograd_function_allowed(True)
    try:
        yield
    finally:
        native.set_single_level_autograd_function_allowed(before)


def unwrap_dead_wrappers(args: tuple) -> tuple:
    """The arguments, with their values for tensors whose transform has ended."""
    return tuple(unwrap_if_dead(x) if isinstance(x, Tensor) else x for x in args)
