"""NumPy's scalars in files, where NumPy is not installed."""

import pickle
import struct
import sys

import pytest

import tl_core as tl
from tl_checkpoint import load, numpy_numbers, save
from tl_checkpoint.safetensors import save_file


def scalar(code, order, data):
    kind = numpy_numbers.find("numpy.dtype").make(code, False, True)
    return numpy_numbers.find("numpy._core.multiarray.scalar").make(
        kind.finish((3, order, None, None, None)), data
    )


@pytest.mark.parametrize(
    ("code", "order", "text", "value"),
    [
        *[
            (code, "<", f"<{text}", 3)
            for code, text in (("i1", "b"), ("i8", "q"), ("u4", "I"), ("f2", "e"), ("f8", "d"))
        ],
        ("i4", ">", ">i", -70000),
        ("b1", "|", "?", True),
        ("f4", "<", "<f", 0.5),
    ],
)
def test_numbers(code, order, text, value):
    result = scalar(code, order, struct.pack(text, value))
    assert result == value and type(result) in (bool, int, float)


def test_complex_numbers():
    assert scalar("c16", "<", struct.pack("<2d", 1.5, -2)) == 1.5 - 2j
    assert scalar("c8", ">", struct.pack(">2f", 1.5, -2)) == 1.5 - 2j


def test_damage_and_other_objects():
    with pytest.raises(pickle.UnpicklingError, match="a NumPy scalar is damaged"):
        scalar("f8", "<", b"1234")
    with pytest.raises(pickle.UnpicklingError, match=r"dtype 'M8' needs numpy.*tl-checkpoint\[numpy\]"):
        scalar("M8", "<", b"12345678")
    with pytest.raises(pickle.UnpicklingError, match="an array of NumPy in the file needs numpy"):
        numpy_numbers.find("numpy.core.multiarray._reconstruct")
    assert numpy_numbers.find("numpy.f2py.os") is None


def test_a_file_with_a_scalar_is_read_without_numpy(tmp_path, monkeypatch):
    numpy = pytest.importorskip("numpy")
    save({"loss": numpy.float64(0.25), "step": numpy.int32(7)}, tmp_path / "m.pt")
    monkeypatch.setitem(sys.modules, "numpy", None)
    result = load(tmp_path / "m.pt")
    assert result == {"loss": 0.25, "step": 7} and type(result["step"]) is int


def test_load_names_the_reader_of_safetensors(tmp_path):
    save_file({"weight": tl.ones(2)}, tmp_path / "m.safetensors")
    with pytest.raises(pickle.UnpicklingError, match=r"safetensors.load_file reads it"):
        load(tmp_path / "m.safetensors")
