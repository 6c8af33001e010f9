"""Counts of the events of `compile`, by group and name."""

from __future__ import annotations

import collections

__all__ = ["counters"]

counters: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(
    collections.Counter
)
