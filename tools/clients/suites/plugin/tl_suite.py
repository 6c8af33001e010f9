"""A plug-in of pytest that writes how each test ends as soon as it does.

TL_SUITE_RECORD names the file; tests that it already has are not run again. TL_SUITE_SECONDS is the limit of a test, in
seconds of the processor, as the machine may have other things to do. TL_SUITE_SAMPLE = n runs one of n tests, which a
checksum of its name chooses, so that every run has the same tests.
"""

from __future__ import annotations

import json
import os
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

RECORD = Path(os.environ["TL_SUITE_RECORD"])
SECONDS = int(os.environ["TL_SUITE_SECONDS"])
SAMPLE = int(os.environ.get("TL_SUITE_SAMPLE", "1"))


def write(**line: Any) -> None:
    """Adds a line to the record."""
    with RECORD.open("a") as file:
        file.write(json.dumps(line) + "\n")


def message(report: Any) -> str:
    """The error in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(crash.message if crash else report.longrepr or "").strip().splitlines() or [""]
    return (lines[0] if crash else lines[-1])[:300]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what an earlier process has run, and what isn't in the sample."""
    known = {json.loads(line)["id"] for line in RECORD.open()} if RECORD.exists() else set()

    def runs(item: pytest.Item) -> bool:
        return item.nodeid not in known and zlib.crc32(item.nodeid.encode()) % SAMPLE == 0

    config.hook.pytest_deselected(items=[item for item in items if not runs(item)])
    items[:] = [item for item in items if runs(item)]


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Records a file that can't be imported."""
    if report.failed:
        write(id=report.nodeid, outcome="uncollected", message=message(report))


def pytest_runtest_logstart(nodeid: str) -> None:
    """Records that a test begins: it is the one that ended the process, if nothing more is written of it."""
    write(id=nodeid, outcome="begun", message="")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Ends a test that takes too long."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not done after {SECONDS} s of the processor")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Records how a test ended; what goes wrong after it counts, too."""
    if report.when == "call" or report.outcome != "passed":
        outcome = "expected" if hasattr(report, "wasxfail") else report.outcome
        write(id=report.nodeid, outcome=outcome, message=message(report))
