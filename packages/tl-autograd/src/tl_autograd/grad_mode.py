"""The switches of gradient recording; they live in tl_core."""

from __future__ import annotations

import threading

from tl_core import enable_grad, inference_mode, no_grad, set_grad_enabled
from tl_core.tensors.version_counters import (
    unsafe_preserve_version_counter as _unsafe_preserve_version_counter,  # noqa: F401 - a private name of it
)

__all__ = [
    "enable_grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


_thread = threading.local()


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` set on this thread; True at first."""
    return getattr(_thread, "several", True)


class set_multithreading_enabled:
    """A context manager and a function; a backward runs on the thread that asks for it, whatever the mode.

    Example:
        >>> import tl_core
        >>> with set_multithreading_enabled(False):
        ...     x = tl_core.ones(2, requires_grad=True)
        ...     (3 * x).sum().backward()
        ...
        >>> x.grad
        tensor([3., 3.])
    """

    def __init__(self, mode: bool):
        self.mode, self.prev = bool(mode), is_multithreading_enabled()
        _thread.several = self.mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _thread.several = self.prev

    def clone(self) -> set_multithreading_enabled:
        """Another context with the same setting."""
        return type(self)(self.mode)
