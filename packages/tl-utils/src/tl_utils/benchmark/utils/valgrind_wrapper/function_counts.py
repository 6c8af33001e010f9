"""Instructions by function."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, overload

from tl_core.tensors import printing

__all__ = ["FunctionCount", "FunctionCounts"]

_MOST_ROWS = 18

# Looking up names in dictionaries: how many probes that takes depends on addresses.
_NOISY = re.compile(
    r"dictobject\.c:(lookdict_unicode|lookdict_unicode_nodummy|unicodekeys_lookup_unicode|unicodekeys_lookup_generic|"
    r"_Py_dict_lookup|dictkeys_stringlookup)"
)


class FunctionCount(NamedTuple):
    """The instructions of one function.

    Example:
        >>> FunctionCount(1200, "add")
        FunctionCount(count=1200, function='add')
    """

    count: int  # type: ignore[assignment]  # hides the method of tuples, as the API has it
    function: str


@dataclass(repr=False, eq=False, frozen=True)
class FunctionCounts:
    """Instructions by function, largest first. You can add, subtract, filter and rename them.

    Args:
        _data: the counts by function.
        inclusive: whether they include functions that are called.
        truncate_rows: whether long lists are shown in part.
        _linewidth: characters a line, by default the line width of printed tensors.

    Example:
        >>> counts = FunctionCounts((FunctionCount(30, "a.c:f"), FunctionCount(10, "b.c:g")), inclusive=False)
        >>> counts.filter(lambda name: name.startswith("a")).sum()
        30
    """

    _data: tuple[FunctionCount, ...]
    inclusive: bool
    truncate_rows: bool = True
    _linewidth: int | None = None

    def __iter__(self) -> Iterator[FunctionCount]:
        yield from self._data

    def __len__(self) -> int:
        return len(self._data)

    @overload
    def __getitem__(self, item: int) -> FunctionCount: ...

    @overload
    def __getitem__(self, item: slice) -> FunctionCounts: ...

    def __getitem__(self, item: int | slice) -> FunctionCount | FunctionCounts:
        if isinstance(item, slice):
            return FunctionCounts(self._data[item], self.inclusive, truncate_rows=False)
        return self._data[item]

    def __add__(self, other: FunctionCounts) -> FunctionCounts:
        return self._merge(other, 1)

    def __sub__(self, other: FunctionCounts) -> FunctionCounts:
        return self._merge(other, -1)

    def __mul__(self, other: int | float) -> FunctionCounts:
        return self._from_dict({fn: int(count * other) for count, fn in self._data}, self.inclusive)

    def transform(self, map_fn: Callable[[str], str]) -> FunctionCounts:
        """Renames the functions. Counts of functions with one new name are added.

        Args:
            map_fn: gives the new name of a function.
        """
        counts: Counter[str] = Counter()
        for count, function in self._data:
            counts[map_fn(function)] += count
        return self._from_dict(counts, self.inclusive)

    def filter(self, filter_fn: Callable[[str], bool]) -> FunctionCounts:
        """Keeps some functions.

        Args:
            filter_fn: a predicate of the name: whether the function stays.
        """
        return FunctionCounts(tuple(c for c in self._data if filter_fn(c.function)), self.inclusive)

    def sum(self) -> int:
        """All instructions together."""
        return sum(count for count, _ in self._data)

    def denoise(self) -> FunctionCounts:
        """Removes functions that vary from run to run: the interpreter's look-ups of names."""
        return self.filter(lambda function: _NOISY.search(function) is None)

    def _merge(self, other: FunctionCounts, sign: int) -> FunctionCounts:
        if self.inclusive != other.inclusive:
            raise ValueError("FunctionCounts: inclusive and exclusive counts can't be added or subtracted")
        counts: Counter[str] = Counter()
        for one, factor in ((self, 1), (other, sign)):
            for count, function in one:
                counts[function] += factor * count
        return self._from_dict(counts, self.inclusive)

    @staticmethod
    def _from_dict(counts: dict[str, int], inclusive: bool) -> FunctionCounts:
        entries = (FunctionCount(count, function) for function, count in counts.items() if count)
        return FunctionCounts(tuple(sorted(entries, reverse=True)), inclusive)

    def __repr__(self) -> str:
        width = max((len(str(count)) + (count < 0) for count, _ in self._data), default=0)
        room = max((self._linewidth or printing.PRINT_OPTS.linewidth) - width - 4, 40)
        lines = [f"  {count:>{width}}  {_shorten(function, room)}" for count, function in self._data]
        if self.truncate_rows and len(lines) > _MOST_ROWS:
            half = _MOST_ROWS // 2
            lines = [*lines[:half], "...".rjust(width + 2), *lines[-half:]]
        head = "<torch.utils.benchmark.utils.valgrind_wrapper.timer_interface.FunctionCounts object at"
        total = [] if self.inclusive else ["", f"Total: {self.sum()}"]
        return "\n".join([f"{head} {id(self):#x}>", *lines, *total])


def _shorten(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    left = (room - 5) // 2
    return f"{text[:left]} ... {text[-(room - left - 5) :]}"
