"""The table of what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tools.bench.cases import Group
from tools.bench.pair import Measured

UNITS = [(1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms"), (1e4, 1.0, "s")]


def quantity(value: float) -> str:
    """Seconds or, from ten thousand on, bytes, in a fitting unit."""
    for limit, factor, unit in UNITS:
        if value < limit:
            return f"{value * factor:.1f} {unit}"
    return f"{value / 1e6:.1f} MB"


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean; of nothing: nan."""
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def verdict(met: bool) -> str:
    """A word for the last column."""
    return "met" if met else "NOT MET"


def row(m: Measured) -> str:
    """A line of the table."""
    if m.error:
        return f"  {m.name:44} {m.error}  {verdict(False)}"
    bound = f"<= {m.limit:.2f}  {verdict(m.met)}" if m.limit is not None else ""
    share = "" if m.share is None else f"{m.share:.2f}"
    return f"  {m.name:44} {quantity(m.ours):>10} {quantity(m.peers):>10} {m.ratio:8.3f} {share:>6}  {bound}"


def mean_row(group: Group, measured: list[Measured]) -> tuple[str, bool]:
    """The line of a group's geometric mean, and whether it is met."""
    mean = geometric_mean(m.ratio for m in measured if not m.error)
    complete = not any(m.error for m in measured)
    met = group.mean is None or (complete and mean <= group.mean)
    bound = f"<= {group.mean:.2f}  {verdict(met)}" if group.mean is not None else ""
    return f"  {'geometric mean':44} {'':10} {'':10} {mean:8.3f} {'':6}  {bound}", met


def plain(name: str, value: str, bound: str, met: bool) -> str:
    """A line for a figure without a peer."""
    return f"  {name:44} {value:>10} {'':10} {'':8} {'':6}  <= {bound}  {verdict(met)}"


def share(name: str, value: float, least: float) -> str:
    """A line for a share that has to be reached."""
    return f"  {name:44} {'':10} {'':10} {value:8.3f} {'':6}  >= {least:.2f}  {verdict(value >= least)}"
