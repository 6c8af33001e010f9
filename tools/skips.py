"""`python -m tools.skips REPORT SESSION`: the skipped tests of a JUnit report, by reason, against `skips.toml`."""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

BUDGETS = Path(__file__).with_suffix(".toml")


def reasons(report: Path) -> Counter[str]:
    """The number of skipped tests by reason; expected failures don't count.

    Args:
        report: the file of `pytest --junitxml`.
    """
    elements = ElementTree.parse(report).iter("skipped")
    return Counter(e.get("message", "") for e in elements if e.get("type") == "pytest.skip")


def verdict(counts: Counter[str], budget: int) -> tuple[str, bool]:
    """The text of a report and whether it is within its budget.

    Args:
        counts: the number of skipped tests by reason.
        budget: the most tests that may be skipped.
    """
    lines = [f"{number:5} {reason}" for reason, number in counts.most_common()]
    within = counts.total() <= budget
    comparison = "at most" if within else "more than the"
    return "\n".join(
        [*lines, f"{counts.total()} tests were skipped: {comparison} {budget} of skips.toml"]
    ), within


def main() -> int:
    """Prints the reasons; the exit status is 1 where a session skips more tests than its budget."""
    report, session = sys.argv[1:]
    text, within = verdict(reasons(Path(report)), tomllib.loads(BUDGETS.read_text())[session])
    print(text)
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
