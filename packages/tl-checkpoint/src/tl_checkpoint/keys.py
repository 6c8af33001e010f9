"""Check of keys of dicts and elements of sets in a file that is read as data.

Hashing and comparing is the only work that a pickle can ask for by the shape of its objects alone: tuples that hold
each other twice cost 2^n steps, deep ones the stack, and whole numbers can be chosen so that all have one hash.
"""

from __future__ import annotations

import pickle
from typing import Any

from .globals import RefusedGlobal
from .inert import Inert
from .unfinished import Unfinished

__all__ = ["check_key", "check_keys"]

_MOST_PARTS = 10_000
_LARGEST = 1 << 60  # smaller numbers are their own hash
_NEVER = (slice, range, Inert, RefusedGlobal, Unfinished)


def check_key(key: Any) -> None:
    """Raises UnpicklingError if the key can't be one, or could be made so that hashing it takes long."""
    waiting, count = [key], 0
    while waiting:
        part = waiting.pop()
        count += 1
        if isinstance(part, (tuple, frozenset)):
            waiting.extend(part if len(part) <= _MOST_PARTS else ())
            count += len(part)
        elif type(part) is int and not -_LARGEST < part < _LARGEST:
            raise pickle.UnpicklingError("the pickle has a key that is too large a number")
        elif isinstance(part, _NEVER) or type(part).__hash__ is None:
            raise pickle.UnpicklingError(f"the pickle has a key that can't be one: {type(part).__name__!r}")
        if count > _MOST_PARTS:
            raise pickle.UnpicklingError("the pickle has a key of too many parts")


def check_keys(values: Any) -> None:
    """`check_key` of each."""
    for value in values:
        check_key(value)
