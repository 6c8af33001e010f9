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
    with pytest.raises(RuntimeError, match="no installed plug-in provides the device 'cuda'"):
        tl.ones(1, device="cuda")
    with pytest.raises(RuntimeError, match="without CUDA"):
        tl.empty(0, device="cuda:3")


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
        seen = []
        other = threading.Thread(target=lambda: seen.append(tl.ones(1).device.type))
        other.start()
        other.join()
        assert seen == ["cpu"]
        assert tl.ones(1).is_meta
    finally:
        tl.set_default_device(None)
    assert tl.get_default_device() == tl.device("cpu")
