"""Switches: what is set is read back, wherever it is looked for, and only values of the right type are taken."""

import sys
import types

import pytest

from tl_backends.backends import cuda, cudnn, mha, mkldnn, nnpack, opt_einsum, quantized, xnnpack
from tl_backends.precision import FloatPrecision
from tl_backends.switch import Fixed, Switch, assign, attach, check_type, overridden
from tl_core import get_float32_matmul_precision, set_float32_matmul_precision
from tl_core.settings import switches

# module or object, attribute, the switch in tl-core, the value at the start, another value
ATTRIBUTES = [
    (cudnn, "enabled", "backends.cudnn.enabled", True, False),
    (cudnn, "benchmark", "backends.cudnn.benchmark", False, True),
    (cudnn, "benchmark_limit", "backends.cudnn.benchmark_limit", 10, 0),
    (cudnn, "deterministic", "backends.cudnn.deterministic", False, True),
    (cudnn, "allow_tf32", "backends.cudnn.allow_tf32", True, False),
    (mkldnn, "enabled", "backends.mkldnn.enabled", True, False),
    (mkldnn, "deterministic", "backends.mkldnn.deterministic", False, True),
    (mkldnn, "allow_tf32", "backends.mkldnn.allow_tf32", True, False),
    (nnpack, "enabled", "backends.nnpack.enabled", True, False),
    (opt_einsum, "enabled", "backends.opt_einsum.enabled", True, False),
    (opt_einsum, "strategy", "backends.opt_einsum.strategy", "auto", "greedy"),
    (
        cuda.matmul,
        "allow_fp16_reduced_precision_reduction",
        "backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
        True,
        False,
    ),
    (
        cuda.matmul,
        "allow_bf16_reduced_precision_reduction",
        "backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
        True,
        False,
    ),
    (cuda.matmul, "allow_fp16_accumulation", "backends.cuda.matmul.allow_fp16_accumulation", False, True),
]

FUNCTIONS = [
    (cuda.flash_sdp_enabled, cuda.enable_flash_sdp, "backends.cuda.flash_sdp", True),
    (cuda.math_sdp_enabled, cuda.enable_math_sdp, "backends.cuda.math_sdp", True),
    (cuda.mem_efficient_sdp_enabled, cuda.enable_mem_efficient_sdp, "backends.cuda.mem_efficient_sdp", True),
    (cuda.cudnn_sdp_enabled, cuda.enable_cudnn_sdp, "backends.cuda.cudnn_sdp", True),
    (
        cuda.fp16_bf16_reduction_math_sdp_allowed,
        cuda.allow_fp16_bf16_reduction_math_sdp,
        "backends.cuda.fp16_bf16_reduction_math_sdp",
        False,
    ),
    (mha.get_fastpath_enabled, mha.set_fastpath_enabled, "backends.mha.fastpath", True),
]

IDS = [f"{row[2]}" for row in ATTRIBUTES]


@pytest.mark.parametrize(("owner", "name", "switch", "start", "other"), ATTRIBUTES, ids=IDS)
def test_attributes_are_kept_by_the_core(owner, name, switch, start, other):
    assert getattr(owner, name) == switches.get(switch) == start
    try:
        setattr(owner, name, other)
        assert getattr(owner, name) == switches.get(switch) == other
        switches.set(switch, start)
        assert getattr(owner, name) == start
    finally:
        switches.set(switch, start)


@pytest.mark.parametrize(("owner", "name", "switch", "start", "other"), ATTRIBUTES, ids=IDS)
def test_attributes_refuse_another_type(owner, name, switch, start, other):
    for wrong in (None, 1.5, b"x", [start]):
        with pytest.raises(RuntimeError, match=f"{switch} expects a {type(start).__name__}, but got"):
            setattr(owner, name, wrong)
    assert switches.get(switch) == start


@pytest.mark.parametrize(("read", "write", "switch", "start"), FUNCTIONS, ids=[row[2] for row in FUNCTIONS])
def test_functions_are_kept_by_the_core(read, write, switch, start):
    assert read() is switches.get(switch) is start
    try:
        write(not start)
        assert read() is switches.get(switch) is (not start)
    finally:
        write(start)
    with pytest.raises(RuntimeError, match="expects a bool, but got int"):
        write(1)


def test_flags_hold_for_a_block_and_return_after_an_error():
    cudnn.benchmark = True
    try:
        with pytest.raises(KeyError), cudnn.flags(enabled=False, deterministic=True, benchmark_limit=3):
            assert (cudnn.enabled, cudnn.benchmark, cudnn.benchmark_limit) == (False, False, 3)
            assert cudnn.deterministic
            raise KeyError
        assert (cudnn.enabled, cudnn.benchmark, cudnn.benchmark_limit) == (True, True, 10)
        assert not cudnn.deterministic
    finally:
        cudnn.benchmark = False


@pytest.mark.parametrize("module", [mkldnn, nnpack])
def test_flags_of_other_libraries(module):
    with module.flags(enabled=False):
        assert module.enabled is False
    assert module.enabled is True


def test_flags_that_are_not_given_stay():
    with opt_einsum.flags(strategy="optimal"):
        assert (opt_einsum.enabled, opt_einsum.strategy) == (True, "optimal")
    assert opt_einsum.strategy == "auto"


def test_a_wrong_flag_changes_nothing():
    with (
        pytest.raises(RuntimeError, match=r"backends\.cudnn\.benchmark expects a bool"),
        cudnn.flags(benchmark="x"),
    ):
        pass
    assert (cudnn.enabled, cudnn.benchmark, cudnn.allow_tf32) == (True, False, True)


def test_set_flags_returns_what_was():
    assert cudnn.set_flags(_enabled=False) == (True, False, 10, False, True)
    assert cudnn.set_flags(True) == (False, False, 10, False, True)
    assert mkldnn.set_flags() == (True, False, True)
    assert nnpack.set_flags(True) == (True,)
    assert opt_einsum.set_flags(_strategy="optimal") == (True, "auto")
    assert opt_einsum.set_flags(_strategy="auto") == (True, "optimal")


def test_values_out_of_a_list():
    with pytest.raises(ValueError, match=r"\[auto, greedy, optimal\] but is best"):
        opt_einsum.set_flags(_strategy="best")
    with pytest.raises(RuntimeError, match="'none', but got 'cuda'"):
        quantized.engine = "cuda"
    assert quantized.supported_engines == ["qnnpack", "onednn", "x86", "fbgemm"]
    try:
        for name in (*quantized.supported_engines, "none"):
            quantized.engine = name
            assert quantized.engine == name
    finally:
        quantized.engine = "x86"


def test_what_cannot_be_set():
    assert xnnpack.enabled is False
    with pytest.raises(RuntimeError, match=r"backends\.xnnpack\.enabled is always False here"):
        xnnpack.enabled = True
    with pytest.raises(AttributeError):
        cuda.matmul.nonsense = True


@pytest.mark.filterwarnings("ignore:.torch.backends.cuda.sdp_kernel")
def test_attention_for_a_block():
    with cuda.sdp_kernel(enable_flash=False, enable_cudnn=False):
        assert not cuda.flash_sdp_enabled()
        assert not cuda.cudnn_sdp_enabled()
        assert cuda.math_sdp_enabled()
        assert cuda.mem_efficient_sdp_enabled()
    assert cuda.flash_sdp_enabled()
    assert cuda.cudnn_sdp_enabled()


@pytest.mark.parametrize(
    ("prefer", "names"),
    [
        (cuda.preferred_blas_library, ["cublas", "Cublaslt", "CK"]),
        (cuda.preferred_rocm_fa_library, ["aotriton", "ck"]),
    ],
)
def test_preferred_libraries(prefer, names):
    default = prefer()
    assert default == "default"
    for name in names:
        choice = prefer(name)
        assert choice == name
        assert prefer() is choice
        assert prefer(choice) is choice
        assert hash(choice) == hash(name.lower())
    assert prefer("default") is default
    with pytest.raises(
        RuntimeError, match=r"Unknown input value\. backend is 'nonsense'; choose from: default"
    ):
        prefer("nonsense")
    with pytest.raises(RuntimeError, match="backend must be a str or a"):
        prefer(3)


def test_a_library_that_is_not_there_is_not_preferred():
    for name in ("magma", "cusolver"):
        with pytest.raises(RuntimeError, match=f"Cannot set preferred backend to {name}"):
            cuda.preferred_linalg_library(name)
    assert cuda.preferred_linalg_library("default") == cuda.preferred_linalg_library() == "default"


def test_tensor_float_is_the_precision_of_products():
    assert cuda.matmul.allow_tf32 is False
    try:
        cuda.matmul.allow_tf32 = True
        assert get_float32_matmul_precision() == "high"
        set_float32_matmul_precision("medium")
        assert cuda.matmul.allow_tf32 is True
        with pytest.raises(RuntimeError, match=r"cuda\.matmul\.allow_tf32 expects a bool, but got int: 1"):
            cuda.matmul.allow_tf32 = 1
        cuda.matmul.allow_tf32 = False
        assert get_float32_matmul_precision() == "highest"
    finally:
        set_float32_matmul_precision("highest")


class Settings:
    """Attributes that are descriptors."""

    loud = Switch("example.backends.loud", False)
    mode = Switch("example.backends.mode", "auto", ("auto", "greedy"))
    version = Fixed("example.version", 3)
    precision = FloatPrecision("example.precision")


def test_descriptors():
    settings = Settings()
    settings.loud, settings.mode = True, "greedy"
    assert switches.get("example.backends.loud") is True and settings.mode == "greedy"
    with pytest.raises(RuntimeError, match=r"example\.backends\.loud expects a bool, but got int: 1"):
        settings.loud = 1
    with pytest.raises(RuntimeError, match="must be one of 'auto', 'greedy', but got 'slow'"):
        settings.mode = "slow"
    with pytest.raises(RuntimeError, match="always 3"):
        settings.version = 4
    assert settings.version == 3
    check_type("example", int, 1)
    with pytest.raises(RuntimeError, match="example expects a int, but got bool"):
        check_type("example", int, True)


def test_descriptor_of_precision():
    settings, before = Settings(), get_float32_matmul_precision()
    try:
        for shown, name in ("bf16", "medium"), ("tf32", "high"), ("ieee", "highest"):
            settings.precision = shown
            assert get_float32_matmul_precision() == name and settings.precision == shown
        with pytest.raises(RuntimeError, match=r"example\.precision must be one of 'ieee'"):
            settings.precision = "fp8"
    finally:
        set_float32_matmul_precision(before)


def test_attributes_of_modules(monkeypatch):
    module = types.ModuleType("example_switches")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    attach(module.__name__, loud=Switch("example.backends.volume", 1))
    module.other = "text"
    assert assign(module.__name__, {"loud": 5, "other": None}) == (1, "text")
    assert switches.get("example.backends.volume") == module.loud == 5 and module.other == "text"
    with overridden(module.__name__, {"loud": 7}):
        assert module.loud == 7
    assert module.loud == 5
    with pytest.raises(KeyError), overridden(module.__name__, {"loud": 7}):
        raise KeyError
    assert module.loud == 5
