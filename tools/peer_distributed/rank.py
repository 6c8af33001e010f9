"""One of the processes that run the tests together: `rank.py RANK FILE MODULE WHEEL`.

It reads lines `TEST FOLDER` and answers each with a line of JSON: what became of the test in this process.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import json
import os
import re
import sys
import time
import traceback
import unittest
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any


def main() -> None:
    rank, file, module, wheel = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what tests print is no answer
    sys.path.insert(0, str(Path(__file__).parents[2]))
    if module == "tl":
        import tl.torch

        tl.torch.install()
    from tools.peer_distributed import remote_calls, sharded_models, stand_in, training_suites

    stand_in.install()
    if remote_calls.is_suite(file):
        serve(
            answers, remote_calls.tests(file), lambda name, folder: remote_calls.run(file, name, folder, rank)
        )
        return
    if sharded_models.is_suite(file):
        names = sharded_models.tests(file, load)
        serve(answers, names, lambda name, folder: sharded_models.run(name, folder, rank))
        return
    if training_suites.is_suite(file):
        names = training_suites.tests(file, load, wheel)
        serve(answers, names, lambda name, folder: training_suites.run(name, folder, rank))
        return
    tests: Any = load(file)
    # Profiles here name a collective `c10d::all_reduce`, not `gloo:all_reduce`, and have no events that end in another
    # thread; these lists say for which backends the tests ask for those.
    tests.PROFILING_SUPPORTED_BACKENDS = []
    tests.SEND_RECV_PROFILING_SUPPORTED_BACKENDS = []
    case = type("Case", (tests.TestDistBackend, tests.DistributedTest._DistTestBase), {})
    cases = unittest.TestLoader().getTestCaseNames(case)
    serve(answers, cases, lambda name, folder: run(tests, case, name, folder, rank))


def serve(answers: Any, names: Sequence[str], run_one: Callable[[str, Path], dict[str, Any]]) -> None:
    """Runs the tests that the standard input names."""
    said: dict[str, Any] = {"tests": list(names)}
    while True:
        print(json.dumps(said), file=answers, flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        name, folder = line.split()
        said = run_one(name, Path(folder))


def load(file: str, loader: Any = None) -> ModuleType:
    """torch's test file as a module; private names that it imports and that aren't there fail where they are used."""
    spec = importlib.util.spec_from_file_location("distributed_test", file, loader=loader)
    assert spec is not None and spec.loader is not None
    while True:
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        except ModuleNotFoundError as error:
            if not re.fullmatch(r"torch\.distributed(\.\w+)*\._\w+(\.\w+)*", error.name or ""):
                raise
            _add_missing_module(str(error.name))
        except ImportError as error:
            found = re.match(r"cannot import name '(\w+)' from '([\w.]+)'", str(error))
            if found is None:
                raise
            name, where = found.groups()
            setattr(sys.modules[where], name, _missing(f"{where}.{name}"))
        else:
            return module


def _add_missing_module(name: str) -> None:
    """Makes a private module that isn't there; its names fail where they are used."""
    module: Any = ModuleType(name)
    module.__path__ = []
    module.__getattr__ = lambda part: (
        _missing(f"{name}.{part}") if not part.startswith("__") else _no_name(part)
    )
    sys.modules[name] = module


def _no_name(name: str) -> Any:
    raise AttributeError(name)


def _missing(name: str) -> Any:
    """What stands for a private name that isn't there."""

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{name} isn't there")

    return fail


def run(tests: ModuleType, case: Any, name: str, folder: Path, rank: int) -> dict[str, Any]:
    """Runs a test in a world of its own."""
    import torch
    import torch.distributed as dist

    os.environ["TEMP_DIR"] = str(folder)
    test = case(name)
    test.rank, test.file_name = rank, str(folder / "world")
    tests.Barrier.sync = staticmethod(_Barrier(dist.FileStore(str(folder / "barrier_file"), -1)))
    torch.manual_seed(0)
    began = time.monotonic()
    method = getattr(test, name)
    if getattr(method, "__unittest_skip__", False):
        return {"outcome": "skipped", "why": method.__unittest_skip_why__}
    try:
        limit = tests.CUSTOM_PG_TIMEOUT.get(name.partition("_static_graph")[0], tests.default_pg_timeout)
        dist.init_process_group(
            "gloo",
            f"file://{test.file_name}",
            timeout=timedelta(seconds=limit),
            world_size=int(test.world_size),
            rank=rank,
        )
        method()
        test._barrier()
        said = {"outcome": "passed"}
    except unittest.SkipTest as why:
        said = {"outcome": "skipped", "why": str(why)}
    except SystemExit as error:
        said = {
            "outcome": "skipped" if error.code not in (None, 0, 1) else "passed",
            "why": f"exit {error.code}",
        }
    except BaseException as error:
        said = {
            "outcome": "failed",
            "why": f"{type(error).__name__}: {error}",
            "stack": traceback.format_exc(),
        }
    with contextlib.suppress(Exception):
        if dist.is_initialized():
            dist.destroy_process_group()
    gc.collect()
    return {**said, "seconds": time.monotonic() - began}


class _Barrier:
    """Waits for the processes through a file, as torch's does, but looks more often."""

    def __init__(self, store: Any):
        self._store = store
        self._count = 0

    def __call__(self, wait_for: int | None = None, timeout: float = 10) -> None:
        self._count += 1
        size = int(os.environ["WORLD_SIZE"]) if wait_for is None else wait_for
        end = time.monotonic() + timeout
        key = f"barrier {self._count}"
        self._store.add(key, 1)
        while self._store.add(key, 0) < size:
            if time.monotonic() > end:
                raise RuntimeError("barrier timeout")
            time.sleep(0.01)


if __name__ == "__main__":
    main()
