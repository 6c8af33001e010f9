"""Hints for wrong names of parameters: equal names behind a prefix, or the nearest names."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

__all__ = ["key_hints"]

_MOST = 5  # names that are compared with all others


def key_hints(missing: Sequence[str], unexpected: Sequence[str], loaded: int, total: int) -> list[str]:
    """Lines for an error about names.

    Args:
        missing: the names that the module has and the dictionary lacks.
        unexpected: the names that only the dictionary has.
        loaded: the dictionary.
        total: how many names the module has.

    >>> key_hints(["a.weight"], ["module.a.weight"], 0, 1)[-1]
    'Hint: the names in state_dict have "module." in front; remove it from each.'
    """
    lines = [f"Loaded {loaded} of {total} name(s)."]
    prefix = _prefix(missing, unexpected)
    if prefix:
        return [*lines, f'Hint: the names in state_dict have "{prefix}" in front; remove it from each.']
    prefix = _prefix(unexpected, missing)
    if prefix:
        return [*lines, f'Hint: the names in state_dict lack "{prefix}" in front; add it to each.']
    pairs = [(name, near) for name in missing[:_MOST] if (near := _nearest(name, unexpected))]
    if pairs:
        texts = [f'"{name}" ~ "{near}"' for name, near in pairs]
        lines.append(f"Hint: nearest names: {', '.join(texts)}.")
    return lines


def _prefix(short: Sequence[str], long: Sequence[str]) -> str:
    """The prefix of every short name in the long names, or "" unless all of them have it."""
    if not short or not long:
        return ""
    prefixes = [name.removesuffix(short[0]) for name in long if name.endswith(f".{short[0]}")]
    names = set(long)
    return next((p for p in prefixes if all(p + name in names for name in short)), "")


def _nearest(name: str, names: Sequence[str]) -> str:
    return next(iter(difflib.get_close_matches(name, names, 1, 0.7)), "")
