"""The arguments that a function is differentiated with respect to."""

from __future__ import annotations

from typing import Any

__all__ = ["normalize", "replace", "select"]

Argnums = int | tuple[int, ...]


def normalize(argnums: Argnums, n_args: int) -> Argnums:
    """The numbers without negative ones. Raises RuntimeError for a number without a positional argument."""
    if isinstance(argnums, int):
        return _number(argnums, n_args)
    if isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError("argnums must be non-empty")
        numbers = tuple(_number(n, n_args) for n in argnums)
        if len(set(numbers)) != len(numbers):
            raise RuntimeError(f"argnums elements must be unique, got {argnums}")
        return numbers
    raise RuntimeError(f"argnum must be int or Tuple[int, ...], got: {type(argnums).__name__}")


def _number(n: Any, n_args: int) -> int:
    if not isinstance(n, int):
        raise RuntimeError(f"argnum must be int, got: {type(n).__name__}")
    if not -n_args <= n < n_args:
        raise RuntimeError(f"Got argnum={n}, but only {n_args} positional inputs")
    return n % n_args


def select(args: tuple, argnums: Argnums) -> Any:
    """The arguments at these numbers: one, or a tuple."""
    return args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in argnums)


def replace(args: tuple, argnums: Argnums, replacements: Any) -> tuple:
    """The arguments with replacements at these numbers.

    Args:
        args: the positional arguments of a function.
        argnums: the numbers of the arguments to replace.
        replacements: the new argument, or a tuple with one for each number.
    """
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    values = (replacements,) if isinstance(argnums, int) else replacements
    changed = list(args)
    for n, value in zip(numbers, values, strict=True):
        changed[n] = value
    return tuple(changed)
