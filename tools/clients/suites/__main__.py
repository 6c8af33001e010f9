"""`python -m tools.clients.suites [NAME ...]`: runs the libraries' own tests on tl, as a share of what torch passes.

`--peer-python PYTHON` runs them on torch first, in an interpreter that has it, and keeps in the cache which tests pass.
Without it, and without a cache, the numbers of passes by file that stand in passed.json are what must be reached;
`--record` writes them. `--page` writes the guide's table.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.clients.__main__ import replace_table
from tools.clients.suites.run import Ending, endings, run
from tools.clients.suites.sources import bring
from tools.clients.suites.table import SUITES

FENCES = "<!-- written by `nox -s client-suites -- --page` -->\n", "<!-- end of suites -->\n"
PASSED = Path(__file__).parent / "passed.json"
NEEDED = 0.92


@dataclass(frozen=True)
class Share:
    """What tl passes of what torch passes."""

    name: str
    passed: int
    of: int
    failures: tuple[tuple[str, int], ...]  # the commonest messages

    @property
    def share(self) -> float:
        """Between 0 and 1; 0 where torch passes nothing."""
        return self.passed / self.of if self.of else 0.0

    def __str__(self) -> str:
        return f"{self.name:20} {self.passed:6} / {self.of:6}  {100 * self.share:5.1f} %"


def passes(found: Mapping[str, Ending]) -> set[str]:
    """The tests that pass."""
    return {name for name, ending in found.items() if ending.outcome == "passed"}


def by_file(names: set[str]) -> dict[str, int]:
    """How many tests of each file."""
    return dict(sorted(Counter(name.partition("::")[0] for name in names).items()))


def compare(name: str, found: Mapping[str, Ending], peer: Mapping[str, Ending] | None) -> Share:
    """Holds tl's passes against torch's: test by test where they are known, else file by file."""
    own = passes(found)
    if peer:
        wanted = passes(peer)
        good, of = len(own & wanted), len(wanted)
    else:
        wanted = set()
        counts = json.loads(PASSED.read_text()).get(name, {})  # a share of 0 where torch's are not known
        ours = by_file(own)
        good, of = sum(min(count, ours.get(file, 0)) for file, count in counts.items()), sum(counts.values())
    messages = Counter(
        ending.message or ending.outcome
        for test, ending in found.items()
        if test not in own and (test in wanted or ending.outcome not in ("skipped", "expected"))
    )
    return Share(name, good, of, tuple(messages.most_common(5)))


def record(name: str, peer: Mapping[str, Ending]) -> None:
    """Writes how many tests of each file torch passes."""
    recorded = json.loads(PASSED.read_text()) | {name: by_file(passes(peer))}
    PASSED.write_text(json.dumps(dict(sorted(recorded.items())), indent=1) + "\n")


def measure(name: str, given: argparse.Namespace) -> Share:
    """Runs a suite and prints what came of it."""
    suite, cache = SUITES[name], given.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    folder = bring(name, suite, cache, given.source)
    lines = cache / f"{name}-{suite.ref}.torch"
    if given.peer_python:
        run(suite, folder, lines, given.peer_python, peer=True)
    peer = endings(lines)
    if peer and given.record:
        record(name, peer)
    found = run(suite, folder, cache / f"{name}-{suite.ref}.tl", given.python, peer=False)
    share = compare(name, found, peer)
    print(share, flush=True)
    for message, count in share.failures:
        print(f"    {count:5} × {message[:150]}", flush=True)
    return share


def write_page(shares: list[Share]) -> None:
    """Writes the guide's table of suites."""
    rows = ["| library | tests of | passed | of torch's | share |\n|---|---|---|---|---|\n"]
    for one in shares:
        suite = SUITES[one.name]
        version = suite.alone[0].partition("==")[2]
        part = f", 1 of {suite.sample} tests" if suite.sample > 1 else ""
        rows.append(f"| {one.name} | {version}{part} | {one.passed} | {one.of} | {100 * one.share:.1f} % |\n")
    replace_table(FENCES, "".join(rows))


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tools.clients.suites", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="libraries (all)")
    parser.add_argument(
        "--python", default=sys.executable, help="the interpreter that has tl and the libraries"
    )
    parser.add_argument("--peer-python", help="an interpreter that has torch and the libraries")
    parser.add_argument("--source", type=Path, help="a folder of checkouts by name, instead of GitHub")
    parser.add_argument(
        "--cache", type=Path, default=Path(".nox/suites"), help="for what is fetched and found"
    )
    parser.add_argument("--record", action="store_true", help="write how much torch passes")
    parser.add_argument("--page", action="store_true", help="write the guide's table")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in SUITES]
    if unknown:
        parser.error(f"no suite {', '.join(unknown)}; there are {', '.join(SUITES)}")
    shares = [measure(name, given) for name in given.names or SUITES]
    if given.page:
        write_page(shares)
    sys.exit(any(share.share < NEEDED for share in shares))


if __name__ == "__main__":
    main()
