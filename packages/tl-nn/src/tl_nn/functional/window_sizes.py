"""Sizes of windows over a grid: one number for all axes, or one for each."""

from collections.abc import Sequence

__all__ = ["Ints", "per_axis"]

Ints = int | Sequence[int]


def per_axis(value: Ints, n: int) -> list[int]:
    """One number for each of `n` axes."""
    items = [value] if isinstance(value, int) else list(value)
    return items * n if len(items) == 1 else items
