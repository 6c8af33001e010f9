"""What torch's test file imports beside torch: a test case of several processes, and decorators that skip.

The bodies of the tests run as they are. What asks for GPUs, for another backend or for another number of ranks is
passed by. Tensors are compared by `torch.testing.assert_close`, with the dtype and without the stride.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import io
import itertools
import os
import re
import sys
import tempfile
import types
import unittest
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from tools.peer_tests.test_case import TestCase

Test = Callable[..., Any]


class MultiProcessTestCase(TestCase):
    """A test that one of several processes runs."""

    rank = -1
    file_name = ""

    @property
    def world_size(self) -> int:
        """How many processes there are."""
        return int(os.environ["WORLD_SIZE"])


def skip(reason: str) -> Callable[[Test], Test]:
    """Passes a test by."""
    return unittest.skip(reason)


def skip_if(condition: object, reason: str) -> Callable[[Test], Test]:
    """Passes a test by if a condition holds."""
    return unittest.skipIf(bool(condition), reason)


def no_gpu(*_: Any, **__: Any) -> Callable[[Test], Test]:
    """Passes a test by that asks for so many GPUs."""
    return unittest.skip("needs GPUs")


def unchanged(*_: Any, **__: Any) -> Callable[[Test], Test]:
    """Leaves a test as it is."""
    return lambda test: test


def with_debug_levels(levels: Sequence[str]) -> Callable[[Test], Test]:
    """Runs a test once for each level of TORCH_DISTRIBUTED_DEBUG."""

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            import torch.distributed as dist

            before = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF")
            try:
                for level in levels:
                    os.environ["TORCH_DISTRIBUTED_DEBUG"] = level
                    dist.set_debug_level_from_env()
                    test(*args, **kwargs)
                    dist.barrier()
            finally:
                os.environ["TORCH_DISTRIBUTED_DEBUG"] = before
                dist.set_debug_level_from_env()

        return run

    return decorate


def parametrize(names: str, values: Sequence[Any]) -> Callable[[Test], Test]:
    """Notes with which arguments a test shall run; `instantiate` makes a test of each."""

    def decorate(test: Test) -> Test:
        keys = names.split(",")
        choices = [dict(zip(keys, v if len(keys) > 1 else (v,), strict=True)) for v in values]
        test.__dict__["choices"] = [*test.__dict__.get("choices", []), choices]
        return test

    return decorate


def instantiate(case: type) -> type:
    """Replaces each test that has arguments by one for each choice of them."""
    for name, test in list(vars(case).items()):
        choices = getattr(test, "choices", None)
        if not choices:
            continue
        delattr(case, name)
        for combination in itertools.product(*choices):
            arguments = {key: value for part in combination for key, value in part.items()}
            ending = "_".join(f"{key}_{_word(value)}" for key, value in sorted(arguments.items()))
            setattr(case, f"{name}_{ending}", _with(test, arguments))
    return case


def _word(value: Any) -> str:
    """A value as a part of a name, which has no spaces."""
    return re.sub(r"\s+", "_", str(getattr(value, "__name__", value)))


def _with(test: Test, arguments: dict[str, Any]) -> Test:
    @functools.wraps(test)
    def run(self: Any, **device: Any) -> Any:
        return test(self, **arguments, **device)

    run.__dict__.pop("choices", None)
    return run


@contextlib.contextmanager
def captured_output() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Within the block, what is printed goes to two texts."""
    before = sys.stdout, sys.stderr
    out, err = io.StringIO(), io.StringIO()
    sys.stdout, sys.stderr = out, err
    try:
        yield out, err
    finally:
        sys.stdout, sys.stderr = before


@contextlib.contextmanager
def temporary_file_name(**options: Any) -> Iterator[str]:
    """The name of a file that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield os.path.join(folder, "file" + str(options.get("suffix") or ""))


def error_was_logged(model: Any, text: str) -> None:
    """Raises unless the data that a model logs tells of an error."""
    logged = model._get_ddp_logging_data()
    if text.split("\nException raised from ")[0] not in logged.get("error", ""):
        raise AssertionError(f"expected {text!r} in the logged error, got {logged.get('error')!r}")


def sparse_sums(rank: int, world_size: int, num_inputs: int = 1) -> list[tuple[list[Any], list[Any]]]:
    """Sparse tensors of a rank, and their sums over all ranks: 1 to 3 sparse dimensions, 0 to 3 dense ones."""
    import torch

    def made(number: int, count: int, sparse: int, dense: int) -> Any:
        rows = torch.arange(number + 1).reshape(1, -1)
        indices = torch.cat([rows, *[torch.zeros_like(rows)] * (sparse - 1)])
        shape = [count] * sparse + [2] * dense
        return torch.sparse_coo_tensor(indices, torch.ones([number + 1] + [2] * dense), shape)

    found = []
    count = num_inputs * world_size
    for sparse, dense in [(1, 0), (2, 0), (3, 0), (1, 1), (1, 2), (1, 3)]:
        mine = [made(num_inputs * rank + i, count, sparse, dense) for i in range(num_inputs)]
        total = functools.reduce(lambda a, b: a + b, [made(i, count, sparse, dense) for i in range(count)])
        found.append((mine, [total] * num_inputs))
    return found


class Cases:
    """Which backend can do what, as far as the tests ask."""

    skip_collective: ClassVar[dict[str, set[str]]] = {
        "allgather_coalesced": {"nccl", "mpi"},
        "reduce": set(),
        "sendrecv anysource": {"nccl"},
        "cpu barrier": {"nccl"},
    }
    backend_feature: ClassVar[dict[str, set[str]]] = {
        "gpu": {"nccl"},
        "cuda": {"nccl"},
        "ddp": {"nccl", "gloo"},
        "subgroup": {"nccl", "gloo"},
        "plugin": set(),
    }


def small_world(test: Test) -> Test:
    """Passes a test by that needs at least 3 ranks."""
    return skip_if(os.environ["BACKEND"] != "mpi" and int(os.environ["WORLD_SIZE"]) <= 2, "needs 3 ranks")(
        test
    )


def odd_world(test: Test) -> Test:
    """Passes a test by that needs an even number of ranks."""
    return skip_if(int(os.environ["WORLD_SIZE"]) % 2, "needs an even number of ranks")(test)


def install() -> None:
    """Makes the modules that the test file imports."""
    import torch.distributed.optim
    import torch.testing

    if not hasattr(torch, "_utils_internal"):
        module("torch._utils_internal", TEST_MASTER_ADDR="127.0.0.1", TEST_MASTER_PORT="29500")
    if importlib.util.find_spec("torch.testing._internal") is None:
        module("torch.testing._internal")
    else:
        importlib.import_module("torch.testing._internal")
    module(
        "torch.testing._internal.common_distributed",
        captured_output=captured_output,
        cleanup_temp_dir=lambda: None,
        DistTestCases=Cases,
        init_multigpu_helper=lambda world_size, backend: {rank: [] for rank in range(world_size)},
        initialize_temp_directories=lambda: None,
        MultiProcessTestCase=MultiProcessTestCase,
        nccl_skip_if_lt_x_gpu=lambda backend, x: no_gpu() if backend == "nccl" else unchanged(),
        require_n_gpus_for_nccl_backend=lambda n, backend: no_gpu() if backend == "nccl" else unchanged(),
        requires_nccl_version=lambda version, msg: unchanged(),
        requires_nccl=lambda: no_gpu(),
        requires_gloo=lambda: unchanged(),
        simple_sparse_reduce_tests=sparse_sums,
        skip_if_lt_x_gpu=no_gpu,
        skip_if_no_gpu=skip("needs GPUs"),
        skip_if_odd_worldsize=odd_world,
        skip_if_rocm_multiprocess=unchanged(),
        skip_if_small_worldsize=small_world,
        TEST_SKIPS={},
        tp_transports=lambda: None,
        verify_ddp_error_logged=error_was_logged,
        with_dist_debug_levels=with_debug_levels,
        with_nccl_blocking_wait=unchanged(),
    )
    module(
        "torch.testing._internal.common_utils",
        FILE_SCHEMA="file://",
        instantiate_parametrized_tests=instantiate,
        IS_FBCODE=False,
        IS_LINUX=True,
        IS_MACOS=False,
        IS_SANDCASTLE=False,
        IS_WINDOWS=False,
        parametrize=parametrize,
        skip_but_pass_in_sandcastle=skip,
        skip_but_pass_in_sandcastle_if=skip_if,
        get_cycles_per_ms=lambda: 1.0,
        load_tests=None,
        TemporaryFileName=temporary_file_name,
        TEST_WITH_DEV_DBG_ASAN=False,
        TEST_WITH_TSAN=False,
        TEST_WITH_ROCM=False,
    )


def module(name: str, **values: Any) -> None:
    """Makes a module that a file imports."""
    made = types.ModuleType(name)
    made.__path__ = []
    made.__dict__.update(values)
    sys.modules[name] = made
    parent, _, last = name.rpartition(".")
    setattr(sys.modules[parent], last, made)
