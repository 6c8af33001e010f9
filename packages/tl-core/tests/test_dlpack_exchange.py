"""DLPack's table of functions in C, called as a library in C calls it."""

from __future__ import annotations

import ctypes
import gc

import pytest

import tl_core as tl

P = ctypes.c_void_p


class DLTensor(ctypes.Structure):
    """The structure of DLPack."""

    _fields_ = [
        ("data", P),
        ("device_type", ctypes.c_int32),
        ("device_index", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    """The versioned structure with an owner."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("ctx", P),
        ("deleter", ctypes.PYFUNCTYPE(None, P)),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


SET_ERROR = ctypes.PYFUNCTYPE(None, P, ctypes.c_char_p, ctypes.c_char_p)
OUT = ctypes.POINTER(ctypes.POINTER(Managed))


class Exchange(ctypes.Structure):
    """The table."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", P),
        ("allocate", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(DLTensor), OUT, P, SET_ERROR)),
        ("from_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, OUT)),
        ("to_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Managed), ctypes.POINTER(P))),
        ("describe", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))),
        ("stream", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(P))),
    ]


def table() -> Exchange:
    """The table of the class of tensors."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = P, [ctypes.py_object, ctypes.c_char_p]
    return Exchange.from_address(get(tl.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


API = table()


def taken(address: int | None) -> object:
    """The object behind a new reference."""
    result = ctypes.cast(address, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(result))
    return result


def test_the_version():
    assert (API.major, API.minor, API.previous) == (1, 3, None)


@pytest.mark.parametrize(
    ("t", "code", "bits"),
    [
        (tl.arange(6.0).reshape(2, 3).t(), 2, 32),
        (tl.tensor(5, dtype=tl.int16), 0, 16),
        (tl.zeros(0, 3, dtype=tl.bfloat16), 4, 16),
        (tl.tensor([True, False]), 6, 8),
        (tl.ones(2, dtype=tl.complex128)[1:], 5, 128),
    ],
)
def test_a_tensor_is_described(t, code, bits):
    d = DLTensor()
    assert API.describe(t, ctypes.byref(d)) == 0
    assert (d.code, d.bits, d.lanes, d.device_type, d.device_index) == (code, bits, 1, 1, 0)
    assert (tuple(d.shape[: d.ndim]), tuple(d.strides[: d.ndim])) == (tuple(t.shape), t.stride())
    assert ((d.data or 0) + d.byte_offset) == t.data_ptr()


def test_a_tensor_goes_out_and_comes_back():
    t = tl.arange(6.0).reshape(2, 3)
    managed, back = ctypes.POINTER(Managed)(), P()
    assert API.from_object(t, ctypes.byref(managed)) == 0
    assert (managed[0].major, managed[0].flags) == (1, 0)
    pointer = t.data_ptr()
    del t
    gc.collect()
    assert API.to_object(managed, ctypes.byref(back)) == 0
    result = taken(back.value)
    assert isinstance(result, tl.Tensor) and result.data_ptr() == pointer
    assert result.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_who_does_not_want_a_tensor_deletes_it():
    t = tl.ones(3)
    managed = ctypes.POINTER(Managed)()
    assert API.from_object(t, ctypes.byref(managed)) == 0
    managed[0].deleter(ctypes.addressof(managed[0]))
    assert t.tolist() == [1.0] * 3


def test_memory_is_allocated():
    messages = []

    def note(ctx, kind, message):
        messages.append((kind, message))

    shape = (ctypes.c_int64 * 2)(3, 4)
    prototype = DLTensor(None, 1, 0, 2, 2, 64, 1, shape, None, 0)
    managed, back = ctypes.POINTER(Managed)(), P()
    assert API.allocate(ctypes.byref(prototype), ctypes.byref(managed), None, SET_ERROR(note)) == 0
    assert API.to_object(managed, ctypes.byref(back)) == 0
    result = taken(back.value)
    assert result.shape == (3, 4) and result.dtype == tl.float64
    for change, kind in (
        (("device_type", 2), b"BufferError"),
        (("lanes", 4), b"BufferError"),
        (("bits", 7), b"BufferError"),
    ):
        prototype = DLTensor(None, 1, 0, 2, 2, 64, 1, shape, None, 0)
        setattr(prototype, *change)
        assert API.allocate(ctypes.byref(prototype), ctypes.byref(managed), None, SET_ERROR(note)) == -1
        assert messages.pop()[0] == kind
    shape[0] = -2
    prototype = DLTensor(None, 1, 0, 2, 2, 64, 1, shape, None, 0)
    assert API.allocate(ctypes.byref(prototype), ctypes.byref(managed), None, SET_ERROR(note)) == -1
    assert messages.pop()[0] == b"RuntimeError"


@pytest.mark.parametrize(
    ("t", "error"),
    [
        ("text", TypeError),
        (tl.empty(2, device="meta"), BufferError),
        (tl.ones(2, dtype=tl.complex64).conj(), BufferError),
        (tl.eye(2).to_sparse(), BufferError),
    ],
)
def test_what_cannot_be_shared_is_refused(t, error):
    d, managed = DLTensor(), ctypes.POINTER(Managed)()
    with pytest.raises(error):
        API.describe(t, ctypes.byref(d))
    with pytest.raises(error):
        API.from_object(t, ctypes.byref(managed))


def test_streams():
    out = P(7)
    assert API.stream(1, 0, ctypes.byref(out)) == 0
    assert out.value is None
    with pytest.raises(RuntimeError, match="no streams"):
        API.stream(2, 0, ctypes.byref(out))
