"""The process under Callgrind: `python -m tl_utils.benchmark.utils.valgrind_wrapper.process TASK.json`."""

from __future__ import annotations

import ctypes
import json
import sys
import timeit
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import tl_core
from tl_utils.benchmark.utils.valgrind_wrapper.client_requests import Requests

_WARM_UP = 2


def _python(task: dict[str, Any], requests: Requests) -> Callable[[str, str, int], None]:
    """Counts while the loop of `timeit` runs, which reads its clock just before and just after."""
    library = import_module(task["library"])
    if task["alias"]:
        import_module(f"{task['library']}.torch").install()
    names: dict[str, Any] = {"torch": library, "tl": library}
    exec(task["globals"], names)
    toggle = requests.toggle

    def run(stmt: str, setup: str, number: int) -> None:
        timeit.Timer(stmt, setup, globals=names, timer=lambda: 0.0).timeit(_WARM_UP)
        timeit.Timer(stmt, setup, globals=names, timer=toggle).timeit(number)

    return run


def _cpp(task: dict[str, Any], requests: Requests) -> Callable[[str, str, int], None]:
    from tl_utils.benchmark.utils.cpp_jit import Program

    program = Program(Path(task["program"]))

    def run(stmt: str, setup: str, number: int) -> None:
        program.timeit(_WARM_UP)
        program.run(number, requests.address, ctypes.addressof(requests.toggle_words))

    return run


def main(task_file: str) -> None:
    """Runs a task and writes each count into its own file."""
    task = json.loads(Path(task_file).read_text())
    tl_core.set_num_threads(task["num_threads"])
    requests = Requests()
    run = (_cpp if task["program"] else _python)(task, requests)
    statements = [(task["stmt"], task["setup"])] * task["repeats"]
    if task["baseline"]:
        statements.insert(0, ("pass", "pass"))
    for stmt, setup in statements:
        requests.zero()
        run(stmt, setup, task["number"])
        requests.dump()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except BaseException:
        Path(sys.argv[2]).write_text(traceback.format_exc())
        raise
