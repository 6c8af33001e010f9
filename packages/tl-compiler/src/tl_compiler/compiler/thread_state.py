"""What a thread and the process are set to, as far as it decides which operators a program runs."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core.dispatch.autocast import (
    LOWER_TYPES,
    get_autocast_dtype,
    is_autocast_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from tl_core.dispatch.modes import in_transform, modes_in_force
from tl_core.overrides import function_modes
from tl_core.settings import switches

__all__ = ["can_be_set", "is_observed", "restore_thread_state", "thread_state"]


def thread_state() -> tuple[Any, ...]:
    """What the thread and the process are set to.

    Example:
        >>> thread_state() == thread_state()
        True
    """
    return (
        tl_core.is_grad_enabled(),
        tl_core.is_inference_mode_enabled(),
        tl_core.get_default_dtype(),
        tl_core.get_default_device(),
        tuple((kind, is_autocast_enabled(kind), get_autocast_dtype(kind)) for kind in LOWER_TYPES),
        tl_core.are_deterministic_algorithms_enabled(),
        tl_core.is_deterministic_algorithms_warn_only_enabled(),
        tuple(sorted((name, repr(value)) for name, value in switches.values().items())),
    )


def can_be_set(before: tuple[Any, ...], after: tuple[Any, ...]) -> bool:
    """Whether `restore_thread_state` sets all that differs.

    Args:
        before, after: what `thread_state` said.

    Example:
        >>> can_be_set(thread_state(), thread_state())
        True
    """
    return before[1] == after[1] and before[-1] == after[-1]


def restore_thread_state(before: tuple[Any, ...]) -> None:
    """Sets the thread and the process as they were.

    Args:
        before: what `thread_state` said.
    """
    if thread_state() == before:
        return
    grad, _, dtype, device, autocast, deterministic, warns, _ = before
    tl_core.set_grad_enabled(grad)
    tl_core.set_default_dtype(dtype)
    tl_core.set_default_device(device)
    for kind, on, lower in autocast:
        set_autocast_enabled(kind, on)
        set_autocast_dtype(kind, lower)
    tl_core.use_deterministic_algorithms(deterministic, warn_only=warns)


def is_observed() -> bool:
    """Whether modes or transforms see what runs now: they would see other operators if a graph ran.

    Example:
        >>> is_observed()
        False
    """
    return bool(modes_in_force()) or bool(function_modes()) or in_transform()
