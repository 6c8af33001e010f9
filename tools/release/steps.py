"""The steps of a rehearsal: each returns the faults that it finds, and its time is measured."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Step:
    """A finished step."""

    name: str
    seconds: float
    faults: list[str]


@dataclass
class Steps:
    """The steps so far. A step that raises is a fault, and the next steps run."""

    finished: list[Step] = field(default_factory=list)

    def run(self, name: str, function: Callable[[], list[str]]) -> None:
        """Runs a step and prints its line."""
        start = time.perf_counter()
        try:
            faults = function()
        except Exception as error:
            faults = [f"{type(error).__name__}: {error}"]
        step = Step(name, time.perf_counter() - start, faults)
        self.finished.append(step)
        print(f"{'FAILED' if faults else 'ok':7} {step.seconds:6.1f} s  {name}", flush=True)
        for fault in faults:
            print(f"        {fault}", flush=True)

    @property
    def count(self) -> int:
        """The number of faults."""
        return sum(len(step.faults) for step in self.finished)

    def close(self) -> int:
        """Prints the sum; the exit status is 1 if a step has a fault."""
        seconds = sum(step.seconds for step in self.finished)
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        used = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        print(
            f"{len(self.finished)} steps in {seconds / 60:.1f} minutes, {used / 60:.1f} minutes of CPU time"
        )
        print(f"{self.count} faults")
        return 1 if self.count else 0
