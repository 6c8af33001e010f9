"""Files that torch 2.13 wrote (tests/data) are read, and ours have the layout that it reads."""

from __future__ import annotations

import io
import pickle
import pickletools
import sys
import zipfile
from pathlib import Path

import pytest

import tl_checkpoint
import tl_core as tl
from tl_checkpoint.legacy import load_from_bytes

DATA = Path(__file__).parent / "data"


@pytest.mark.filterwarnings("ignore:tl-autograd isn't loaded")
def test_a_file_of_the_reference():
    pytest.importorskip("numpy")
    state = tl_checkpoint.load(DATA / "reference.pt")
    assert state["weight"].tolist() == list(range(10))
    assert state["view"].tolist() == [2, 5] and state["view"].stride() == (3,)
    assert state["view"].untyped_storage().data_ptr() == state["weight"].untyped_storage().data_ptr()
    assert state["half"].tolist() == [1.5, -2] and state["half"].dtype is tl.bfloat16
    assert state["wide"].tolist() == [65535] and state["wide"].dtype is tl.uint16
    assert state["flags"].tolist() == [True, False] and state["scalar"].item() == 3
    assert state["empty"].shape == (0, 2) and state["conjugate"].tolist() == [1 - 2j]
    assert type(state["parameter"]) is tl.Parameter and state["parameter"].stride() == (1, 3)
    assert state["parameter"].requires_grad == ("tl_autograd" in sys.modules)
    assert state["dtype"] is tl.float16 and state["device"] == tl.device("cpu")
    assert state["size"] == tl.Size([2, 3]) and state["array"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert state["plain"] == {"a": [1, 2.5, None, "x", b"yz", (True, 2**70)]}


def test_a_file_from_before_2020():
    state = tl_checkpoint.load(DATA / "old.pt")
    assert state["a"].tolist() == [1, 1, 1] and state["b"].tolist() == [1, 2, 3]


def test_a_module_is_refused_as_data():
    with pytest.raises(Exception, match=r"torch\.nn\.modules\.linear\.Linear was not an allowed global"):
        tl_checkpoint.load(DATA / "module.pt")
    unsafe = tl_checkpoint.serialization.get_unsafe_globals_in_checkpoint(DATA / "module.pt")
    assert "torch.nn.modules.linear.Linear" in unsafe
    assert not any(name.startswith("torch._utils") for name in unsafe)


def test_a_class_whose_package_is_absent_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "tl_nn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tl_nn", None)
    with pytest.raises(Exception, match=r"torch\.nn\.modules\.linear\.Linear") as caught:
        tl_checkpoint.load(DATA / "module.pt", weights_only=False)
    assert "no installed package" in str(caught.value)


@pytest.mark.filterwarnings("ignore:tl-autograd isn't loaded")
def test_a_trusted_file_holds_what_it_holds_as_data():
    state = tl_checkpoint.load(DATA / "reference.pt")
    trusted = tl_checkpoint.load(DATA / "reference.pt", weights_only=False)
    assert {key: type(value) for key, value in trusted.items()} == {k: type(v) for k, v in state.items()}
    for key, value in state.items():
        if isinstance(value, tl.Tensor):
            assert trusted[key].tolist() == value.tolist() and trusted[key].stride() == value.stride()
        elif key != "array":
            assert trusted[key] == value


@pytest.mark.parametrize("weights_only", [True, False])
def test_quantized_tensors_want_their_package(monkeypatch, weights_only):
    for name in [name for name in sys.modules if name.split(".")[0] == "tl_quantization"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tl_quantization", None)
    with pytest.raises(pickle.UnpicklingError, match="in the package tl-quantization: install that"):
        tl_checkpoint.load(DATA / "quantized.pt", weights_only=weights_only)


def test_our_files_are_archives_as_the_reference_writes_them(tmp_path):
    path = tmp_path / "model.pt"
    tl_checkpoint.save({"w": tl.ones(5), "p": tl.Parameter(tl.zeros(2), False)}, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names[0] == "model/data.pkl" and {"model/version", "model/byteorder", "model/data/0"} <= {
            *names
        }
        for info in archive.infolist():
            header = path.read_bytes()[info.header_offset :][:30]
            begin = info.header_offset + 30 + header[26] + 256 * header[27] + header[28] + 256 * header[29]
            assert begin % 64 == 0
        pickled = archive.read("model/data.pkl")
    named = {str(a).replace(" ", ".") for o, a, _ in pickletools.genops(pickled) if o.name == "GLOBAL"}
    assert named == {
        "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_parameter",
        "torch.FloatStorage",
        "collections.OrderedDict",
    }


def test_the_same_object_gives_the_same_bytes():
    def written():
        file = io.BytesIO()
        tl_checkpoint.save({"a": tl.arange(4), "b": [1, "x"]}, file)
        return file.getvalue()

    assert written() == written()


# A storage of two floats, 1 and 2.5, as torch 2.13 writes it within a pickle.
STORAGE = (
    b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}q\x00(X\x10\x00\x00\x00protocol_versionq"
    b"\x01M\xe9\x03X\r\x00\x00\x00little_endianq\x02\x88X\n\x00\x00\x00type_sizesq\x03}q\x04(X\x05\x00\x00\x00shortq"
    b"\x05K\x02X\x03\x00\x00\x00intq\x06K\x04X\x04\x00\x00\x00longq\x07K\x04uu.\x80\x02(X\x07\x00\x00\x00storageq\x00"
    b"ctorch\nFloatStorage\nq\x01X\x0e\x00\x00\x0093893635341520q\x02X\x03\x00\x00\x00cpuq\x03K\x02Ntq\x04Q.\x80\x02]"
    b"q\x00X\x0e\x00\x00\x0093893635341520q\x01a.\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80?\x00\x00 @"
)


def test_a_storage_within_a_pickle_is_read_as_data():
    assert load_from_bytes(STORAGE).tolist() == [1.0, 2.5]
    with pytest.raises(pickle.UnpicklingError):
        load_from_bytes(STORAGE[:-1])
    with pytest.raises(pickle.UnpicklingError):
        load_from_bytes(STORAGE.replace(b"ctorch\nFloatStorage\n", b"cposix\nsystem\n"))
