"""What needs a device says that there is none, and which call wanted it."""

import inspect
import re

import pytest

import tl_core
from tl_backends import accelerator, backends, cuda, mps, mtia, xpu
from tl_backends.device_kind import ACCELERATOR, CUDA, MPS, MTIA, XPU

ANYTHING = object()


def plain_functions(module, *submodules):
    """The public functions of a module that take no argument, by name."""
    for owner in (module, *submodules):
        for name, function in vars(owner).items():
            if inspect.isroutine(function) and function.__module__.startswith("tl_backends"):
                required = [
                    p for p in inspect.signature(function).parameters.values() if p.default is p.empty
                ]
                if not required and not name.startswith("_"):
                    yield f"{owner.__name__}.{name}", function


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (cuda.init, AssertionError, "Torch not compiled with CUDA enabled"),
        (
            cuda.current_device,
            AssertionError,
            "Torch not compiled with CUDA enabled: tl.cuda.current_device needs",
        ),
        (cuda.synchronize, AssertionError, "Torch not compiled with CUDA enabled"),
        (cuda.get_device_name, AssertionError, "Torch not compiled with CUDA enabled"),
        (cuda.get_device_properties, AssertionError, "Torch not compiled with CUDA enabled"),
        (cuda.get_rng_state, AssertionError, "Torch not compiled with CUDA enabled"),
        (cuda.initial_seed, AssertionError, "Torch not compiled with CUDA enabled"),
        (cuda.mem_get_info, AssertionError, "Torch not compiled with CUDA enabled"),
        (cuda.current_stream, AssertionError, "Torch not compiled with CUDA enabled"),
        (cuda.cudart, AssertionError, "Torch not compiled with CUDA enabled"),
        (lambda: cuda.set_device(0), AssertionError, r"set_device\(0\)"),
        (lambda: cuda.set_device("cuda:1"), AssertionError, r"set_device\('cuda:1'\)"),
        (lambda: cuda.device(0).__enter__(), RuntimeError, r"device\(0\)"),
        (lambda: cuda.set_rng_state(ANYTHING), AssertionError, "set_rng_state"),
        (lambda: cuda.set_rng_state_all([ANYTHING]), AssertionError, "set_rng_state"),
        (lambda: cuda.tunable.enable(), AssertionError, "tunable.enable"),
        (cuda.Stream, RuntimeError, "torch.cuda.Stream requires CUDA support"),
        (cuda.Event, RuntimeError, "torch.cuda.Event requires CUDA support"),
        (lambda: cuda.ExternalStream(0), RuntimeError, "requires CUDA support"),
        (cuda.CUDAGraph, RuntimeError, "CUDAGraph needs a device"),
        (cuda.MemPool, RuntimeError, "MemPool needs a device"),
        (lambda: cuda.graph(ANYTHING), RuntimeError, "graph needs a device"),
        (lambda: cuda.nvtx.range_push("a"), RuntimeError, "NVTX functions not installed"),
        (lambda: cuda.nvtx.mark("a"), RuntimeError, "NVTX functions not installed"),
        (lambda: backends.cuda.cufft_plan_cache.size, AssertionError, "cufft_plan_cache.size"),
        (lambda: backends.cuda.cufft_plan_cache.max_size, AssertionError, "cufft_plan_cache.max_size"),
        (
            lambda: setattr(backends.cuda.cufft_plan_cache, "max_size", 3),
            AssertionError,
            "cufft_plan_cache.max_size",
        ),
        (backends.cuda.cufft_plan_cache.clear, AssertionError, "cufft_plan_cache.clear"),
        (lambda: backends.cuda.cufft_plan_cache[0], RuntimeError, "got device with index 0"),
        (backends.mps.get_name, RuntimeError, "without MPS backend"),
        (xpu.current_device, AssertionError, "Torch not compiled with XPU enabled"),
        (lambda: xpu.set_device(0), AssertionError, "Torch not compiled with XPU enabled"),
        (xpu.Stream, RuntimeError, "torch.xpu.Stream requires XPU support"),
        (xpu.Event, RuntimeError, "torch.xpu.Event requires XPU support"),
        (mtia.init, AssertionError, "Torch not compiled with MTIA enabled"),
        (mtia.current_device, RuntimeError, "Cannot execute tl.mtia.current_device without MTIA backend"),
        (mtia.Stream, RuntimeError, "requires MTIA support"),
        (lambda: mtia.Event(enable_timing=True), RuntimeError, "requires MTIA support"),
        (mps.synchronize, RuntimeError, "Cannot execute tl.mps.synchronize without MPS backend"),
        (mps.seed, RuntimeError, "without MPS backend"),
        (mps.Event, RuntimeError, "requires MPS support"),
        (lambda: mps.profiler.metal_capture("f").__enter__(), RuntimeError, "metal_capture"),
        (lambda: mps.profiler.profile().__enter__(), RuntimeError, "profiler.start"),
        (
            accelerator.current_device_index,
            RuntimeError,
            "Cannot access accelerator device when none is available",
        ),
        (
            accelerator.current_device_idx,
            RuntimeError,
            "Cannot access accelerator device when none is available",
        ),
        (lambda: accelerator.set_device_index(0), RuntimeError, "Cannot access accelerator device"),
        (lambda: accelerator.device_index(0).__enter__(), RuntimeError, "Cannot access accelerator device"),
        (accelerator.synchronize, RuntimeError, "Cannot access accelerator device when none is available"),
    ],
)
def test_the_error_names_the_call(call, error, said):
    with pytest.raises(error, match=said) as caught:
        call()
    assert caught.type is error


@pytest.mark.parametrize(
    ("name", "function"),
    [*plain_functions(cuda, cuda.memory, cuda.nccl, cuda.profiler, cuda.tunable), *plain_functions(xpu)],
)
def test_every_call_without_arguments_answers_or_refuses(name, function):
    device = name.split(".")[1]
    try:
        result = function()
    except (AssertionError, RuntimeError) as error:
        call = rf"tl\.{device}\.[\w.]+(\(.*\))?"
        assert re.match(
            f"Torch not compiled with {device.upper()} enabled: {call} needs a device of", str(error)
        )
    else:
        assert not result or hasattr(result, "__enter__")


@pytest.mark.parametrize("nothing", [None, -1])
def test_selecting_no_device(nothing):
    for module in (cuda, xpu):
        with module.device(nothing) as entered:
            assert entered is None
        assert module.set_device(nothing) is None
        with module.stream(None):
            pass
        assert module.set_stream(None) is None
    with accelerator.device_index(None):
        pass


@pytest.mark.parametrize("module", [cuda, xpu])
def test_selecting_a_device_of_another_kind(module):
    kind = module.__name__.rpartition(".")[2]
    for wrong in ("cpu", tl_core.device("cpu")):
        with pytest.raises(ValueError, match=f"Expected a {kind} device, but got: cpu"):
            module.set_device(wrong)
        with pytest.raises(ValueError, match=f"Expected a {kind} device, but got: cpu"):
            module.device(wrong)


@pytest.mark.parametrize("module", [cuda, xpu])
def test_the_device_of_a_tensor_on_the_cpu(module):
    with module.device_of(tl_core.zeros(2)) as entered:
        assert entered is None


def test_every_error_says_what_there_is():
    for absent in (CUDA, XPU, MTIA, MPS, ACCELERATOR):
        assert "tl.something" in str(absent.error_of("something"))
        assert "the CPU" in str(absent.error_of("something"))
