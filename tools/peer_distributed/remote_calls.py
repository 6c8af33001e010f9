"""The tests of remote calls in torch's wheel: each file has classes that ask for a fixture and a test case.

The files are loaded where they lie in the wheel. A test starts and ends its workers itself. So a process only gives it
a number and a file to meet in, and cleans up.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import sys
import time
import traceback
import types
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ROOT = "torch.testing._internal"
_SUITES = {
    "rpc_test.py": ("distributed.rpc.rpc_test", ("RpcTest", "TensorPipeAgentRpcTest")),
    "dist_autograd_test.py": (
        "distributed.rpc.dist_autograd_test",
        ("DistAutogradTest", "TensorPipeAgentDistAutogradTest"),
    ),
    "dist_optimizer_test.py": ("distributed.rpc.dist_optimizer_test", ("DistOptimizerTest",)),
    "remote_module_test.py": (
        "distributed.nn.api.remote_module_test",
        ("RemoteModuleTest", "ThreeWorkersRemoteModuleTest"),
    ),
}
_BEFORE = (
    "dist_utils",
    "distributed.rpc.rpc_agent_test_fixture",
    "distributed.rpc.tensorpipe_rpc_agent_test_fixture",
)


def is_suite(file: str) -> bool:
    """True for the files of this module."""
    return Path(file).name in _SUITES


def tests(file: str) -> list[str]:
    """The names of the tests of a file."""
    return [
        f"{kind}.{name}"
        for kind, case in _cases(file).items()
        for name in unittest.TestLoader().getTestCaseNames(case)
    ]


def run(file: str, name: str, folder: Path, rank: int) -> dict[str, Any]:
    """Runs a test in this process; those whose worlds are smaller pass where they aren't."""
    import torch
    import torch.distributed as dist
    from torch.distributed import rpc

    kind, _, method_name = name.partition(".")
    test = _cases(file)[kind](method_name)
    test.rank, test.file_name = rank, str(folder / "world")
    if rank >= test.world_size:
        return {"outcome": "passed", "seconds": 0.0}
    method = getattr(test, method_name)
    if getattr(method, "__unittest_skip__", False):
        return {"outcome": "skipped", "why": method.__unittest_skip_why__}
    _restore_globals()
    torch.manual_seed(0)
    began = time.monotonic()
    said: dict[str, Any] = {"outcome": "passed"}
    try:
        method()
    except unittest.SkipTest as why:
        said = {"outcome": "skipped", "why": str(why)}
    except SystemExit as error:
        said = {"outcome": "passed" if error.code in (None, 0) else "failed", "why": f"exit {error.code}"}
    except BaseException as error:
        text = f"{type(error).__name__}: {error}"
        said = {"outcome": "failed", "why": text, "stack": traceback.format_exc()}
    with contextlib.suppress(Exception):
        if rpc.api._is_current_rpc_agent_set():
            rpc.shutdown(graceful=False)
    with contextlib.suppress(Exception):
        if dist.is_initialized():
            dist.destroy_process_group()
    gc.collect()
    return {**said, "seconds": time.monotonic() - began}


_cached: dict[str, dict[str, Any]] = {}
_globals: list[tuple[Any, Any]] = []  # lists, dictionaries and sets of the modules, and copies of them


def _restore_globals() -> None:
    """Gives the containers of the modules the contents of a new process, which PyTorch starts for each test."""
    for container, contents in _globals:
        if isinstance(container, list):
            container[:] = contents
        else:
            container.clear()
            container.update(contents)


def _cases(file: str) -> dict[str, Any]:
    """The test cases of a file, by the name of their class."""
    if file not in _cached:
        from tools.peer_distributed.stand_in import MultiProcessTestCase

        part, kinds = _SUITES[Path(file).name]
        root = next(parent for parent in Path(file).parents if parent.name == "_internal")
        for each in (*_BEFORE, part):
            module = _load(root, each)
            _globals.extend(
                (value, type(value)(value))
                for key, value in vars(module).items()
                if type(value) in (list, dict, set) and not key.startswith("__")
            )
        fixture = sys.modules[f"{_ROOT}.{_BEFORE[-1]}"].TensorPipeRpcAgentTestFixture
        _cached[file] = {
            kind: type(kind, (getattr(module, kind), fixture, MultiProcessTestCase), {}) for kind in kinds
        }
    return _cached[file]


@contextlib.contextmanager
def _scripts_fail_where_called() -> Iterator[None]:
    """Within the block, a function that can't be scripted fails when a test calls it, not when a file is loaded."""
    import torch

    before = torch.jit.script

    def script(function: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return before(function, *args, **kwargs)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"

        def fail(*args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError(reason)

        return fail

    torch.jit.script = script
    try:
        yield
    finally:
        torch.jit.script = before


def _load(root: Path, part: str) -> Any:
    """A module of the wheel, with the packages above it."""
    name = f"{_ROOT}.{part}"
    packages = part.split(".")[:-1]
    for depth in range(len(packages)):
        package = ".".join([_ROOT, *packages[: depth + 1]])
        if package not in sys.modules:
            sys.modules[package] = types.ModuleType(package)
            sys.modules[package].__path__ = []
        above, _, last = package.rpartition(".")
        setattr(sys.modules[above], last, sys.modules[package])
    spec = importlib.util.spec_from_file_location(name, root.joinpath(*part.split(".")).with_suffix(".py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _scripts_fail_where_called():
        spec.loader.exec_module(module)
    above, _, last = name.rpartition(".")
    setattr(sys.modules[above], last, module)
    return module
