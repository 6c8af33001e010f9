"""Queries tell what is really there."""

import sys
from importlib.util import find_spec

import pytest

import tl_core
from tl_backends import accelerator, backends, cpu, cuda, mps, mtia, xpu
from tl_backends.device_modules import get_device_module


@pytest.mark.parametrize(
    "query",
    [
        accelerator.is_available,
        backends.cuda.is_built,
        backends.cuda.is_flash_attention_available,
        backends.cudnn.is_available,
        backends.cusparselt.is_available,
        backends.kleidiai.is_available,
        backends.mkl.is_available,
        backends.mkldnn.is_available,
        backends.mps.is_available,
        backends.mps.is_built,
        backends.mps.is_macos13_or_newer,
        backends.nnpack.is_available,
        backends.openmp.is_available,
        cuda.is_available,
        cuda.is_bf16_supported,
        cuda.is_current_stream_capturing,
        cuda.is_initialized,
        cuda.is_tf32_supported,
        cuda.tunable.is_enabled,
        cuda.tunable.record_untuned_is_enabled,
        cuda.tunable.tuning_is_enabled,
        mps.is_available,
        mps.profiler.is_capturing_metal,
        mps.profiler.is_metal_capture_enabled,
        mtia.is_available,
        mtia.is_initialized,
        xpu.is_available,
        xpu.is_bf16_supported,
        xpu.is_initialized,
    ],
    ids=lambda query: f"{query.__module__}.{query.__name__}",
)
def test_what_is_not_there(query):
    assert query() is False


@pytest.mark.parametrize("module", [accelerator, cuda, mps, mtia, xpu], ids=lambda module: module.__name__)
def test_no_devices(module):
    assert module.device_count() == 0


def test_one_cpu():
    assert cpu.is_available()
    assert cpu.is_initialized()
    assert (cpu.device_count(), cpu.current_device()) == (1, "cpu")
    assert cpu.set_device("cpu") is cpu.synchronize() is None


def test_the_instruction_set():
    assert cpu.get_cpu_capability() == backends.cpu.get_cpu_capability() == tl_core.cpu_capability()
    assert cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")


def test_versions_of_what_is_not_there():
    assert (
        backends.cudnn.version()
        is backends.cusparselt.version()
        is backends.cusparselt.get_max_alg_id()
        is None
    )
    assert backends.cudnn.is_acceptable(object()) is False
    assert cuda.nccl.is_available([]) is False


def test_no_memory_is_used():
    for module in (cuda, xpu):
        assert module.memory_allocated() == module.max_memory_allocated() == 0
        assert module.memory_reserved(0) == module.max_memory_reserved(0) == 0
        assert module.memory_stats() == {}
        assert module.empty_cache() is None
    assert cuda.host_memory_stats() == mtia.memory_stats() == xpu.memory_stats_as_nested_dict() == {}


def test_the_runtime_of_devices_has_not_started():
    for module in (cuda, xpu):
        assert module._initialized is module._is_compiled() is module._is_in_bad_fork() is False
    assert mps._is_in_bad_fork() is False


def test_nothing_was_compiled_for_devices():
    for module in (cuda, xpu):
        assert module.get_arch_list() == []
        assert module.get_gencode_flags() == ""


@pytest.mark.parametrize("module", [cuda, xpu], ids=lambda module: module.__name__)
def test_seeds_are_taken(module):
    assert module.manual_seed(3) is module.manual_seed_all(3) is module.seed() is module.seed_all() is None
    assert module.get_rng_state_all() == []
    assert module.set_rng_state_all([]) is None
    with pytest.raises(ValueError, match="'a'"):
        module.manual_seed("a")


def test_accelerator():
    assert accelerator.current_accelerator() is None
    assert accelerator.current_accelerator(check_available=True) is None


def test_opt_einsum_is_there_if_installed(monkeypatch):
    there = find_spec("opt_einsum") is not None
    assert backends.opt_einsum.is_available() is there
    if not there:
        assert backends.opt_einsum.get_opt_einsum() is None


def test_opt_einsum_when_installed(monkeypatch, tmp_path):
    (tmp_path / "opt_einsum.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    backends.opt_einsum.is_available.cache_clear()
    try:
        assert backends.opt_einsum.is_available()
        assert backends.opt_einsum.get_opt_einsum() is sys.modules["opt_einsum"]
    finally:
        backends.opt_einsum.is_available.cache_clear()
        monkeypatch.delitem(sys.modules, "opt_einsum", raising=False)


@pytest.mark.parametrize("name", ["flash attention", "efficient attention", "cuDNN attention"])
def test_attention_for_devices_cannot_be_used(name):
    params = backends.cuda.SDPAParams(1, 2, 3, None, 0.0, False)
    ask = getattr(backends.cuda, f"can_use_{name.split()[0].lower()}_attention")
    assert ask(params) is False
    with pytest.warns(UserWarning, match=f"{name} was not compiled into tl"):
        assert ask(params, debug=True) is False
    assert params.enable_gqa is False


@pytest.mark.parametrize(
    ("verbose", "library"), [(backends.mkl.verbose, "oneMKL"), (backends.mkldnn.verbose, "oneDNN")]
)
def test_a_library_that_is_not_there_prints_nothing(verbose, library):
    with verbose(backends.mkl.VERBOSE_OFF) as entered:
        assert entered is not None
    with pytest.raises(AssertionError, match=f"verbose mode 1: {library} isn't there"), verbose(1):
        pass


def test_out_of_memory_is_the_cores():
    assert cuda.OutOfMemoryError is tl_core.OutOfMemoryError
    assert issubclass(cuda.OutOfMemoryError, RuntimeError)


def test_the_older_types_of_cuda_tensors():
    import tl_core
    from tl_backends import cuda

    assert cuda.FloatTensor.is_cuda and cuda.FloatTensor.dtype == tl_core.float32
    assert not isinstance(tl_core.ones(1), cuda.FloatTensor)
    for call in (lambda: cuda.FloatTensor([1]), lambda: tl_core.ones(1).type(cuda.LongTensor)):
        with pytest.raises(TypeError, match=r"type torch\.cuda\.\w+Tensor not available"):
            call()


def test_modules_of_devices():
    for device, module in (
        (None, cpu),
        ("cpu", cpu),
        (tl_core.device("cuda:1"), cuda),
        ("mps", mps),
        ("xpu:0", xpu),
    ):
        assert get_device_module(device) is module
    with pytest.raises(RuntimeError, match="Invalid value of device '3', expect"):
        get_device_module(3)
    with pytest.raises(RuntimeError, match=r"'meta' does not have a corresponding module; .* cpu, cuda"):
        get_device_module("meta")
