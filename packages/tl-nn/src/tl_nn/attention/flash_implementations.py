"""Implementations of `FLASH_ATTENTION`: programs register implementations and select one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

__all__ = [
    "activate_flash_attention_impl",
    "current_flash_attention_impl",
    "list_flash_attention_impls",
    "register_flash_attention_impl",
    "restore_flash_attention_impl",
]

_implementations: dict[str, Callable[..., Any]] = {}
_active: list[tuple[str, Any]] = []


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Registers an implementation.

    Args:
        impl: its name.
        register_fn: installs the implementation. Its result may have `remove()`, which removes the implementation.

    Example:
        >>> register_flash_attention_impl("mine", register_fn=lambda: None)
        >>> "mine" in list_flash_attention_impls()
        True
    """
    _implementations[impl] = register_fn


def list_flash_attention_impls() -> list[str]:
    """The names of the registered implementations.

    Example:
        >>> isinstance(list_flash_attention_impls(), list)
        True
    """
    return sorted(_implementations)


def current_flash_attention_impl() -> str | None:
    """The selected implementation. None stands for tl's own.

    Example:
        >>> print(current_flash_attention_impl())
        None
    """
    return _active[-1][0] if _active else None


def activate_flash_attention_impl(impl: str) -> None:
    """Selects an implementation.

    Args:
        impl: its name.

    Raises:
        ValueError: it isn't registered.

    Example:
        >>> register_flash_attention_impl("mine", register_fn=lambda: None)
        >>> activate_flash_attention_impl("mine")
        >>> current_flash_attention_impl()
        'mine'
        >>> restore_flash_attention_impl()
    """
    if impl not in _implementations:
        raise ValueError(
            f"Unknown flash attention impl {impl!r}. Available implementations: {list_flash_attention_impls()}; those "
            "for CUDA devices are not among them, as tl computes on the CPU"
        )
    restore_flash_attention_impl(_raise_warn=False)
    _active.append((impl, _implementations[impl]()))


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Selects tl's own implementation again.

    Example:
        >>> restore_flash_attention_impl(_raise_warn=False)
    """
    if not _active:
        if _raise_warn:
            warnings.warn("no flash attention implementation was activated", stacklevel=2)
        return
    _, handle = _active.pop()
    if handle is not None and hasattr(handle, "remove"):
        handle.remove()
