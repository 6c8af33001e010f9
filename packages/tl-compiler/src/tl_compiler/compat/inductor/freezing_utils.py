"""Marks of weights that are constants of a compiled program."""

from __future__ import annotations

from contextlib import suppress

from tl_core import Tensor

__all__ = ["is_frozen_param", "maybe_set_is_frozen_param"]


def maybe_set_is_frozen_param(t: Tensor) -> None:
    """Marks a tensor, if its class takes attributes.

    Args:
        t: the tensor.

    Example:
        >>> import tl_core
        >>> weight = tl_core.ones(2)
        >>> maybe_set_is_frozen_param(weight)
        >>> is_frozen_param(weight), is_frozen_param(tl_core.ones(2))
        (True, False)
    """
    with suppress(AttributeError):
        t._is_frozen_param = True  # type: ignore[attr-defined]  # a mark


def is_frozen_param(t: Tensor) -> bool:
    """True if a tensor was marked.

    Args:
        t: the tensor.
    """
    return bool(getattr(t, "_is_frozen_param", False))
