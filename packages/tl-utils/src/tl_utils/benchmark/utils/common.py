"""Specifications of tasks, and measurements."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tl_core

__all__ = [
    "Measurement",
    "TaskSpec",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "trim_sigfig",
    "unit_to_english",
]

_MOST_FIGURES = 4
_LEAST_INTERVAL = 25e-9  # seconds: the uncertainty of clocks and caches
_NORMAL_95 = 1.645  # quantile of the normal distribution
_WIDE, _VERY_WIDE = 0.1, 0.25  # interquartile range over median
_UNITS = (
    ("ns", 1e-9, "nanosecond"),
    ("us", 1e-6, "microsecond"),
    ("ms", 1e-3, "millisecond"),
    ("s", 1.0, "second"),
)


@dataclass(frozen=True)
class TaskSpec:
    """The specification of a measurement: a statement with its setup, and its labels in tables.

    Args:
        stmt: the statement to measure.
        setup: the code that runs once before the statement.
        global_setup: the code at the top of the file of a C++ statement.
        label: the task's name, such as `matmul`.
        sub_label: the name of the task among tasks of one label, which is a row of a table.
        description: the name of a variant of the task, which is a column of a table.
        env: where it ran, such as a branch.
        num_threads: how many threads it may use.

    Example:
        >>> TaskSpec("x + y", "x = y = 1", label="add", sub_label="int").title
        'add: int'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The heading of its reports: the label, or the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The setup as reports show it, or an empty text."""
        if not self.setup or self.setup == "pass":
            return ""
        return (
            f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"
        )

    def summarize(self) -> str:
        """Title, description and setup. An empty line follows a part of several lines."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "".join(f"{part}\n\n" if "\n" in part else f"{part}\n" for part in parts if part).removesuffix(
            "\n"
        )


_TASK_ATTRIBUTES = ("stmt", "setup", "label", "sub_label", "description", "env", "num_threads")


def _quantile(ordered: list[float], fraction: float) -> float:
    """A quantile by linear interpolation, `ordered` being sorted."""
    position = (len(ordered) - 1) * fraction
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    share = position - below
    difference = ordered[above] - ordered[below]
    # from the nearer end, so that rounding does not depend on the side
    return ordered[above] - difference * (1 - share) if share >= 0.5 else ordered[below] + difference * share


@dataclass(repr=False)
class Measurement:
    """The times of a task, measured once or several times.

    Args:
        number_per_run: how often the statement ran each time.
        raw_times: how long it took each time, in seconds.
        task_spec: the specification of the task.
        metadata: any data of the caller.

    Example:
        >>> m = Measurement(10, [1.0e-5, 1.02e-5, 1.04e-5, 1.06e-5], TaskSpec("x + y", "pass"))
        >>> print(str(m).partition("\\n")[2])
        x + y
          Median: 1.03 us
          IQR:    0.03 us (1.02 to 1.04)
          4 measurements, 10 runs per measurement, 1 thread
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None
    _cached: tuple[int, list[float]] | None = field(default=None, init=False, repr=False, compare=False)

    def __getattr__(self, name: str) -> Any:
        if name in _TASK_ATTRIBUTES:
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    @property
    def times(self) -> list[float]:
        """Seconds a run of the statement, in the order of measuring."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def _sorted(self) -> list[float]:
        if self._cached is None or self._cached[0] != len(self.raw_times):
            self._cached = len(self.raw_times), sorted(self.times)
        if not self._cached[1]:
            raise ValueError("Measurement: there is no measured time (raw_times is empty)")
        return self._cached[1]

    @property
    def median(self) -> float:
        """The median of `times`."""
        return _quantile(self._sorted, 0.5)

    @property
    def mean(self) -> float:
        """The mean of `times`."""
        return math.fsum(self._sorted) / len(self._sorted)

    @property
    def iqr(self) -> float:
        """The interquartile range of `times`: the width of the half in the middle."""
        return _quantile(self._sorted, 0.75) - _quantile(self._sorted, 0.25)

    @property
    def significant_figures(self) -> int:
        """The number of significant figures of the median, 1 to 4.

        The confidence interval of the mean of the times between the quartiles decides, at 95 % on one side and as for
        a normal distribution, and at least 25 ns.
        """
        n = len(self._sorted)
        middle = self._sorted[n // 4 : math.ceil(3 * n / 4)]
        mean = math.fsum(middle) / len(middle)
        deviation = math.sqrt(math.fsum((t - mean) ** 2 for t in middle) / len(middle))
        interval = max(_NORMAL_95 * deviation / math.sqrt(len(middle)), _LEAST_INTERVAL)
        return min(max(math.floor(math.log10(self.median / interval)), 1), _MOST_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times are spread too widely to be trusted."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = _WIDE) -> bool:
        """Whether the interquartile range is less than `threshold` of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """The title of the task."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """The environment of the measurement, or an empty text."""
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        """The name of its row in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merges the measurements of each task. Times become times of a single run, and metadata is dropped.

        Args:
            measurements: measurements of one or several tasks.

        Returns:
            list of Measurement, one a task.

        Example:
            >>> task = TaskSpec("x + y", "pass")
            >>> (both,) = Measurement.merge([Measurement(10, [1e-5], task), Measurement(100, [1e-4], task)])
            >>> both.number_per_run, len(both.times)
            (1, 2)
        """
        groups: defaultdict[TaskSpec, list[float]] = defaultdict(list)
        for one in measurements:
            groups[one.task_spec] += one.times
        return [Measurement(1, times, task) for task, times in groups.items()]

    def _spread(self) -> list[str]:
        if self.meets_confidence():
            return []
        share = f"{self.iqr / self.median * 100:.1f}"
        wide = "much too wide" if not self.meets_confidence(_VERY_WIDE) else "wide"
        return [
            f"WARNING: the interquartile range is {share}% of the median, which is {wide}: other work may disturb."
        ]

    def __repr__(self) -> str:
        n = len(self.raw_times)
        unit, scale = select_unit(self.median)
        lines = [f"{'Median: ' if n > 1 else ''}{self.median / scale:.2f} {unit}"]
        if n >= _MOST_FIGURES:
            low, high = (_quantile(self._sorted, q) / scale for q in (0.25, 0.75))
            lines.append(f"IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        per = " per measurement" if n > 1 else ""
        lines.append(f"{n} measurement{'s' if n > 1 else ''}, {self.number_per_run} runs{per}, {threads}")
        head = f"<torch.utils.benchmark.utils.common.Measurement object at {id(self):#x}>"
        return "\n".join(
            [head, self.task_spec.summarize(), *(f"  {line}" for line in [*lines, *self._spread()])]
        )


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time reads best, and how many seconds it has.

    Example:
        >>> select_unit(3e-5)
        ('us', 1e-06)
    """
    for unit, scale, _ in reversed(_UNITS):
        if t >= scale:
            return unit, scale
    return _UNITS[0][:2]


def unit_to_english(u: str) -> str:
    """The name of a unit.

    Raises:
        KeyError: the unit is not one of ns, us, ms, s.

    Example:
        >>> unit_to_english("us")
        'microsecond'
    """
    return {unit: name for unit, _, name in _UNITS}[u]


def trim_sigfig(x: float, n: int) -> float:
    """Rounds to `n` significant figures.

    Example:
        >>> trim_sigfig(4174.4, 2)
        4200.0
    """
    if n != int(n) or n < 1:
        raise ValueError(f"trim_sigfig: n must be a positive integer, got {n}")
    if x == 0 or not math.isfinite(x):
        return float(x)
    scale = 10 ** (math.ceil(math.log10(abs(x))) - int(n))
    return float(round(x / scale) * scale)


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """The different elements, each where it came first.

    Example:
        >>> ordered_unique("abca")
        ['a', 'b', 'c']
    """
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Inside, operators use `n` threads.

    Example:
        >>> with set_torch_threads(1):
        ...     tl_core.get_num_threads()
        1
    """
    before = tl_core.get_num_threads()
    try:
        tl_core.set_num_threads(n)
        yield
    finally:
        tl_core.set_num_threads(before)
