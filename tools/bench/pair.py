"""Two workers that are asked in turn, and the ratio of what they answer.

A round is four short slices, A B B A, so that a change in the machine's speed meets both. Its ratio is that of each
side's fastest sample; the ratio of a case is the median over all rounds. The inputs are built anew several times, as
where buffers lie changes what is measured. Each group of cases has processes of its own: a heap that an earlier group
has grown would spare a side the page faults of fresh memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
from dataclasses import dataclass, field
from typing import Any

from tools.bench.cases import Case
from tools.bench.limits import Work
from tools.packages import ROOT

SAMPLES = 3  # a slice
SLOW = 0.25  # seconds a sample; of what takes longer one sample a slice, one round and one build tell enough


@dataclass(frozen=True)
class Side:
    """A module and the interpreter that has it."""

    module: str
    python: str


@dataclass(frozen=True)
class Measured:
    """A case's figures, in seconds a run, or why there are none."""

    name: str
    group: str
    limit: float | None
    ours: float = 0.0
    peers: float = 0.0
    ratio: float = 0.0
    error: str = ""
    work: Work = field(default_factory=Work)
    share: float | None = None  # of the machine's limit

    @property
    def met(self) -> bool:
        """Whether the ratio is within its limit."""
        return not self.error and (self.limit is None or self.ratio <= self.limit)


class WorkerError(Exception):
    """A worker could not do what it was asked."""


def environment(threads: int, unpinned: bool) -> dict[str, str]:
    """The environment of a measured process."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    found = {**os.environ, "PYTHONPATH": str(ROOT), **dict.fromkeys(names, str(threads))}
    if unpinned:
        found.pop("OPENBLAS_CORETYPE", None)
    return found


class Worker:
    """A worker process that is kept alive."""

    def __init__(self, side: Side, threads: int, clock: str, unpinned: bool) -> None:
        self.side = side
        command = [side.python, "-m", "tools.bench.worker", side.module, str(threads), clock]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment(threads, unpinned),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Sends a request and waits for its answer."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerError(f"{self.side.module}: the process ended with status {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(f"{self.side.module}: {answer['error']}")
        return answer

    def prepare(self, case: Case, run: str) -> float:
        """Builds the inputs anew; how many seconds a sample takes, 0 where nobody knows."""
        asked = {name: getattr(case, name) for name in ("setup", "before", "after", "less", "clock")}
        return float(self.ask(prepare=asked | {"run": run})["seconds"])

    def work(self) -> Work:
        """What a run of the prepared case does; nothing where running it apart is not possible."""
        try:
            return Work(**self.ask(work=True))
        except WorkerError:
            return Work()

    def fastest(self, samples: int) -> float:
        """The fastest of some samples."""
        return float(min(self.ask(sample=samples)["samples"]))

    def close(self) -> None:
        """Ends the process."""
        with contextlib.suppress(BrokenPipeError):
            self.process.communicate()


class Pair:
    """Our worker and torch's."""

    def __init__(self, ours: Side, peer: Side, threads: int, clock: str, unpinned: bool = False) -> None:
        self.sides = (ours, peer)
        self.options = (threads, clock, unpinned)
        self.workers = [Worker(side, *self.options) for side in self.sides]
        self._twin: Worker | None = None  # a second process of ours

    def renew(self, at: int) -> None:
        """Ends a worker and starts another in its place."""
        self.workers[at].close()
        self.workers[at] = Worker(self.sides[at], *self.options)

    def renew_all(self) -> None:
        """Fresh processes: what earlier cases left in their heaps is gone."""
        self._close_twin()
        for at in range(len(self.workers)):
            self.renew(at)

    def _close_twin(self) -> None:
        if self._twin is not None:
            self._twin.close()
        self._twin = None

    def sides_of(self, case: Case) -> list[tuple[Worker, str]]:
        """The two workers of a case, each with its statement."""
        if not case.own:
            return list(zip(self.workers, (case.run, case.peer or case.run), strict=True))
        if self._twin is None or self._twin.process.poll() is not None:
            self._twin = Worker(self.sides[0], *self.options)
        return [(self.workers[0], case.run), (self._twin, case.own)]

    def revive(self) -> None:
        """Starts again the workers that ended."""
        for at, worker in enumerate(self.workers):
            if worker.process.poll() is not None:
                self.renew(at)

    @staticmethod
    def round(workers: list[Worker], samples: int) -> tuple[float, float]:
        """The fastest sample of each side over A B B A."""
        ours, peer = workers
        a, b = ours.fastest(samples), peer.fastest(samples)
        b, a = min(b, peer.fastest(samples)), min(a, ours.fastest(samples))
        return a, b

    def measure(self, case: Case) -> Measured:
        """A case's figures."""
        self.revive()
        rounds: list[tuple[float, float]] = []
        try:
            runs = self.sides_of(case)
            workers = [worker for worker, _ in runs]
            for _ in range(case.builds):
                if max(worker.prepare(case, run) for worker, run in runs) > SLOW:
                    rounds.append(self.round(workers, 1))
                    break
                rounds += [self.round(workers, 1 if case.before else SAMPLES) for _ in range(case.rounds)]
        except WorkerError as error:
            return Measured(case.name, case.group.name, case.limit, error=str(error))
        work = self.workers[0].work()
        self.revive()
        return Measured(
            case.name,
            case.group.name,
            case.limit,
            ours=statistics.median(a for a, _ in rounds),
            peers=statistics.median(b for _, b in rounds),
            ratio=statistics.median(a / b for a, b in rounds),
            work=work,
        )

    def close(self) -> None:
        """Ends the processes."""
        self._close_twin()
        for worker in self.workers:
            worker.close()
