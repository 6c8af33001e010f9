"""`python -m tools.figures FILE.json...`: writes numbers of `nox -s bench -- --json` into docs/benchmarks.md.

Each run has a table of its own, such as one of one thread and one of two. The chart of README.md follows them.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from tools import charts
from tools.bench import cases, pages, together
from tools.bench.__main__ import groups
from tools.bench.cases import Group
from tools.bench.products import NEAR_PEAK
from tools.bench.report import geometric_mean
from tools.packages import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "static" / "benchmarks.svg"
MARKED = re.compile(r"(<!-- figures -->\n).*?(<!-- /figures -->)", re.DOTALL)


def missed(bound: str, measured: str) -> bool:
    """Whether a measured number lies on the wrong side of a bound like `≤ 0.5`."""
    numbers = [re.search(r"\d+(?:\.\d+)?", text) for text in (bound, measured)]
    if None in numbers:
        return False
    asked, found = (float(n[0]) for n in numbers if n)
    return found > asked if bound.startswith("≤") else bound.startswith("≥") and found < asked


def line(what: str, bound: str, measured: str, share: float | None = None) -> str:
    """A row of the table; a figure that misses its bound is marked."""
    of_limit = "" if share is None else f"{share:.2f}"
    return f"| {what} | {bound} | {measured}{' (missed)' * missed(bound, measured)} | {of_limit} |"


def bound(value: float | None, sign: str = "≤") -> str:
    """A bound, if there is one."""
    return "" if value is None else f"{sign} {value}"


def summary(group: Group, members: list[dict[str, Any]]) -> list[str]:
    """A group's geometric mean and its slowest case."""
    failed = sum(bool(r["error"]) for r in members)
    done = [r for r in members if not r["error"]]
    slowest = max(done, key=lambda r: r["ratio"])
    mean = f"{geometric_mean(r['ratio'] for r in done):.3f}" + (f", {failed} failed" if failed else "")
    return [
        line(
            f"{group.name}: geometric mean of {len(members)} cases", bound(group.mean), mean, mean_share(done)
        ),
        line(
            f"{group.name}: the slowest ({slowest['name']})",
            bound(slowest["limit"]),
            f"{slowest['ratio']:.3f}",
            slowest.get("share"),
        ),
    ]


def mean_share(members: list[dict[str, Any]]) -> float | None:
    """The geometric mean of the shares of the machine's limit, of the cases that have one."""
    shares = [r["share"] for r in members if r.get("share") is not None]
    return geometric_mean(shares) if shares else None


def one_by_one(members: list[dict[str, Any]]) -> list[str]:
    """A group's cases, each with its own bound."""
    lines = []
    for r in members:
        name = r["name"] if r["group"] == r["name"] else f"{r['group']}: {r['name']}"
        lines.append(
            line(name, bound(r["limit"]), "failed" if r["error"] else f"{r['ratio']:.3f}", r.get("share"))
        )
    return lines


def measured_groups(rows: list[dict[str, Any]]) -> list[str]:
    """Every group: those with a bound of their mean in short, the others whole."""
    known = {g.name: g for g in groups()}
    members: dict[str, list[dict[str, Any]]] = {}
    for r in rows:
        members.setdefault(r["group"], []).append(r)
    lines = []
    for name, its in members.items():
        group = known.get(name)
        short = group is not None and (group.mean is not None or group.each is not None)
        lines += summary(group, its) if group and short and len(its) > 1 else one_by_one(its)
    if together.all_in(members):
        lines += summary(together.TOGETHER, [r for r in rows if r["group"] in together.NAMES])[:1]
    return lines


def table(result: dict[str, Any]) -> str:
    """The figures as a Markdown table, with a line of how they were measured."""
    about = result["about"]
    lines = [
        "| benchmark | target | tl ÷ PyTorch | of the limit |",
        "|---|---|---|---|",
        *measured_groups(result["cases"]),
    ]
    for dtype in ("float32", "float64"):
        shares = [v for name, v in result["of peak"].items() if dtype in name]
        if shares:
            what = f"products of {dtype}, share of the multiply-add peak, least"
            lines.append(line(what, bound(NEAR_PEAK, "≥"), f"{min(shares):.2f}"))
    for name, limit in (("opens", pages.OPENS), ("slowest action", pages.ANSWERS)):
        if name in result.get("pages", {}):
            what = f"profiler, a page of a million events: {name}"
            lines.append(line(what, f"≤ {limit} s", f"{result['pages'][name]:.2f} s"))
    footprint = result["footprint"]
    if "cold build CPU seconds" in footprint:
        seconds = footprint["cold build CPU seconds"]
        lines.append(
            line("cold build of all packages, CPU", f"≤ {cases.BUILD_CPU:.0f} s", f"{seconds:.0f} s")
        )
    if "installed bytes" in footprint:
        size = footprint["installed bytes"] / 1e6
        lines.append(line("installed size", f"≤ {cases.INSTALLED / 1e6:.0f} MB", f"{size:.1f} MB"))
    pinned = about["OPENBLAS_CORETYPE"]
    threads = f"{about['threads']} thread{'s' * (about['threads'] > 1)}"
    when = f"tl at commit {about['commit'][:12]} on {about['date']}, load {about['load']}"
    how = f"{about['processor']}, {threads}, {about['peer']}, OPENBLAS_CORETYPE {pinned}; {when}."
    return "\n".join([*lines, "", how, ""])


def source() -> str:
    """The tables that the site draws: those of docs/benchmarks.md, or of the JSON file that TL_FIGURES names."""
    file = os.environ.get("TL_FIGURES")
    return table(json.loads(Path(file).read_text())) if file else PAGE.read_text()


def main() -> None:
    """Writes the tables and the chart."""
    text = "\n".join(table(json.loads(Path(file).read_text())) for file in sys.argv[1:])
    PAGE.write_text(MARKED.sub(lambda m: f"{m[1]}\n{text}\n{m[2]}", PAGE.read_text()))
    PICTURE.write_text(charts.picture(text))


if __name__ == "__main__":
    main()
