"""`python -m tools.parallel_sessions SESSION...`: runs sessions of nox, as many at once as there are cores.

The output of a session is printed as a whole when the session ends. A table of all sessions follows at the end, with
the failed tests of each.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

MOST_LINES = 30  # of the failed tests of one session
Runner = Callable[[str], tuple[int, str]]


@dataclass(frozen=True)
class Outcome:
    """How a session ended."""

    name: str
    status: int
    seconds: float
    output: str

    @property
    def failures(self) -> list[str]:
        """The lines that name failed tests and steps."""
        heads = ("FAILED ", "ERROR ", "nox > Command ", "nox > Session ")
        lines = [line for line in self.output.splitlines() if line.startswith(heads)]
        return lines[:MOST_LINES] if self.status else []


class Sessions:
    """Processes of nox, which end together with this one."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()

    def run(self, name: str) -> tuple[int, str]:
        """The exit status and the output of a session."""
        with tempfile.TemporaryFile() as log:
            command = [sys.executable, "-m", "nox", "--sessions", name]
            process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._running.add(process)
            try:
                status = process.wait()
            finally:
                self._running.discard(process)
            log.seek(0)
            return status, log.read().decode(errors="replace")

    def stop(self) -> None:
        """Ends what runs, with its children."""
        for process in list(self._running):
            os.killpg(process.pid, signal.SIGTERM)


def run_all(names: Sequence[str], run: Runner, lanes: int) -> list[Outcome]:
    """Runs the sessions in their order, `lanes` at once, and prints each one's output when it ends."""

    def outcome(name: str) -> Outcome:
        print(f"{name}: start\n", end="", flush=True)  # one write, as threads share the output
        start = time.monotonic()
        status, output = run(name)
        return Outcome(name, status, time.monotonic() - start, output)

    outcomes = []
    with ThreadPoolExecutor(lanes) as pool:
        for future in as_completed([pool.submit(outcome, name) for name in names]):
            result = future.result()
            print(f"{'=' * 30} {result.name} {'=' * 30}\n{result.output}", flush=True)
            outcomes.append(result)
    return sorted(outcomes, key=lambda result: names.index(result.name))


def table(outcomes: Sequence[Outcome]) -> str:
    """A line a session, and the failed tests below it."""
    lines = []
    for result in outcomes:
        word = "failed" if result.status else "success"
        lines.append(f"{result.name:24} {word:8} {result.seconds:6.0f} s")
        lines += [f"    {line}" for line in result.failures]
    return "\n".join(lines)


def main() -> None:
    """Runs the named sessions; the exit status is 1 if one failed."""
    sessions = Sessions()
    try:
        outcomes = run_all(sys.argv[1:], sessions.run, lanes=os.cpu_count() or 1)
    except BaseException:
        sessions.stop()
        raise
    print(table(outcomes))
    sys.exit(any(result.status for result in outcomes))


if __name__ == "__main__":
    main()
