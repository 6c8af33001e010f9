"""The tests of one file, each of which runs once: a test that ends its process does not end the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.packages import ROOT

SILENCE = 150.0  # seconds without a result after which a process is ended


@dataclass
class Outcome:
    """What became of the tests of a file."""

    file: str
    tests: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(
        default_factory=dict
    )  # of tests that failed, where the plug-in writes them
    problem: str = ""  # why tests of the file did not run
    seconds: float = 0.0

    @property
    def dead(self) -> list[str]:
        """The tests that ended their process."""
        return [name for name, outcome in self.tests.items() if outcome == "died"]


class File:
    """The tests of one file, each of which runs once."""

    def __init__(
        self,
        folder: Path,
        file: str,
        limit: float,
        expression: str,
        python: str = sys.executable,
        plugin: str = "tools.peer_tests.plugin",
        variables: Mapping[str, str] | None = None,
    ):
        """Prepares the run.

        Args:
            folder: the folder of all files.
            file: the file, relative to the folder.
            limit: seconds for the file.
            expression: the tests that pytest's -k chooses.
            python: the interpreter.
            plugin: the plug-in of pytest that writes results.
            variables: variables of the environment that the plug-in reads.
        """
        self.folder, self.outcome = folder, Outcome(file)
        self._end = time.monotonic() + limit
        self._expression = expression
        self._python, self._plugin, self._variables = python, plugin, variables or {}

    def run(self) -> Outcome:
        """Runs the tests, in a new process after each that died."""
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            while self._once(Path(scratch)):
                pass
        self.outcome.seconds = time.monotonic() - start
        return self.outcome

    def _once(self, scratch: Path) -> bool:
        """Runs what has not run; whether tests are left."""
        results, done = scratch / "results", scratch / "done"
        results.write_text("")
        done.write_text(json.dumps(list(self.outcome.tests)))
        status = self._wait(self._start(scratch, results, done), results)
        running = self._read(results)
        if status in (0, 1, 5):  # pytest's own: all passed, some failed, none left
            return False
        if running:
            self.outcome.tests[running] = "hung" if status is None else "died"
            return time.monotonic() < self._end
        self.outcome.problem = (scratch / "log").read_text()[-800:]
        return False

    def _start(self, scratch: Path, results: Path, done: Path) -> subprocess.Popen[bytes]:
        test_file = self.folder / self.outcome.file
        plugins = ("-p", self._plugin, "-p", "no:cacheprovider", "-p", "no:faulthandler")
        where = ("--noconftest", "-c", os.devnull, "--rootdir", str(test_file.parent))
        command = [self._python, "-W", "ignore", "-m", "pytest", "-q", "--tb=line", *plugins, *where]
        environment = {
            **os.environ,
            **self._variables,
            "TL_PEER_RESULTS": str(results),
            "TL_PEER_DONE": str(done),
            "TMPDIR": str(scratch),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # plug-ins of other packages may import the real torch
        }
        with open(scratch / "log", "wb") as log:
            return subprocess.Popen(
                [*command, "-k", self._expression, test_file.name],
                cwd=test_file.parent,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait(self, process: subprocess.Popen[bytes], results: Path) -> int | None:
        """The exit status; None if the process had to be ended."""
        size, since = 0, time.monotonic()
        while process.poll() is None:
            time.sleep(0.2)
            now = time.monotonic()
            if results.stat().st_size != size:
                size, since = results.stat().st_size, now
            if now > self._end or now - since > SILENCE:
                os.killpg(process.pid, 9)
                process.wait()
                return None
        return process.returncode

    def _read(self, results: Path) -> str:
        """Takes the outcomes over; the test that was running."""
        running = ""
        for line in results.read_text().splitlines():
            kind, name, *outcome = json.loads(line)
            if kind == "start":
                running = name
            else:
                self.outcome.tests[name] = outcome[0]
                self.outcome.reasons[name] = outcome[1] if len(outcome) > 1 else ""
                running = "" if name == running else running
        return running
