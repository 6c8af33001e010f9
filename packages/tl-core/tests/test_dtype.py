"""`dtype`: one object a type, the names of the reference."""

import copy
import pickle

import pytest

import tl_core as tl

NAMES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
]
BYTES = [1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 4, 8, 16]


@pytest.mark.parametrize(("name", "size"), list(zip(NAMES, BYTES)))
def test_every_type(name, size):
    dtype = getattr(tl, name)
    assert isinstance(dtype, tl.dtype)
    assert repr(dtype) == str(dtype) == f"torch.{name}"
    assert dtype.itemsize == size
    assert dtype.is_floating_point == (name in ("float16", "bfloat16", "float32", "float64"))
    assert dtype.is_complex == name.startswith("complex")
    assert dtype.is_signed == (name != "bool" and not name.startswith("uint"))
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.deepcopy(dtype) is dtype
    assert tl.empty(2, dtype=dtype).dtype is dtype


def test_other_names():
    assert tl.half is tl.float16
    assert tl.float is tl.float32
    assert tl.double is tl.float64
    assert (tl.short, tl.int, tl.long) == (tl.int16, tl.int32, tl.int64)
    assert (tl.chalf, tl.cfloat, tl.cdouble) == (tl.complex32, tl.complex64, tl.complex128)


def test_real_and_complex_of_one_precision():
    assert tl.complex128.to_real() is tl.float64
    assert tl.float16.to_complex() is tl.complex32
    assert tl.int64.to_real() is tl.int64


def test_python_types_stand_for_theirs():
    assert tl.ones(1, dtype=float).dtype is tl.float64
    assert tl.ones(1, dtype=int).dtype is tl.int64
    assert tl.ones(1, dtype=bool).dtype is tl.bool
    with pytest.raises(TypeError, match="dtype"):
        tl.ones(1, dtype=str)


def test_default_dtype():
    assert tl.get_default_dtype() is tl.float32
    tl.set_default_dtype(tl.float64)
    try:
        assert tl.tensor([1.0]).dtype is tl.float64
        assert tl.tensor([1j]).dtype is tl.complex128
        assert tl.zeros(1).dtype is tl.float64
        assert tl.tensor([1]).dtype is tl.int64
    finally:
        tl.set_default_dtype(tl.float32)
    with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
        tl.set_default_dtype(tl.int64)
