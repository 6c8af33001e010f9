"""`device`: names, indices, contexts, the default of a thread."""

import copy
import pickle
import threading

import pytest

import tl_core as tl


def test_names_and_indices():
    assert repr(tl.device("cpu")) == "device(type='cpu')"
    assert repr(tl.device("cuda:1")) == "device(type='cuda', index=1)"
    assert str(tl.device("cuda", 1)) == "cuda:1"
    assert tl.device("cuda:1") == tl.device("cuda", 1) == tl.device(type="cuda", index=1)
    assert (tl.device("meta").type, tl.device("cuda").index, tl.device("cuda:0").index) == ("meta", None, 0)
    assert tl.device("cuda") != tl.device("cuda:0")
    assert hash(tl.device("cuda:1")) == hash(tl.device("cuda", 1))
    assert tl.device(tl.device("cpu")) == tl.device("cpu")


@pytest.mark.parametrize(
    "made", [pickle.loads(pickle.dumps(tl.device("cuda:3"))), copy.deepcopy(tl.device("cuda:3"))]
)
def test_copies(made):
    assert made == tl.device("cuda", 3)


@pytest.mark.parametrize("text", ["cuda:", "cuda:-1", "cuda:1x", "cuda:01", "tpu", "", "cpu :0"])
def test_bad_names(text):
    with pytest.raises(RuntimeError, match=r"[Dd]evice"):
        tl.device(text)


def test_bad_arguments():
    with pytest.raises(RuntimeError, match="must not include an index"):
        tl.device("cuda:1", 1)
    with pytest.raises(TypeError):
        tl.device(1.5)
    with pytest.raises(AssertionError, match="no installed plug-in provides the device 'cuda'"):
        tl.ones(1, device="cuda")
    with pytest.raises(
        AssertionError, match=r"not compiled with CUDA .* if torch\.cuda\.is_available\(\) else"
    ):
        tl.empty(0, device="cuda:3")


# What programs written for the reference name, though nothing lives there.
UNPROVIDED = [
    *("ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy"),
    *("vulkan", "mps", "hpu", "mtia", "privateuseone"),
]


@pytest.mark.parametrize("name", UNPROVIDED)
def test_devices_of_other_builds_have_a_name(name):
    device = tl.device(f"{name}:1")
    assert (device.type, device.index, str(device)) == (name, 1, f"{name}:1")
    assert tl.device(name) == tl.device(tl.device(name)) != device
    assert pickle.loads(pickle.dumps(device)) == device and hash(device) != hash(tl.device("cpu"))
    assert len({tl.device(other) for other in (*UNPROVIDED, "cpu", "cuda", "meta")}) == len(UNPROVIDED) + 3


@pytest.mark.parametrize("name", UNPROVIDED)
@pytest.mark.parametrize(
    "make",
    [
        lambda device: tl.ones(2, device=device),
        lambda device: tl.empty(0, device=device),
        lambda device: tl.tensor([1.0], device=device),
        lambda device: tl.zeros(2).to(device),
        lambda device: tl.zeros(2).to(device, tl.float64),
        lambda device: tl.zeros(2, device="meta").to(device),
        lambda device: tl.zeros(2).new_ones(2, device=device),
        lambda device: tl.rand_like(tl.zeros(2), device=device),
    ],
)
def test_nothing_lives_on_devices_of_other_builds(name, make):
    with pytest.raises(RuntimeError, match=f"no installed plug-in provides the device '{name}'"):
        make(name)
    with tl.device(name), pytest.raises(RuntimeError, match=f"provides the device '{name}'"):
        tl.ones(2)


def test_a_wrong_name_is_answered_with_all():
    with pytest.raises(
        RuntimeError, match=r"Expected one of cpu, cuda, ipu, .*, vulkan, mps, meta, hpu, mtia, "
    ):
        tl.device("tpu")


def test_a_context_decides_where_new_tensors_go():
    with tl.device("meta"):
        assert tl.ones(2).is_meta
        with tl.device("cpu"):
            assert not tl.ones(2).is_meta
        assert tl.get_default_device() == tl.device("meta")
        assert not tl.ones(2, device="cpu").is_meta
    assert not tl.ones(2).is_meta


def test_the_default_is_the_threads():
    tl.set_default_device("meta")
    try:
        records = []
        other = threading.Thread(target=lambda: records.append(tl.ones(1).device.type))
        other.start()
        other.join()
        assert records == ["cpu"]
        assert tl.ones(1).is_meta
    finally:
        tl.set_default_device(None)
    assert tl.get_default_device() == tl.device("cpu")
