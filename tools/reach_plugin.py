"""The pytest plugin of `tools.reach`: records which tests reach which probes, in every process of a test run.

`tools.reach` copies this file to the folder of a recording. The number of the current test is in a file that all
processes map, so ranks and workers that outlive a test count for the test that calls them.

Lines of `pairs`: `reach PROBE TEST`, where test 0 stands for imports and collection. Lines of `tests`:
`TEST SECONDS OUTCOME NAME`. The variable TL_REACH_TESTS names a file with the tests to run, in their order, and after
an empty line the other recorded tests. Tests that the recording lacks run first: a change may alter the parameters
that name a test.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
SIZE = 4

_seen: set[tuple[int, int]] = set()
_seconds = 0.0
_outcome = "passed"


def _map() -> mmap.mmap | None:
    if not (FOLDER / "current").exists():
        return None
    with open(FOLDER / "current", "r+b") as file:
        return mmap.mmap(file.fileno(), SIZE)


_current = _map()


def _append(name: str, line: str) -> None:
    file = os.open(FOLDER / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line.encode())
    os.close(file)


def reach(probe: int) -> None:
    """Records that the current test reaches a probe.

    Args:
        probe: the number of the probe.
    """
    pair = probe, int.from_bytes(_current[:SIZE], "little") if _current else 0
    if pair not in _seen:
        _seen.add(pair)
        _append("pairs", f"{pair[0]} {pair[1]}\n")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Keeps the tests of TL_REACH_TESTS, in their order, and those that the recording lacks."""
    path = os.environ.get("TL_REACH_TESTS")
    if path:
        chosen, _, rest = Path(path).read_text().partition("\n\n")
        order = {name: i for i, name in enumerate(chosen.splitlines())}
        others = set(rest.splitlines())
        items[:] = sorted(
            (item for item in items if item.nodeid not in others), key=lambda item: order.get(item.nodeid, -1)
        )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: Any) -> Iterator[Any]:
    """Numbers the current test, and writes its seconds and its outcome."""
    global _seconds, _outcome
    if _current is None:
        return (yield)
    _seconds, _outcome = 0.0, "passed"
    number = int.from_bytes(_current[:SIZE], "little") + 1
    _current[:SIZE] = number.to_bytes(SIZE, "little")
    result = yield
    _append("tests", f"{number} {_seconds:.3f} {_outcome} {item.nodeid}\n")
    return result


def pytest_runtest_logreport(report: Any) -> None:
    """Adds the time of a phase of a test."""
    global _seconds, _outcome
    _seconds += report.duration
    _outcome = "failed" if report.failed else _outcome
