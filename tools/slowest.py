"""`python -m tools.slowest [N]`: the translation units that took longest, from the logs of the last builds."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.packages import ROOT

CEILING = 25.0  # seconds


def times(log: Path) -> dict[str, float]:
    """Seconds of each object file, from a .ninja_log."""
    found: dict[str, float] = {}
    for line in log.read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if output.endswith(".o"):
            found[output] = (int(end) - int(start)) / 1000
    return found


def slowest(root: Path, count: int) -> list[tuple[float, str]]:
    """The `count` slowest object files of all packages, slowest first."""
    found = []
    for log in root.glob("packages/*/build/*/.ninja_log"):
        if log.parent.name.startswith("cp"):
            package = log.parent.parent.parent.name
            found += [(seconds, f"{package}: {output}") for output, seconds in times(log).items()]
    return sorted(found, reverse=True)[:count]


def main() -> None:
    """Prints them, and marks those above the ceiling."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(
        f"the {count} slowest translation units (wall-clock seconds, all cores busy; aim: under {CEILING:.0f})"
    )
    for seconds, name in slowest(ROOT, count):
        print(f"{seconds:7.1f}  {name}{'  <- split it' if seconds > CEILING else ''}")


if __name__ == "__main__":
    main()
