"""PyTorch's tests of distributed tensors, parallel styles and meshes: files below `test/distributed` of its source.

Each file has classes that derive from a test case of its own modules. The stand-in for it runs a test in the ranks that
persist between tests.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import sys
import time
import traceback
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.peer_distributed import stand_in
from tools.peer_distributed.stand_in import MultiProcessTestCase, Test

RANKS = int(os.environ.get("WORLD_SIZE", "4"))
_FOLDERS = ("_tensor", "tensor", "test_device_mesh.py")
_OTHER_NEEDS = {  # a compiler for GPUs, XLA, or PyTorch's list of all operators with samples
    "test_attention",
    "test_dtensor_compile",
    "test_dtensor_ops",
    "test_micro_pipeline_tp",
    "test_op_coverage",
    "test_tp_examples",
    "test_xla_integration",
}
_LIMIT = 60  # seconds for an operation
_cases: dict[str, dict[str, Any]] = {}


def is_suite(file: str) -> bool:
    """True for the files of this module."""
    parts = Path(file).parts
    return "distributed" in parts and parts[parts.index("distributed") + 1] in _FOLDERS


def tests(path: str, load: Any) -> list[str]:
    """The names of the tests of a file, or of all files below a folder."""
    install()
    return [
        f"{file.stem}.{kind}.{name}"
        for file in _files(path)
        for kind, case in _load_cases(file, load).items()
        for name in unittest.TestLoader().getTestCaseNames(case)
    ]


def _files(path: str) -> list[Path]:
    if Path(path).is_file():
        return [Path(path)]
    return sorted(file for file in Path(path).rglob("test_*.py") if file.stem not in _OTHER_NEEDS)


def _load_cases(file: Path, load: Any) -> dict[str, Any]:
    """The test cases of a file, by the names of their classes. One that does not load has no cases."""
    try:
        module = load(str(file))
    except Exception as error:  # whatever the module's own code raises
        print(f"{file.name} does not load: {type(error).__name__}: {error}", file=sys.stderr)
        module = None
    _cases[file.stem] = (
        {
            name: value
            for name, value in vars(module).items()
            if isinstance(value, type)
            and issubclass(value, unittest.TestCase)
            and value.__module__ == module.__name__
        }
        if module
        else {}
    )
    return _cases[file.stem]


def run(name: str, folder: Path, rank: int) -> dict[str, Any]:
    """Runs a test in this process. A rank beyond the world of a test passes it."""
    import torch
    import torch.distributed as dist

    stem, kind, method_name = name.split(".")
    test = _cases[stem][kind](method_name)
    test.rank, test.file_name = rank, str(folder / "world")
    if getattr(test, "world_size", 1) > RANKS:
        return {"outcome": "skipped", "why": f"needs {test.world_size} ranks"}
    if rank >= getattr(test, "world_size", 1):
        return {"outcome": "passed", "seconds": 0.0}
    method = getattr(test, method_name)
    if getattr(method, "__unittest_skip__", False):
        return {"outcome": "skipped", "why": method.__unittest_skip_why__}
    torch.manual_seed(0)
    began = time.monotonic()
    outcome: dict[str, Any] = {"outcome": "passed"}
    try:
        test.setUp()
        method()
    except unittest.SkipTest as why:
        outcome = {"outcome": "skipped", "why": str(why)}
    except BaseException as error:
        text = f"{type(error).__name__}: {error}"
        outcome = {"outcome": "failed", "why": text, "stack": traceback.format_exc()}
    # The outcome is that of the test: what fails after it would hide the reason, and the next test begins anew.
    with contextlib.suppress(Exception):
        test.tearDown()
    with contextlib.suppress(Exception):
        if dist.is_initialized():
            dist.destroy_process_group()
    gc.collect()
    return {**outcome, "seconds": time.monotonic() - began}


class DTensorTestBase(MultiProcessTestCase):
    """A test of ranks that make a mesh."""

    device_type = "cpu"
    backend = "gloo"

    @property
    def world_size(self) -> int:
        """The number of ranks, which a class may lower."""
        return RANKS

    def build_device_mesh(self) -> Any:
        """A mesh of all ranks in one dimension."""
        from torch.distributed.device_mesh import DeviceMesh

        return DeviceMesh(self.device_type, list(range(self.world_size)))

    def init_pg(self, eager_init: bool = False, backend: str | None = None) -> None:
        """Connects the ranks."""
        from datetime import timedelta

        import torch.distributed as dist

        dist.init_process_group(
            "gloo",
            f"file://{self.file_name}",
            world_size=self.world_size,
            rank=self.rank,
            timeout=timedelta(seconds=_LIMIT),
        )

    def destroy_pg(self, *_: Any) -> None:
        """Waits for all ranks and ends their group."""
        import torch.distributed as dist

        dist.barrier()
        dist.destroy_process_group()

    def assertEqualOnRank(self, x: Any, y: Any, msg: Any = None, *, rank: int = 0) -> None:
        """Compares two values on one rank."""
        if self.rank == rank:
            self.assertEqual(x, y, msg)

    def _spawn_processes(self) -> None:
        """The ranks are there already."""

    def run_subtests(self, choices: dict[str, list[Any]], test: Test, *args: Any, **kwargs: Any) -> None:
        """Runs a test once for each combination of values."""
        import torch.distributed as dist

        for values in itertools.product(*choices.values()):
            test(*args, **dict(zip(choices, values, strict=True)), **kwargs)
            dist.barrier()


class DTensorOpTestBase(DTensorTestBase):
    """A test whose ranks are threads in PyTorch's own runs. Here they are processes as in other tests."""

    def setUp(self) -> None:
        """Connects the ranks."""
        super().setUp()
        self.init_pg()


def with_comms(test: Any = None, eager_init: bool = False, backend: str | None = None) -> Any:
    """Connects the ranks for a test."""
    if test is None:
        return functools.partial(with_comms, eager_init=eager_init, backend=backend)

    @functools.wraps(test)
    def run_connected(self: Any, *args: Any, **kwargs: Any) -> None:
        self.init_pg()
        test(self, *args, **kwargs)
        self.destroy_pg()

    return run_connected


class DTensorConverter:
    """Arguments with tensors, as distributed tensors with each combination of placements."""

    def __init__(self, mesh: Any, args: tuple[Any, ...], kwargs: dict[str, Any]):
        import torch
        from torch.utils import _pytree

        self.hit = self.miss = 0
        self.mesh = mesh
        self._leaves, self._structure = _pytree.tree_flatten((args, kwargs))
        self._choices = [
            self.gen_sharding_choices_for_arg(leaf) if isinstance(leaf, torch.Tensor) else [None]
            for leaf in self._leaves
        ]
        self._combinations = iter(itertools.product(*self._choices))

    def successful(self) -> bool:
        """Whether each tensor became a distributed one."""
        return self.hit > 0 and self.miss == 0

    def is_supported_tensor(self, tensor: Any) -> bool:
        """Whether a tensor can be distributed."""
        return not (tensor.is_sparse or tensor.is_quantized or tensor.layout.__str__() != "torch.strided")

    def gen_sharding_choices_for_arg(self, tensor: Any) -> list[Any]:
        """The placements of a tensor: copies, and shards of each dimension that the mesh divides."""
        import torch
        from torch.distributed.tensor import Replicate, Shard

        choices: list[Any] = [Replicate()]
        if tensor.dtype != torch.bool:
            choices += [
                Shard(dim)
                for dim, size in enumerate(tensor.shape)
                if size > 1 and size % self.mesh.size() == 0
            ]
        return choices

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        from torch.utils import _pytree

        placements = next(self._combinations)
        leaves = [
            leaf if placement is None else self.to_dist_tensor(leaf, self.mesh, [placement])
            for leaf, placement in zip(self._leaves, placements, strict=True)
        ]
        return _pytree.tree_unflatten(leaves, self._structure)

    def to_dist_tensor(self, tensor: Any, mesh: Any, placements: list[Any]) -> Any:
        """A tensor that has the values of another one."""
        import torch
        from torch.distributed.tensor import distribute_tensor

        self.hit += 1
        result = distribute_tensor(tensor.detach().clone(), mesh, placements)
        result.requires_grad_(tensor.requires_grad)
        return torch.nn.Parameter(result) if isinstance(tensor, torch.nn.Parameter) else result


def _modules() -> dict[str, Any]:
    """The models of the tests, by their names."""
    import torch
    from torch import nn

    class MLPModule(nn.Module):
        """Two layers."""

        def __init__(self, device: str, bias: bool = True):
            super().__init__()
            torch.manual_seed(5)
            self.net1 = nn.Linear(10, 16, bias=bias, device=device)
            self.relu = nn.ReLU()
            self.net2 = nn.Linear(16, 10, bias=bias, device=device)

        def forward(self, x: Any) -> Any:
            return self.net2(self.relu(self.net1(x)))

        def reset_parameters(self) -> None:
            self.net1.reset_parameters()
            self.net2.reset_parameters()

    class MLPStacked(nn.Module):
        """Several of them."""

        def __init__(self, device: str, n_layers: int = 2):
            super().__init__()
            self.layers = nn.ModuleList([MLPModule(device) for _ in range(n_layers)])

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return x

    class RMSNormPython(nn.Module):
        """A norm in Python."""

        def __init__(self, dim: int, eps: float = 1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x: Any) -> Any:
            return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.weight

    return {each.__name__: each for each in (MLPModule, MLPStacked, RMSNormPython)}


def install() -> None:
    """Makes the modules that the files import."""
    for name in ("distributed", "distributed._tensor"):
        stand_in.module(f"torch.testing._internal.{name}")
    stand_in.module(
        "torch.testing._internal.distributed._tensor.common_dtensor",
        DTensorConverter=DTensorConverter,
        DTensorOpTestBase=DTensorOpTestBase,
        DTensorTestBase=DTensorTestBase,
        NUM_DEVICES=RANKS,
        skip_if_lt_x_gpu=stand_in.unchanged,
        skip_unless_torch_gpu=stand_in.unchanged(),
        with_comms=with_comms,
        **_modules(),
    )
    stand_in.module("torch.testing._internal.distributed.fake_pg", FakeStore=_fake_store())
    stand_in.module("torch.testing._internal.logging_utils", LoggingTestCase=stand_in.TestCase)
    common = sys.modules["torch.testing._internal.common_utils"]
    common.__dict__.update(
        run_tests=lambda: None,
        skipIfRocm=lambda test: test,
        suppress_warnings=lambda test: test,
        TestCase=stand_in.TestCase,
    )
    sys.modules["torch.testing._internal.common_distributed"].__dict__["skip_if_lt_x_gpu"] = (
        stand_in.unchanged
    )


def _fake_store() -> Any:
    import torch.distributed as dist

    class FakeStore(dist.HashStore):
        """A store of a group without other ranks."""

    return FakeStore
