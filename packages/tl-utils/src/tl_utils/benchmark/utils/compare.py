"""Tables of measurements."""

from __future__ import annotations

import enum
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tl_utils.benchmark.utils import common
from tl_utils.benchmark.utils.common import Measurement

__all__ = ["Colorize", "Compare"]

_RESET = "\033[0m\033[0m"
_BEST, _GOOD = "\033[92m\033[1m", "\033[34m\033[1m"
_BAD, _VERY_BAD = "\033[2m\033[91m", "\033[31m\033[1m"
_BETWEEN = "  |  "


class Colorize(enum.Enum):
    """Among which measurements of a table the best is coloured.

    Example:
        >>> Colorize.ROWWISE.name
        'ROWWISE'
    """

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _color(cell: str, time: float, best: float) -> str:
    if time <= best * 1.01 or time <= best + 100e-9:
        return f"{_BEST}{cell}{_RESET}"
    if time <= best * 1.1:
        return f"{_GOOD}{cell}{_RESET}"
    if time >= best * 5:
        return f"{_VERY_BAD}{cell}{_RESET}"
    return f"{_BAD}{cell}{_RESET}" if time >= best * 2 else cell


@dataclass
class _Style:
    """The color scheme of a table."""

    colorize: Colorize = Colorize.NONE
    trimmed: bool = False
    warnings: bool = False


class _Column:
    """The cells of one column, with one number of decimals."""

    def __init__(self, header: str, cells: Sequence[Measurement | None], scale: float, style: _Style) -> None:
        self.header, self.cells, self._scale, self._style = header, cells, scale, style
        there = [m for m in cells if m is not None]
        leading = [math.ceil(math.log10(m.median / scale)) for m in there]
        self._decimals = 1
        if style.trimmed:
            figures = zip(there, leading, strict=True)
            self._decimals = min((max(m.significant_figures - n, 0) for m, n in figures), default=1)
        length = max(leading, default=1) + self._decimals + bool(self._decimals)
        self.texts = [self._text(m, length) for m in cells]
        self.width = max(len(header), *map(len, self.texts)) if self.texts else len(header)
        self.best = min((m.median for m in there), default=None)

    def _text(self, m: Measurement | None, length: int) -> str:
        if m is None:
            return ""
        time = m.median / self._scale
        if self._style.trimmed:
            time = common.trim_sigfig(time, m.significant_figures)
        text = f"{time:>{length}.{self._decimals}f}"
        if not self._style.warnings:
            return text
        spread = f" (! {m.iqr / m.median * 100:.0f}%)" if m.has_warnings else ""
        return text + spread.rjust(9)


_Key = tuple[int, "str | None", str]


class _Table:
    """Measurements of one label: rows by threads, environment and name, columns by description."""

    def __init__(self, results: list[Measurement], style: _Style) -> None:
        if len({m.label for m in results}) != 1:
            raise ValueError("Compare: the measurements of a table must have one label")
        self._style, self._label = style, results[0].label
        self._unit, scale = common.select_unit(min(m.median for m in results))
        self._rows: list[_Key] = common.ordered_unique(map(self._row_key, results))
        self._rows.sort(key=lambda key: key[0])
        headers = common.ordered_unique(m.description for m in results)
        cells = {(self._row_key(m), m.description): m for m in results}
        self._columns = [
            _Column(header or "", [cells.get((row, header)) for row in self._rows], scale, style)
            for header in headers
        ]
        envs = [env for _, env, _ in self._rows]
        self._env_width = max(len(str(env or "")) for env in envs) if len({*envs}) > 1 else 0
        self._with_env = len({*envs}) > 1

    @staticmethod
    def _row_key(m: Measurement) -> _Key:
        return m.num_threads, m.task_spec.env, m.as_row_name

    def _name(self, key: _Key) -> str:
        env = f"({key[1] or ''})" if self._with_env else ""
        return f"  {env.ljust(self._env_width + 4)}{key[2]}"

    def _cells(self, row: int) -> list[str]:
        cells = [column.texts[row].center(column.width) for column in self._columns]
        if self._style.colorize is Colorize.NONE:
            return cells
        times = [None if m is None else m.median for m in (column.cells[row] for column in self._columns)]
        best = min(t for t in times if t is not None)
        rowwise = self._style.colorize is Colorize.ROWWISE
        bests = [best if rowwise else column.best for column in self._columns]
        return [
            cell if time is None or top is None else _color(cell, time, top)
            for cell, time, top in zip(cells, times, bests, strict=True)
        ]

    def render(self) -> str:
        names = [self._name(key) for key in self._rows]
        width = max(map(len, names))
        head = _BETWEEN.join([" " * width, *(c.header.center(c.width) for c in self._columns)])
        label = f" {self._label or ''} "
        lines = [f"[{label.center(len(head) - 2, '-')}]", head]
        for threads, group in groupby(range(len(names)), key=lambda row: self._rows[row][0]):
            lines.append(f"{threads} threads: ".ljust(len(head), "-"))
            lines += [_BETWEEN.join([names[row].ljust(width), *self._cells(row)]) for row in group]
        warned = any(m is not None and m.has_warnings for c in self._columns for m in c.cells)
        note = f"\nTimes are in {common.unit_to_english(self._unit)}s ({self._unit})."
        if warned and self._style.warnings:
            note += "\n(! XX%): the interquartile range is XX% of the median, so the time is uncertain."
        return "\n".join([*lines, note])


class Compare:
    """A table of measurements: a block a label, a row a sub-label, a column a description.

    Args:
        results: the measurements. Measurements of one task are merged.

    Raises:
        ValueError: one of them is something else.

    Example:
        >>> from tl_utils.benchmark import Measurement, TaskSpec
        >>> def measured(name, size, time):
        ...     return Measurement(1, [time], TaskSpec(name, "pass", label="sum", sub_label=name, description=size))
        >>> print(Compare([measured("fast", "10", 1e-6), measured("slow", "10", 3e-6)]))
        [----- sum ------]
                    |   10
        1 threads: -------
              fast  |  1.0
              slow  |  3.0
        <BLANKLINE>
        Times are in microseconds (us).
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._style = _Style()
        self.extend_results(results)

    def __str__(self) -> str:
        return "\n".join(self._render())

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Adds measurements.

        Raises:
            ValueError: one of them is something else.
        """
        added = list(results)
        for m in added:
            if not isinstance(m, Measurement):
                raise ValueError(f"Compare: expected Measurements, got {type(m).__name__}")
        self._results += added

    def trim_significant_figures(self) -> None:
        """Shows only figures that mean something."""
        self._style.trimmed = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colours good and bad times, each compared with the best of its column, or of its row if `rowwise`."""
        self._style.colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Marks times that are spread too widely to be trusted."""
        self._style.warnings = True

    def print(self) -> None:
        """Prints the table."""
        print(str(self))

    def _render(self) -> list[str]:
        groups: defaultdict[Any, list[Measurement]] = defaultdict(list)
        for m in Measurement.merge(self._results):
            groups[m.label].append(m)
        return [_Table(results, self._style).render() for results in groups.values()]
