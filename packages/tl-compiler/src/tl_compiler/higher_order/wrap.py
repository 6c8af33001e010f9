"""Calls in another setting of the thread: what a graph has for a region of `no_grad` or `autocast`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tl_core
from tl_core.dispatch import autocast

from .base import HigherOrderOperator

__all__ = [
    "Wrap",
    "WrapWithAutocast",
    "WrapWithSetGradEnabled",
    "wrap",
    "wrap_with_autocast",
    "wrap_with_set_grad_enabled",
]


class Wrap(HigherOrderOperator):
    """Calls a function. In a trace its operators are recorded where the call stands.

    Args:
        func: the function, in a graph a submodule.
        args, kwargs: its arguments.
    """

    has_effect = True  # what is called may write

    def __init__(self) -> None:
        super().__init__("wrap")

    def __call__(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)


class WrapWithSetGradEnabled(HigherOrderOperator):
    """Calls a function with derivatives recorded, or not. In a trace its operators are recorded where the call stands.

    Args:
        enable_grad: whether they are recorded.
        wrapped_func: the function, in a graph a submodule.
        args, kwargs: its arguments.
    """

    has_effect = True  # what is called may write

    def __init__(self) -> None:
        super().__init__("wrap_with_set_grad_enabled")

    def __call__(self, enable_grad: bool, wrapped_func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with tl_core.set_grad_enabled(enable_grad):
            return wrapped_func(*args, **kwargs)


class WrapWithAutocast(HigherOrderOperator):
    """Calls a function in a region of `autocast`. In a trace its operators are recorded where the call stands.

    Args:
        device_type: the kind of device.
        dtype: the lower type; None: that of the kind of device.
        enabled: whether operators choose their precision.
        cache_enabled: whether converted parameters are kept; None: as it is now.
        wrapped_func: the function, in a graph a submodule.
        args, kwargs: its arguments.
    """

    has_effect = True  # what is called may write

    def __init__(self) -> None:
        super().__init__("wrap_with_autocast")

    def __call__(
        self,
        device_type: str,
        dtype: Any,
        enabled: bool,
        cache_enabled: bool | None,
        wrapped_func: Callable[..., Any],
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        with _autocast_set(device_type, dtype, enabled, cache_enabled):
            return wrapped_func(*args, **kwargs)


@contextlib.contextmanager
def _autocast_set(kind: str, dtype: Any, enabled: bool, cache: bool | None) -> Iterator[None]:
    """The region, made of its parts: the class of the region is another package's."""
    before = autocast.is_autocast_enabled(kind), autocast.get_autocast_dtype(kind)
    cached = autocast.is_autocast_cache_enabled()
    autocast.set_autocast_enabled(kind, enabled)
    autocast.set_autocast_dtype(kind, before[1] if dtype is None else dtype)
    autocast.set_autocast_cache_enabled(cached if cache is None else cache)
    autocast.autocast_increment_nesting()
    try:
        yield
    finally:
        if autocast.autocast_decrement_nesting() == 0:
            autocast.clear_autocast_cache()
        autocast.set_autocast_cache_enabled(cached)
        autocast.set_autocast_dtype(kind, before[1])
        autocast.set_autocast_enabled(kind, before[0])


wrap_with_set_grad_enabled = WrapWithSetGradEnabled()
wrap_with_autocast = WrapWithAutocast()
wrap = Wrap()
