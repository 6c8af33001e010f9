"""Whether the calls of a function repeat each other, so that one is worth a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._C import operator_sums

__all__ = ["Repetition"]

_EQUAL = 3  # calls in a row
_MOST_WATCHED = 64  # calls; a function that does not repeat itself by then is not watched any more
_LARGE = 1 << 14  # elements of a result, on average: beyond, Python takes a small part of the time
_MASK = (1 << 64) - 1


class Repetition:
    """Counts the calls in a row that call the same operators, with results of the same sizes.

    It depends on operators and sizes alone, never on the time that a call takes.
    """

    def __init__(self) -> None:
        self._last: tuple[int, ...] | None = None
        self._equal = self._watched = 0
        self.ends = False

    @property
    def is_due(self) -> bool:
        """Whether the next call is to be recorded."""
        return self._equal >= _EQUAL

    def begin_again(self) -> None:
        """Forgets the calls so far, since the next one is recorded."""
        self._last, self._equal = None, 0

    def run(self, call: Callable[[], Any]) -> Any:
        """Runs a call and compares it with the one before.

        Args:
            call: calls the function in a region.
        """
        before = operator_sums()
        result = call()
        self._note(tuple((b - a) & _MASK for a, b in zip(before, operator_sums(), strict=True)))
        return result

    def _note(self, sums: tuple[int, ...]) -> None:
        calls, _, elements, _ = sums
        self._equal = self._equal + 1 if sums == self._last else 1
        self._last = sums
        self._watched += 1
        is_small = calls > 0 and elements <= calls * _LARGE
        if self._watched >= _MOST_WATCHED or (self.is_due and not is_small):
            self.ends = True
