"""A plug-in of pytest: tests that `import torch` get tl and the stand-in, each has a limit of time.

`TL_PEER_RESULTS` names the file to which the plug-in appends the identity of each test that starts, and its outcome.
`TL_PEER_DONE` names a file of identities that are passed over.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

SECONDS = int(os.environ.get("TL_PEER_SECONDS", "60"))  # a test; sanitizers take some ten times as long


def pytest_configure(config: Any) -> None:
    """Makes the aliases before a test file is imported."""
    import tl.torch
    from tools.peer_tests.stand_in import Finder

    sys.meta_path.insert(0, Finder())
    tl.torch.install()


def write(*fields: str) -> None:
    """Appends a line to the results, at once: the next test may end the process."""
    with open(os.environ["TL_PEER_RESULTS"], "a") as results:
        results.write(json.dumps(fields) + "\n")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Leaves the tests that have not run."""
    done = set(json.loads(Path(os.environ["TL_PEER_DONE"]).read_text()))
    items[:] = [item for item in items if item.nodeid not in done]


def pytest_runtest_logstart(nodeid: str) -> None:
    """Notes a test before it runs."""
    write("start", nodeid)


def stop(*_: object) -> None:
    """Ends a test that takes too long."""
    raise TimeoutError(f"more than {SECONDS} s")


def pytest_runtest_setup(item: Any) -> None:
    """Sets the alarm."""
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)


def pytest_runtest_teardown(item: Any) -> None:
    """Takes the alarm back."""
    signal.alarm(0)


def pytest_runtest_logreport(report: Any) -> None:
    """Notes the outcome of a test."""
    if report.when == "call" or report.outcome != "passed":
        write("end", report.nodeid, report.outcome, _reason(report))


def _reason(report: Any) -> str:
    """The last line of what a test that failed printed."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash else report.longrepr or "")[:1000] if report.failed else ""
