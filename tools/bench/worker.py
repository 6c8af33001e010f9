"""A process that measures cases with one module: `python -m tools.bench.worker MODULE THREADS CLOCK`.

It is asked in lines of JSON on its standard input and answers on its standard output, one line each:
`{"prepare": {"setup": …, "run": …, "before": …, "after": …, "less": …, "clock": …}}` builds the inputs anew, warms
up, settles the number of runs a sample, and answers with it and the seconds that one takes; `{"sample": N}` answers
with N samples, in seconds a run; `{"work": true}` tells what a run reads, writes and computes; `{"about": true}` tells
what is measured. Only the standard library is used, as the
environment belongs to the module.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
import timeit
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tools.bench import work

SAMPLE_SECONDS = 0.002
CLOCKS: dict[str, Callable[[], int]] = {"cpu": time.process_time_ns, "wall": time.perf_counter_ns}


class Bench:
    """One prepared case."""

    def __init__(self, module: ModuleType, clock: Callable[[], int], case: dict[str, str]) -> None:
        self.module, self.run = module, case["run"]
        self.names: dict[str, Any] = {"torch": module, "__name__": "case"}  # the module of its classes
        exec(case["setup"], self.names)
        self.before = compile(case["before"], "<before>", "exec") if case["before"] else None
        self.after = compile(case["after"], "<after>", "exec")
        self.timer = timeit.Timer(case["run"], timer=clock, globals=self.names)
        self.less = timeit.Timer(case["less"], timer=clock, globals=self.names) if case["less"] else None
        self.runs, self.seconds = 1, 0.0
        if self.before is None:
            self.calibrate()

    def calibrate(self) -> None:
        """Settles how many runs make a sample, which also warms up."""
        self.timer.timeit(1)
        while (seconds := self.timer.timeit(self.runs) / 1e9) < SAMPLE_SECONDS:
            self.runs = max(self.runs * 2, int(self.runs * SAMPLE_SECONDS / max(seconds, 1e-9)))
        self.seconds = seconds

    def sample(self) -> float:
        """Seconds a run."""
        gc.disable()
        if self.before is not None:
            exec(self.before, self.names)
        ticks = self.timer.timeit(self.runs)
        exec(self.after, self.names)
        if self.less is not None:
            ticks -= self.less.timeit(self.runs)
        gc.enable()
        return ticks / 1e9 / self.runs

    def work(self) -> dict[str, Any]:
        """What a run reads, writes and computes."""
        if self.before is not None:
            exec(self.before, self.names)
        result = work.measure(self.module, self.run, self.names)
        if self.before is not None:
            exec(self.after, self.names)
        return result


def serve(module: ModuleType, clock: Callable[[], int]) -> None:
    """Answers until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a case prints must not look like an answer
    bench: Bench | None = None
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            if "prepare" in request:
                bench = None  # gives the old inputs back first, also those that a function of the setup's holds on to
                gc.collect()
                case = request["prepare"]
                bench = Bench(module, CLOCKS.get(case["clock"], clock), case)
                answer.update(runs=bench.runs, seconds=bench.seconds)
            elif "sample" in request:
                if bench is None:
                    raise RuntimeError("nothing is prepared")
                answer["samples"] = [bench.sample() for _ in range(request["sample"])]
            elif "work" in request:
                if bench is None:
                    raise RuntimeError("nothing is prepared")
                answer.update(bench.work())
            else:
                answer["version"] = str(getattr(module, "__version__", "?"))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main() -> None:
    """Imports the module and serves."""
    name, threads, clock = sys.argv[1:4]
    module = importlib.import_module(name)
    module.set_num_threads(int(threads))
    serve(module, CLOCKS[clock])


if __name__ == "__main__":
    main()
