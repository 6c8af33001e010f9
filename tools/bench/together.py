"""The figure that several groups have together: one geometric mean over all of their cases."""

from __future__ import annotations

from collections.abc import Iterable

from tools.bench import cases, elementwise, indexing, reductions
from tools.bench.cases import Group

TOGETHER = Group("elementwise, reductions, norms, copies and indexing together", mean=0.45)
NAMES = frozenset(
    group.name
    for group in (
        cases.NORMS,
        elementwise.FUNCTIONS,
        elementwise.ARITHMETIC,
        elementwise.COPIES,
        reductions.REDUCTIONS,
        reductions.SCANS,
        indexing.INDEXING,
    )
)


def all_in(measured: Iterable[str]) -> bool:
    """Whether each of the groups is among those measured: a part of them has no figure."""
    return set(measured) >= NAMES
