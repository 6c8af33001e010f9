"""`python -m tools.figures FILE.json`: writes what `nox -s bench -- --json FILE.json` measured into README.md."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tools.bench import cases
from tools.bench.report import geometric_mean
from tools.packages import ROOT

PLACE = re.compile(r"(<!-- figures -->\n).*?(<!-- /figures -->)", re.DOTALL)


def line(what: str, bound: str, measured: str) -> str:
    """A row of the table."""
    return f"| {what} | {bound} | {measured} |"


def calls(rows: list[dict[str, Any]]) -> list[str]:
    """The group of small calls, as its mean and its largest."""
    members = [r for r in rows if r["group"] == cases.CALLS.name and not r["error"]]
    if not members:
        return []
    largest = max(members, key=lambda r: r["ratio"])
    mean = geometric_mean(r["ratio"] for r in members)
    return [
        line(
            f"{len(members)} calls on 1 and 16×16 elements, geometric mean",
            f"≤ {cases.CALLS.mean}",
            f"{mean:.3f}",
        ),
        line(f"the slowest of them ({largest['name']})", f"≤ {cases.CALLS.each}", f"{largest['ratio']:.3f}"),
    ]


def table(result: dict[str, Any]) -> str:
    """The figures as a Markdown table, with a line of how they were measured."""
    about, rows = result["about"], result["cases"]
    lines = [line("what", "asked for", "measured"), "|---|---|---|", *calls(rows)]
    for r in rows:
        if r["group"] != cases.CALLS.name:
            name = r["name"] if r["group"] == r["name"] else f"{r['group']}: {r['name']}"
            lines.append(line(name, f"≤ {r['limit']}", "failed" if r["error"] else f"{r['ratio']:.3f}"))
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
    how = f"{about['processor']}, {about['threads']} thread, {about['peer']}, OPENBLAS_CORETYPE {pinned}."
    return "\n".join([*lines, "", how, ""])


def main() -> None:
    """Writes the table."""
    readme = ROOT / "README.md"
    text = table(json.loads(Path(sys.argv[1]).read_text()))
    readme.write_text(PLACE.sub(lambda m: f"{m[1]}\n{text}\n{m[2]}", readme.read_text()))


if __name__ == "__main__":
    main()
