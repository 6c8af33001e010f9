"""DLPack both ways: with numpy, with tensors, with capsules of either version."""

from __future__ import annotations

import gc
import weakref

import pytest

import tl_core as tl


def test_tensors_share_memory_through_capsules():
    x = tl.arange(6).reshape(2, 3).t()
    result = tl.from_dlpack(x)
    assert (result.shape, result.stride(), result.data_ptr()) == (x.shape, x.stride(), x.data_ptr())
    result[0, 0] = 9
    assert x[0, 0] == 9


@pytest.mark.parametrize(
    "name",
    [
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
        "complex64",
        "complex128",
    ],
)
def test_every_type_and_both_versions(name):
    x = tl.ones(3, dtype=getattr(tl, name))
    for capsule in (tl.to_dlpack(x), x.__dlpack__(max_version=(1, 0)), x.__dlpack__(max_version=(2, 5))):
        result = tl.from_dlpack(capsule)
        assert result.dtype is x.dtype
        assert result.tolist() == x.tolist()


def test_shapes():
    for shape in ((), (0,), (3, 0, 2), (1, 1), (2, 3, 4)):
        assert tl.from_dlpack(tl.ones(shape)).shape == shape


def test_a_capsule_is_read_once():
    capsule = tl.to_dlpack(tl.ones(1))
    tl.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="can be consumed only once"):
        tl.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="invalid capsule"):
        tl.from_dlpack(3)
    with pytest.raises(ValueError, match="not a capsule"):
        tl.from_dlpack(tl.to_dlpack(tl.ones(1)), copy=True)


def test_an_unread_capsule_lets_go():
    x = tl.ones(1000)
    x.tag = 1
    records = weakref.ref(x)
    capsule = x.__dlpack__()
    del x
    gc.collect()
    assert records() is not None
    del capsule
    gc.collect()
    assert records() is None


def test_copies():
    x = tl.ones(2)
    assert tl.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert tl.from_dlpack(x, copy=False).data_ptr() == x.data_ptr()
    assert tl.from_dlpack(x, device="cpu").data_ptr() == x.data_ptr()


def test_devices():
    assert tl.ones(1).__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="meta"):
        tl.from_dlpack(tl.ones(1, device="meta"))
    with pytest.raises(BufferError, match="cannot export"):
        tl.ones(1).__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match="stream must be"):
        tl.ones(1).__dlpack__(stream="x")


def test_what_requires_grad_is_not_exported():
    pytest.importorskip("tl_autograd", reason="tl-autograd, which records derivatives, is not installed")
    with pytest.raises(BufferError, match="require gradient"):
        tl.ones(1, requires_grad=True).__dlpack__()


class Old:
    """An array of a library from before version 1."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return tl.to_dlpack(self.tensor)

    def __dlpack_device__(self):
        return (1, 0)


def test_libraries_from_before_version_1():
    assert tl.from_dlpack(Old(tl.arange(3))).tolist() == [0, 1, 2]


def test_with_numpy():
    np = pytest.importorskip("numpy", reason="numpy, the other side of the exchange, is not installed")
    array = np.arange(6.0).reshape(2, 3)
    x = tl.from_dlpack(array)
    x[0, 0] = 9
    assert array[0, 0] == 9
    back = np.from_dlpack(x)
    back[1, 2] = 7
    assert x[1, 2] == 7
    assert np.from_dlpack(tl.tensor(3)).shape == ()
    with pytest.raises(BufferError, match="negative strides"):
        tl.from_dlpack(array[::-1])


def test_read_only_memory_stays_so():
    np = pytest.importorskip("numpy", reason="numpy, the other side of the exchange, is not installed")
    array = np.arange(3)
    array.flags.writeable = False
    x = tl.from_dlpack(array)
    with pytest.raises(RuntimeError, match="read-only"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="read-only"):
        x[0] = 1
    assert not np.from_dlpack(x).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        tl.to_dlpack(x)
    assert tl.to_dlpack(x.clone()) is not None
