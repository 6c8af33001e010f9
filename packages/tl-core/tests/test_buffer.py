"""Memory shared through the buffer protocol and numpy's."""

from __future__ import annotations

import array
import gc
import subprocess
import sys
import warnings

import pytest

import tl_core as tl


def test_a_tensor_is_a_buffer():
    x = tl.tensor([[1, 2], [3, 4]], dtype=tl.int32)
    view = memoryview(x)
    assert (view.format, view.shape, view.strides, view.itemsize) == ("i", (2, 2), (8, 4), 4)
    assert view.tolist() == [[1, 2], [3, 4]]
    view[0, 0] = 9
    assert x[0, 0] == 9
    assert memoryview(x.t()).strides == (4, 8)
    assert memoryview(tl.tensor(2.5)).shape == ()


def test_a_buffer_keeps_the_memory():
    view = memoryview(tl.arange(1000))
    gc.collect()
    assert view[999] == 999


def test_what_has_no_format_is_refused():
    with pytest.raises(TypeError, match="BFloat16"):
        memoryview(tl.ones(1, dtype=tl.bfloat16))
    with pytest.raises(TypeError, match="can't convert meta device type tensor"):
        memoryview(tl.ones(1, device="meta"))


def test_frombuffer():
    memory = bytearray([1, 0, 2, 0, 3, 0])
    x = tl.frombuffer(memory, dtype=tl.int16)
    assert x.tolist() == [1, 2, 3]
    x[0] = 5
    assert memory[0] == 5
    assert tl.frombuffer(memory, dtype=tl.int16, count=1, offset=2).tolist() == [2]
    assert tl.frombuffer(array.array("d", [1.5, 2.5]), dtype=tl.float64).tolist() == [1.5, 2.5]
    with pytest.raises(BufferError):
        memory.append(1)


@pytest.mark.parametrize(
    ("memory", "options", "message"),
    [
        (bytearray(5), {}, "must be a multiple of element size"),
        (bytearray(4), {"count": 3}, "must not be greater than actual buffer length"),
        (bytearray(4), {"count": 0}, "count"),
        (bytearray(4), {"offset": 4}, "offset"),
        (bytearray(0), {}, "must not be 0"),
    ],
)
def test_frombuffer_refuses(memory, options, message):
    with pytest.raises(ValueError, match=message):
        tl.frombuffer(memory, dtype=tl.int16, **options)


def test_bytes_are_read_only():
    with pytest.warns(UserWarning, match="not writable"):
        x = tl.frombuffer(b"\x01\x02", dtype=tl.uint8)
    with pytest.raises(RuntimeError, match="read-only"):
        x.zero_()
    with pytest.raises(RuntimeError, match="read-only"):
        tl.add(x, 1, out=x)
    assert memoryview(x).readonly
    assert (x + 1).tolist() == [2, 3]
    assert x.clone().zero_().tolist() == [0, 0]


class TestNumpy:
    np = None

    @pytest.fixture(autouse=True)
    def needs_numpy(self):
        type(self).np = pytest.importorskip(
            "numpy", reason="numpy, the other side of the exchange, is not installed"
        )

    def test_from_numpy_shares(self):
        source = self.np.arange(6.0).reshape(2, 3).T
        x = tl.from_numpy(source)
        assert (x.shape, x.stride(), x.dtype) == ((3, 2), (1, 3), tl.float64)
        x[0, 0] = 9
        assert source[0, 0] == 9

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
            "float32",
            "float64",
            "complex64",
            "complex128",
        ],
    )
    def test_types_both_ways(self, name):
        source = self.np.ones(2, dtype=name)
        x = tl.from_numpy(source)
        assert x.dtype is getattr(tl, name)
        assert x.numpy().dtype.type is source.dtype.type
        assert x.numpy().tolist() == source.tolist()

    def test_numpy_shares(self):
        x = tl.ones(2, 3).t()
        result = x.numpy()
        result[0, 0] = 9
        assert x[0, 0] == 9
        assert result.strides == (4, 12)
        assert tl.empty(0, 3).numpy().shape == (0, 3)
        assert self.np.asarray(tl.tensor(2)).shape == ()

    def test_array_conversions(self):
        x = tl.ones(2)
        assert self.np.asarray(x, dtype="int32").dtype == "int32"
        assert self.np.array(x, copy=True).ctypes.data != x.data_ptr()

    def test_read_only_arrays(self):
        source = self.np.arange(3)
        source.flags.writeable = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = tl.from_numpy(source)
        with pytest.raises(RuntimeError, match="read-only"):
            x += 1
        assert not x.numpy().flags.writeable
        assert source.tolist() == [0, 1, 2]

    def test_one_warning_of_a_read_only_array(self):
        program = (
            "import warnings, numpy as np, tl_core as tl\n"
            "given = np.broadcast_to(np.ones(1), (3,))\n"
            "with warnings.catch_warnings(record=True) as seen:\n"
            "    warnings.simplefilter('always')\n"
            "    tl.from_numpy(np.ones(3)), tl.tensor(given)\n"
            "    assert not seen\n"
            "    for _ in range(3): tl.from_numpy(given)\n"
            "print(len(seen), seen[0].category.__name__, seen[0].message)\n"
        )
        process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert process.stdout.startswith("1 UserWarning The given NumPy array is not writable")

    @pytest.mark.parametrize("make", ["tensor", "as_tensor", "asarray", "from_numpy"])
    @pytest.mark.parametrize("dtype", ["i2", "i4", "f8", "c16"])
    def test_another_byte_order(self, make, dtype):
        other = ">" if sys.byteorder == "little" else "<"
        with pytest.raises(ValueError, match="byte order different from the native byte order"):
            getattr(tl, make)(self.np.arange(3).astype(other + dtype))

    @pytest.mark.parametrize("dtype", ["M8[D]", "U3", "O", "i4,f4"])
    def test_elements_that_no_tensor_has(self, dtype):
        with pytest.raises(TypeError, match=r"can't convert np.ndarray of type numpy\."):
            tl.from_numpy(self.np.zeros(2, dtype))

    def test_what_cannot_be_shared(self):
        with pytest.raises(ValueError, match="negative"):
            tl.from_numpy(self.np.arange(3)[::-1])
        with pytest.raises(TypeError, match=r"can't convert np\.ndarray"):
            tl.from_numpy(self.np.array(["a"]))
        with pytest.raises(TypeError, match=r"expected np\.ndarray"):
            tl.from_numpy([1])

    def test_what_requires_grad_is_not_shared(self):
        pytest.importorskip("tl_autograd", reason="tl-autograd, which records derivatives, is not installed")
        x = tl.ones(1, requires_grad=True)
        with pytest.raises(RuntimeError, match=r"Use tensor.detach\(\).numpy\(\) instead"):
            x.numpy()
        with pytest.raises(RuntimeError, match=r"Use tensor.detach\(\).numpy\(\) instead"):
            self.np.asarray(x)
        assert x.numpy(force=True).tolist() == [1.0]


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list")
def test_numpy_scalars_in_lists_keep_their_types():
    np = pytest.importorskip("numpy")
    for one in (np.float64(1.5), np.float32(1.5), np.int32(3), np.int8(3), np.bool_(True)):
        assert tl.tensor([one]).dtype is tl.from_numpy(np.array([one])).dtype
        assert tl.tensor([[one], [one]]).dtype is tl.from_numpy(np.array(one)).dtype
    assert tl.tensor([np.float64(1), 2]).dtype is tl.float64
    assert tl.tensor([np.float32(1), 2]).dtype is tl.float32
    assert tl.tensor([1.0, np.float32(1)]).dtype is tl.float32
    assert tl.as_tensor([np.arange(2.0), np.zeros(2)]).dtype is tl.float64
    assert tl.as_tensor(np.float32(1.5)).dtype is tl.asarray(np.float32(1.5)).dtype is tl.float32
    assert tl.tensor(np.float64(1)).dtype is tl.float64


def test_arrays_in_lists():
    np = pytest.importorskip("numpy")
    a = np.arange(6, dtype=np.int16).reshape(2, 3)
    for parts in ([a, a + 6], [a[::-1], a[:, ::-1]], [a, a.tolist()], [a.astype(np.float64), a.T.copy().T]):
        expected = np.array([np.asarray(part) for part in parts])
        assert tl.tensor(parts).tolist() == expected.tolist()
        assert tl.tensor(parts, dtype=tl.float32).tolist() == expected.tolist()
    assert tl.tensor([a, a]).dtype is tl.int16
    assert tl.tensor([a, a.astype(np.float64)]).dtype is tl.float64
    assert tl.tensor([np.zeros((0, 2))]).shape == (1, 0, 2)
    assert tl.tensor([np.array(1.5), np.array(2.5)]).tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        tl.tensor([a, a[:1]])


def test_equality_with_an_array_is_of_elements():
    np = pytest.importorskip("numpy")
    x, a = tl.tensor([1, 2, 3]), np.array([1, 0, 3])
    assert (x == a).tolist() == (a == x).tolist() == [True, False, True]
    assert (x != a).tolist() == (a != x).tolist() == [False, True, False]
    assert (x == a[::2][:1]).tolist() == [True, False, False]
    assert (x == a[::-1]).tolist() == [False, False, False]
    with pytest.raises(RuntimeError, match="size of tensor a"):
        x == np.zeros(2)  # noqa: B015
    assert x != [1, 2, 3]


def test_from_numpy_takes_arrays_only():
    np = pytest.importorskip("numpy")
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got numpy.float32\)"):
        tl.from_numpy(np.float32(3))
    assert tl.from_numpy(np.array(3.0)).item() == 3.0
