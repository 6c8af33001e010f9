"""PyTorch's tests of sharded training, pipelines, checkpoints and functional collectives: files of its source.

The files speak of GPUs. They are read as if they spoke of the CPU, and nothing of them is kept. Helpers that they
import are in PyTorch's wheel: `--wheel` names its folder `torch/testing/_internal`. Their base classes are those of
this module, whose tests run in the ranks that persist between tests, as many as a class needs.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import itertools
import os
import random
import re
import sys
import time
import traceback
import types
import unittest
import warnings
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from tools.peer_distributed import sharded_models, stand_in
from tools.peer_distributed.stand_in import MultiProcessTestCase, Test

RANKS = int(os.environ.get("WORLD_SIZE", "4"))
DEVICES = int(
    os.environ.get("DEVICES", "4")
)  # of which tests use as many as they can, but not more than 4 or 8
_FOLDERS = ("_composable", "fsdp", "checkpoint", "pipelining", "test_functional_api.py")
_OTHER_NEEDS = {"test_fully_shard_compile", "test_fsdp_fx"}  # a compiler for GPUs, a tracer of FSDP's own
_LIMIT = 60  # seconds for an operation
_cases: dict[str, dict[str, Any]] = {}

# What a text about GPUs says of the CPU.
_AS_CPU = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r'f?"cuda:[^"]*"', '"cpu"'),
        (r'"cuda"', '"cpu"'),
        (r'torch\.device\("cpu", (?:[^()]|\([^()]*\))*\)', 'torch.device("cpu")'),
        (r"\.cuda\([^()]*\)", ".cpu()"),
        (r'"cpu:gloo,cuda:nccl"|"nccl"', '"gloo"'),
        (r",\s*device_ids=\[[^\]]*\]", ""),
        (r'("device_ids":\s*)\[[^\]]*\]', r"\1None"),
        (r"\.to\((?:self\.)?rank\)", '.to("cpu")'),
        (r"torch\.device\((?:self\.)?rank\)", 'torch.device("cpu")'),
        (r"\btorch\.cuda\.", "torch_cuda."),
    )
)


def is_suite(file: str) -> bool:
    """True for the files of this module."""
    parts = Path(file).parts
    return "distributed" in parts and parts[parts.index("distributed") + 1 :][:1][0] in _FOLDERS


def read_as_cpu(text: str) -> str:
    """A program about GPUs as one about the CPU.

    Args:
        text: the program.
    """
    for pattern, replacement in _AS_CPU:
        text = pattern.sub(replacement, text)
    return text


def tests(path: str, load: Any, wheel: str) -> list[str]:
    """The names of the tests of a file, or of all files below a folder.

    Args:
        path: the file or the folder.
        load: loads a file as a module.
        wheel: the folder `torch/testing/_internal` of PyTorch's wheel.
    """
    install(wheel)
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
    sys.path.insert(0, str(file.parent))
    try:
        module = load(str(file), _loader(file))
    except (Exception, SystemExit) as error:  # whatever the module's own code raises
        print(f"{file.name} does not load: {type(error).__name__}: {error}", file=sys.stderr)
        module = None
    finally:
        sys.path.remove(str(file.parent))
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


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a file whose text is read as one about the CPU."""

    def get_code(self, fullname: str) -> Any:
        text = read_as_cpu(Path(self.path).read_text())
        return compile(text, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: Any) -> None:
        module.__dict__["torch_cuda"] = Accelerator
        super().exec_module(module)


def _loader(file: Path) -> Any:
    return _Loader("distributed_test", str(file))


def run(name: str, folder: Path, rank: int) -> dict[str, Any]:
    """Runs a test in this process. A rank beyond the world of a test passes it."""
    import torch
    import torch.distributed as dist

    stem, kind, method_name = name.split(".", 2)
    case = _cases[stem][kind]
    case.rank = rank
    test = case(method_name)
    test.rank, test.file_name = rank, str(folder / "world")
    connects = isinstance(test, _Connected)
    size = int(test.world_size) if connects else getattr(test, "world_size", 1)
    if size > RANKS:
        return {"outcome": "skipped", "why": f"needs {size} ranks"}
    if rank >= size:
        return {"outcome": "passed", "seconds": 0.0}
    method = getattr(test, method_name)
    if getattr(method, "__unittest_skip__", False) or getattr(case, "__unittest_skip__", False):
        return {"outcome": "skipped", "why": getattr(method, "__unittest_skip_why__", "its class")}
    torch.manual_seed(0)
    began = time.monotonic()
    outcome: dict[str, Any] = {"outcome": "passed"}
    try:
        if connects:
            dist.init_process_group(
                "gloo",
                f"file://{test.file_name}",
                world_size=size,
                rank=rank,
                timeout=timedelta(seconds=_LIMIT),
            )
        case.setUpClass()
        test.setUp()
        method()
    except unittest.SkipTest as why:
        outcome = {"outcome": "skipped", "why": str(why)}
    except SystemExit as error:
        outcome = {"outcome": "skipped" if error.code else "passed", "why": f"exit {error.code}"}
    except BaseException as error:
        text = f"{type(error).__name__}: {error}"
        outcome = {"outcome": "failed", "why": text, "stack": traceback.format_exc()}
    with contextlib.suppress(Exception):
        test.tearDown()
    with contextlib.suppress(Exception):
        if dist.is_initialized():
            dist.destroy_process_group()
    gc.collect()
    return {**outcome, "seconds": time.monotonic() - began}


class Accelerator:
    """The functions of `torch.cuda` in the files, for the CPU."""

    class Stream(contextlib.nullcontext):  # a block
        """A stream, which is a block without effect."""

        def __init__(self, *_: Any, **__: Any):
            super().__init__()

        def synchronize(self) -> None:
            """Nothing runs on."""

        wait_stream = wait_event = record_event = lambda self, *_: Accelerator.Event()

    class Event:
        """An event that has happened."""

        def __init__(self, *_: Any, **__: Any):
            pass

        def record(self, *_: Any) -> None:
            """Nothing runs on."""

        wait = synchronize = record

        def elapsed_time(self, _: Any) -> float:
            """The milliseconds to another event."""
            return 0.0

    device_count = staticmethod(lambda: DEVICES)
    is_available = staticmethod(lambda: True)
    set_device = synchronize = empty_cache = _sleep = reset_peak_memory_stats = staticmethod(lambda *_: None)
    stream = staticmethod(lambda stream: stream)
    current_stream = default_stream = staticmethod(lambda *_: Accelerator.Stream())
    manual_seed = manual_seed_all = staticmethod(lambda seed: sys.modules["torch"].manual_seed(seed))

    @staticmethod
    def current_device() -> Any:
        """The CPU."""
        return sys.modules["torch"].device("cpu")


class _Connected(MultiProcessTestCase):
    """A test whose ranks are connected before it begins."""

    @property
    def process_group(self) -> Any:
        """The group of all ranks."""
        import torch.distributed as dist

        return dist.distributed_c10d._get_default_group()

    init_method = property(lambda self: f"file://{self.file_name}")

    def _spawn_processes(self) -> None:
        """The ranks are there already."""

    _spawn_threads = _spawn_processes

    def run_subtests(self, choices: dict[str, list[Any]], test: Test, *args: Any, **kwargs: Any) -> None:
        """Runs a test once for each combination of values."""
        run_subtests(self, choices, test, *args, **kwargs)


class MultiThreadedTestCase(_Connected):
    """A test whose ranks are threads in PyTorch's own runs. Here they are processes as in other tests."""

    def setUp(self) -> None:
        """Prepares what each thread prepares."""
        super().setUp()
        self.perThreadSetUp()

    def perThreadSetUp(self) -> None:
        """For classes to override."""

    def perThreadTearDown(self) -> None:
        """For classes to override."""

    def tearDown(self) -> None:
        """Ends what each thread has."""
        self.perThreadTearDown()
        super().tearDown()


class ContinuousTest(_Connected):
    """A test of two ranks by default, which has a file of its own."""

    world_size = 2  # a class sets another one
    device = "cpu"


class DistributedTestBase(_Connected):
    """A test that connects its ranks itself."""

    def create_pg(self, device: str) -> Any:
        """The group of all ranks."""
        return self.process_group


def run_subtests(
    test_case: Any, choices: dict[str, list[Any]], test: Test, *args: Any, **kwargs: Any
) -> None:
    """Runs a test once for each combination of values.

    Args:
        test_case: the test case.
        choices: the values by the names of arguments.
        test: the test.
        args: more arguments.
        kwargs: more arguments.
    """
    import torch.distributed as dist

    for values in itertools.product(*choices.values()):
        test(*args, **dict(zip(choices, values, strict=True)), **kwargs)
        dist.barrier()


@contextlib.contextmanager
def check_leaked_tensors(limit: int = 1, matched_type: type | None = None) -> Iterator[list[Any]]:
    """Lists the tensors that only reference cycles hold after the block.

    Args:
        limit: ignored.
        matched_type: the class of the objects that count; tensors by default.
    """
    import torch

    kind, leaked = matched_type or torch.Tensor, list[Any]()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield leaked
        gc.collect()
        leaked.extend(each for each in gc.garbage if isinstance(each, kind))
        if leaked:
            warnings.warn(f"{len(leaked)} tensors were found in the garbage", stacklevel=3)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def _saving_models() -> dict[str, Any]:
    """Models that store the input of each of their modules, by their names."""
    import torch
    from torch import nn

    class SaveForwardInputsModule(nn.Module):
        """A layer."""

        def __init__(self, forward_inputs: dict[nn.Module, torch.Tensor], cast_forward_inputs: bool):
            super().__init__()
            self.l = nn.Linear(100, 100)
            self.forward_inputs, self.cast_forward_inputs = forward_inputs, cast_forward_inputs

        def forward(self, x: Any) -> Any:
            self.forward_inputs[self] = x
            return self.l(x.to(self.l.weight.dtype) if self.cast_forward_inputs else x)

    class SaveForwardInputsModel(nn.Module):
        """Two of them."""

        def __init__(self, forward_inputs: dict[nn.Module, torch.Tensor], cast_forward_inputs: bool):
            super().__init__()
            self.c1 = SaveForwardInputsModule(forward_inputs, cast_forward_inputs)
            self.c2 = SaveForwardInputsModule(forward_inputs, cast_forward_inputs)
            self.forward_inputs = forward_inputs

        def forward(self, x: Any) -> Any:
            self.forward_inputs[self] = x
            return self.c2(self.c1(x))

    return {each.__name__: each for each in (SaveForwardInputsModule, SaveForwardInputsModel)}


def instantiate_device_type_tests(case: type, scope: dict[str, Any], **_: Any) -> None:
    """Puts a class into a module whose tests get the CPU as their device.

    Args:
        case: the class.
        scope: the names of the module.
    """
    stand_in.instantiate(case)
    members: dict[str, Any] = {"device_type": "cpu", "__module__": case.__module__}
    for name, test in vars(case).items():
        if name.startswith("test") and "device" in inspect.signature(test).parameters:
            partial: Any = functools.partialmethod(test, device="cpu")
            functools.update_wrapper(partial, test)
            members[name] = partial._make_unbound_method()
            members[name].__dict__.update(vars(test))
    scope.pop(case.__name__, None)
    scope[f"{case.__name__}CPU"] = type(f"{case.__name__}CPU", (case,), members)


def install(wheel: str) -> None:
    """Makes the modules that the files import.

    Args:
        wheel: the folder `torch/testing/_internal` of PyTorch's wheel.
    """
    sharded_models.install()
    _add_new_names()
    _shard_on_cpu()
    internal: Any = sys.modules["torch.testing._internal"]
    internal.__path__ = [wheel]
    sys.modules["torch.testing._internal.distributed"].__path__ = [os.path.join(wheel, "distributed")]
    sys.meta_path.insert(0, _WheelFinder(wheel))
    common = sys.modules["torch.testing._internal.common_utils"]
    common.__dict__.update(
        set_rng_seed=_set_seed,
        TestCase=stand_in.TestCase,
        check_leaked_tensors=check_leaked_tensors,
        __getattr__=_utility,
    )
    distributed = sys.modules["torch.testing._internal.common_distributed"]
    distributed.__dict__.update(
        MultiThreadedTestCase=MultiThreadedTestCase,
        MultiProcContinousTest=ContinuousTest,
        MultiProcContinuousTest=ContinuousTest,
        MultiProcessTestCase=_Connected,
        DistributedTestBase=DistributedTestBase,
        requires_nccl=lambda: lambda test: test,
        run_subtests=run_subtests,
        skip_if_lt_x_gpu=stand_in.unchanged,
        **_saving_models(),
    )
    tensors: Any = sys.modules["torch.testing._internal.distributed._tensor.common_dtensor"]
    tensors.__getattr__ = functools.partial(_model_of_wheel, wheel)
    stand_in.module(
        "torch.testing._internal.common_cuda", TEST_CUDA=True, TEST_MULTIGPU=True, TEST_CUDNN=False
    )
    stand_in.module(
        "torch.testing._internal.common_device_type",
        instantiate_device_type_tests=instantiate_device_type_tests,
    )
    stand_in.module("torch.testing._internal.inductor_utils", HAS_GPU=False, HAS_CUDA=False, HAS_CPU=True)


def _add_new_names() -> None:
    """Adds names of the wheel's version that helpers of tests replace, so that sharded training calls them."""
    import torch.distributed as dist

    for name, former in (
        ("all_gather_single", "all_gather_into_tensor"),
        ("reduce_scatter_single", "reduce_scatter_tensor"),
    ):
        own = sys.modules.get("tl_distributed.collectives.tensor_collectives")
        if own is not None:
            setattr(dist, name, getattr(own, former))
            setattr(own, former, _through(dist, name))


def _shard_on_cpu() -> None:
    """Names the CPU as the device of wrapped models, which PyTorch demands where no accelerator is."""
    import torch
    from torch.distributed.fsdp import FullyShardedDataParallel

    before = FullyShardedDataParallel.__init__

    @functools.wraps(before)
    def initialize(self: Any, module: Any, *args: Any, device_id: Any = None, **kwargs: Any) -> None:
        before(self, module, *args, device_id=torch.device("cpu"), **kwargs)

    FullyShardedDataParallel.__init__ = initialize


def _through(module: Any, name: str) -> Test:
    """A function that calls what a module has below a name at the time of the call."""
    return lambda *args, **kwargs: getattr(module, name)(*args, **kwargs)


def _model_of_wheel(wheel: str, name: str) -> Any:
    """A model or a helper that the wheel's module of distributed tensors has and the stand-in lacks."""
    if name.startswith("__"):
        raise AttributeError(name)
    full_name = "torch.testing._internal.distributed._tensor.models_of_wheel"
    if full_name not in sys.modules:
        file = os.path.join(wheel, "distributed", "_tensor", "common_dtensor.py")
        loader = _HelperLoader(full_name, file)
        spec = importlib.machinery.ModuleSpec(full_name, loader, origin=file)
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        sys.modules[full_name] = module
    return getattr(sys.modules[full_name], name)


class _WheelFinder(importlib.abc.MetaPathFinder):
    """Finds the helpers of tests in the wheel, which are read as programs about the CPU."""

    def __init__(self, wheel: str):
        self._wheel = Path(wheel)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """The file of a module below `torch.testing._internal`; None for other modules."""
        prefix = "torch.testing._internal."
        if not fullname.startswith(prefix):
            return None
        file = self._wheel.joinpath(*fullname.removeprefix(prefix).split("."))
        if file.with_suffix(".py").is_file():
            file = file.with_suffix(".py")
            return importlib.machinery.ModuleSpec(
                fullname, _HelperLoader(fullname, str(file)), origin=str(file)
            )
        if (file / "__init__.py").is_file():
            loader = _HelperLoader(fullname, str(file / "__init__.py"))
            spec = importlib.machinery.ModuleSpec(fullname, loader, is_package=True)
            spec.submodule_search_locations = [str(file)]
            return spec
        return None


class _HelperLoader(_Loader):
    """Loads a helper; ranks stand for its GPUs."""

    def exec_module(self, module: Any) -> None:
        super().exec_module(module)
        if hasattr(module, "DEVICE_COUNT"):
            module.DEVICE_COUNT = DEVICES
        if module.__name__.endswith("common_fsdp"):  # a decorator that a newer wheel lacks
            module.__dict__.setdefault("test_compiled_fsdp", stand_in.unchanged)


def _set_seed(seed: int = 1234) -> None:
    import torch

    torch.manual_seed(seed)
    random.seed(seed)


def _utility(name: str) -> Any:
    """A name of `common_utils`: a switch that is off, or a decorator without effect."""
    if name.startswith(("TEST_", "IS_")):
        return False
    if name.startswith(("skip", "xfail", "requires", "slow", "serial", "wrap")):
        return lambda *args, **_: args[0] if args and isinstance(args[0], types.FunctionType) else lambda t: t
    raise AttributeError(name)
