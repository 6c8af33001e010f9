"""Ranks beside the measured one: `python -m tools.bench.ranks MODULE RANK SIZE FILE` runs a statement again and again.

The measured process is rank 0 of a world; each of its runs of a collective meets one of theirs. They are killed when
their `Ranks` goes. Only the standard library is used, as the environment belongs to the module.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from typing import Any

LIMIT = timedelta(seconds=60)


class Ranks:
    """A world whose rank 0 is this process.

    Args:
        module: what is measured.
        size: how many ranks.
        setup: builds the inputs, in all ranks, after the world was made. It may add functions to the list `at_end`.
        run: what the others run.
    """

    def __init__(self, module: Any, size: int, setup: str, run: str, **environment: str) -> None:
        self.module = module
        self.folder = tempfile.mkdtemp()
        file = os.path.join(self.folder, "store")
        command = [sys.executable, "-m", "tools.bench.ranks", module.__name__]
        job = json.dumps({"setup": setup, "run": run})
        self.others = [
            subprocess.Popen(
                [*command, str(rank), str(size), file],
                env={**os.environ, **environment, "TL_BENCH_JOB": job},
                stderr=subprocess.DEVNULL,
            )
            for rank in range(1, size)
        ]
        os.environ.update(environment)
        try:
            join(module, 0, size, file)
        finally:
            for name in environment:
                del os.environ[name]
        self.at_end: list[Callable[[], object]] = []
        self.names: dict[str, Any] = {"torch": module, "dist": module.distributed, "at_end": self.at_end}
        exec(setup, self.names)

    def __del__(self) -> None:
        while self.at_end:  # while the others still answer
            self.at_end.pop()()
        for process in self.others:
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.module.distributed.is_initialized():
            self.module.distributed.destroy_process_group()


def join(module: Any, rank: int, size: int, file: str) -> None:
    """Makes the world."""
    importlib.import_module(f"{module.__name__}.distributed").init_process_group(
        "gloo", init_method=f"file://{file}", rank=rank, world_size=size, timeout=LIMIT
    )


def main() -> None:
    """One of the other ranks."""
    name, rank, size, file = sys.argv[1:]
    job = json.loads(os.environ["TL_BENCH_JOB"])
    module = importlib.import_module(name)
    module.set_num_threads(1)
    join(module, int(rank), int(size), file)
    names = {"torch": module, "dist": module.distributed, "at_end": []}
    exec(job["setup"], names)
    statement = compile(job["run"], "<run>", "exec")
    while True:
        exec(statement, names)


if __name__ == "__main__":
    main()
