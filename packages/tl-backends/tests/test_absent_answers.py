"""Answers of device modules whose device is absent, and the classes that they share."""

import copy
import pickle
import types

import pytest

import tl_core
from tl_backends import (
    cuda,
    device_answers,
    device_examples,
    device_kind,
    device_modules,
    device_rows,
    devices,
    verbosity,
)
from tl_backends.backends import cuda as cuda_switches
from tl_backends.backends import mps
from tl_backends.backends.cudnn import rnn
from tl_backends.device_kind import CUDA


def error_of(kind, name):
    return LookupError(f"{kind}: {name}")


TOASTER = device_kind.DeviceKind("toaster", error_of)


def refused(answer, error, text, **arguments):
    with pytest.raises(error, match=text):
        answer(TOASTER, "heat", arguments)


def test_errors_of_a_kind():
    assert TOASTER.title == "TOASTER" and str(TOASTER.error("heat")) == "toaster: tl.toaster.heat"
    assert str(TOASTER.error_of("backends.toaster.heat")) == "toaster: tl.backends.toaster.heat"
    error = devices.needs_support("toaster", "Event")
    assert type(error) is RuntimeError and "torch.toaster.Event requires TOASTER support" in str(error)
    assert isinstance(CUDA, device_kind.DeviceKind) and CUDA.kind == "cuda"


def test_refusals():
    refused(device_answers.refuse(), LookupError, r"tl\.toaster\.heat")
    refused(device_answers.refuse("{name}({level})", KeyError), KeyError, r"heat\(3\)", level=3)
    refused(device_answers.refuse_init, AssertionError, "not compiled with TOASTER enabled")
    refused(device_answers.refuse_nvtx, RuntimeError, r"NVTX .* tl\.toaster\.heat needs a CUDA plug-in")
    refused(
        device_answers.refuse_unsupported("Stream"), RuntimeError, r"torch\.toaster\.Stream requires TOASTER"
    )
    refused(device_answers.refuse_state("get({device})"), LookupError, r"get\(toaster\)", device=None)
    refused(device_answers.refuse_state("get({device})"), LookupError, r"get\(3\)", device=3)


def test_harmless_arguments():
    def passes(answer, **arguments):
        assert answer(TOASTER, "heat", arguments) is None

    passes(device_answers.refuse_if_true("block"), block=False)
    refused(device_answers.refuse_if_true("block"), LookupError, "heat", block=True)
    passes(device_answers.refuse_unless_none("stream"), stream=None)
    refused(device_answers.refuse_unless_none("stream"), LookupError, "heat", stream=0)
    passes(device_answers.refuse_index, device=None)
    passes(device_answers.refuse_index, device=-1)
    refused(device_answers.refuse_index, LookupError, r"heat\(0\)", device=0)
    passes(device_answers.refuse_states, new_states=[])
    refused(device_answers.refuse_states, LookupError, r"set_rng_state\(…, 0\)", new_states=["state"])
    passes(device_answers.take_seed, seed=3)
    refused(device_answers.take_seed, ValueError, "invalid literal", seed="three")


def test_results():
    answer = device_answers.new(dict)
    first = answer(TOASTER, "heat", {})
    assert first == {} and answer(TOASTER, "heat", {}) is not first
    block = device_answers.on_entry(lambda device, name, arguments: (device.kind, name, arguments), "warm")
    with block(TOASTER, "heat", {"level": 1}) as result:
        assert result == ("toaster", "warm", {"level": 1})
    with device_answers.on_entry(device_answers.refuse_if_true("on"))(
        TOASTER, "heat", {"on": False}
    ) as result:
        assert result is None


def test_devices_of_tensors():
    selected = types.SimpleNamespace()
    device_answers.select_device_of(CUDA, "device_of", {"self": selected, "obj": tl_core.ones(1)})
    assert selected.idx == -1
    remote = types.SimpleNamespace(device=tl_core.device("cuda:3"))
    device_answers.select_device_of(CUDA, "device_of", {"self": selected, "obj": remote})
    assert selected.idx == 3


def test_indices():
    assert [devices.index_of(d, "cuda") for d in (None, 2, "cuda:1", "cuda", tl_core.device("cuda", 4))] == [
        -1, 2, 1, None, 4,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        devices.index_of("cpu", "cuda")


def test_streams_and_events():
    class Event(devices.AbsentEvent):
        kind = "toaster"

    class Stream(devices.AbsentStream):
        kind = "toaster"

    class Selection(devices.SelectedDevice):
        kind = "toaster"

    for cls in Event, Stream:
        with pytest.raises(RuntimeError, match=rf"torch\.toaster\.{cls.__name__} requires"):
            cls()
    with pytest.raises(RuntimeError, match=r"Stream\.wait_stream requires"):
        Stream.wait_stream(object.__new__(Stream), None)
    with pytest.raises(RuntimeError, match=r"Event\.query requires"):
        Event.query(object.__new__(Event))
    assert issubclass(cuda.Stream, devices.AbsentStream) and issubclass(cuda.Event, devices.AbsentEvent)
    with Selection(None), Selection(-1):
        pass
    with pytest.raises(RuntimeError, match=r"device\(1\) requires"), Selection(1):
        pass


def test_modules_of_plugins(monkeypatch):
    monkeypatch.setattr(device_modules, "_registered", {})
    module = types.ModuleType("plugin")
    with pytest.raises(RuntimeError, match=r"'cuda' has already been registered with 'tl_backends\.cuda'"):
        device_modules.register_device_module("cuda:0", module)
    assert device_modules.register_device_module("maia", module) == "maia"
    assert device_modules.get_device_module("maia") is module
    with pytest.raises(RuntimeError, match="with 'plugin'"):
        device_modules.register_device_module("maia", module)


def test_plugins_are_seeded_and_forked(monkeypatch):
    monkeypatch.setattr(device_modules, "_registered", {})
    monkeypatch.setattr(tl_core.random, "_devices", {})
    module = types.ModuleType("plugin")
    seeds, states = [], {0: "first", 1: "second"}
    module.manual_seed_all = seeds.append
    module.device_count = lambda: 2
    module.get_rng_state = states.get
    module.set_rng_state = lambda state, index: states.update({index: state})
    device_modules.register_device_module("maia", module)
    tl_core.manual_seed(5)
    assert seeds == [5]
    with tl_core.random.fork_rng(devices=[1], device_type="maia"):
        states.update({0: "changed", 1: "changed"})
    assert states == {0: "changed", 1: "second"}
    with pytest.warns(UserWarning, match="all 2 maia devices"), tl_core.random.fork_rng(device_type="maia"):
        states.clear()
    assert states == {0: "changed", 1: "second"}


def test_rows():
    row = device_rows.Class("cuda xpu", "Stream(device=None)", "A stream.")
    assert row.answer is device_rows.REFUSE and row.members == () and row.base is object
    with pytest.raises(AttributeError):
        row.doc = "Another."
    assert device_rows.Same("cuda", "current", 3) == device_rows.Same("cuda", "current", 3)


def test_examples_of_docstrings():
    text = device_examples.example("cuda", "synchronize", "synchronize(device: Any = None) -> None")
    assert text.splitlines() == [
        "Example:",
        "    >>> from tl_backends import cuda",
        "    >>> if cuda.is_available():",
        "    ...     _ = cuda.synchronize()",
    ]


def test_libraries():
    assert [b.value for b in cuda_switches.BlasBackend] == [0, 1, 2, 3]
    assert cuda_switches.BlasBackend.Cublaslt == cuda_switches.BlasBackend(2)
    assert [b.name for b in cuda_switches.LinalgBackend] == ["Default", "Cusolver", "Magma"]
    assert cuda_switches.preferred_linalg_library() == cuda_switches.LinalgBackend.Default
    assert [b.name for b in cuda_switches.ROCmFABackend] == ["Default", "AOTriton", "Ck"]


@pytest.mark.parametrize(
    ("can_use", "name"),
    [
        (cuda_switches.can_use_flash_attention, "flash"),
        (cuda_switches.can_use_efficient_attention, "efficient"),
        (cuda_switches.can_use_cudnn_attention, "cuDNN"),
    ],
)
def test_attention(can_use, name):
    query = tl_core.zeros(1, 2, 3, 4)
    params = cuda_switches.SDPAParams(query, query, query, None, 0.0, True)
    assert can_use(params) is False
    with pytest.warns(UserWarning, match=name):
        assert can_use(params, debug=True) is False


def test_recurrent_layers():
    modes = "RNN_RELU", "RNN_TANH", "LSTM", "GRU"
    assert [rnn.get_cudnn_mode(mode) for mode in modes] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="mode must be one of RNN_RELU"):
        rnn.get_cudnn_mode("RNN")
    state = rnn.Unserializable(5)
    assert state.get() == 5 and copy.copy(state).get() is None
    assert pickle.loads(pickle.dumps(state)).get() is None
    with pytest.raises(type(CUDA.error("x")), match="init_dropout_state"):
        rnn.init_dropout_state(0.5, True, 0, {})


def test_metal():
    assert mps.is_macos_or_newer(14, 0) is False
    with pytest.raises(RuntimeError, match=r"backends\.mps\.get_core_count"):
        mps.get_core_count()


def test_verbosity():
    class Verbose(verbosity.Verbosity):
        library = "mkl"

    with Verbose(0) as block:
        assert block.level == 0
    with pytest.raises(AssertionError, match="Failed to set mkl into verbose mode 1"), Verbose(1):
        pass
