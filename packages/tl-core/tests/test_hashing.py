"""Hashes of elements, against numpy's exclusive or."""

import pytest

import tl_core as tl

np = pytest.importorskip("numpy")

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "uint64"]


def reference(array, axis=None, keepdims=False):
    wide = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
    bits = array if array.dtype == np.uint64 else wide.view(np.uint64)
    return np.bitwise_xor.reduce(bits, axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 4), (2, 3, 5)])
def test_the_hash_is_the_exclusive_or_of_the_bits(dtype, shape):
    array = np.asarray(np.random.default_rng(0).normal(size=shape) * 100).astype(dtype)
    x = tl.from_numpy(array) if shape else tl.tensor(array.item(), dtype=getattr(tl, dtype))
    assert tl.hash_tensor(x).item() == int(reference(array)) and tl.hash_tensor(x).dtype is tl.uint64
    for dim in range(len(shape)):
        for keepdim in (True, False):
            expected = reference(array, dim, keepdim)
            result = x.hash_tensor(dim, keepdim=keepdim)
            assert result.shape == expected.shape and result.tolist() == expected.tolist()


def test_several_dimensions_and_strides():
    array = np.random.default_rng(0).integers(-9, 9, (4, 5, 6))
    x = tl.from_numpy(array).permute(2, 0, 1)[::2]
    expected = reference(array.transpose(2, 0, 1)[::2], (0, -1), True)
    assert tl.hash_tensor(x, (0, -1), keepdim=True).tolist() == expected.tolist()


def test_the_sign_of_zero_counts():
    assert tl.hash_tensor(tl.tensor([0.0, -0.0])).item() == 1 << 63


def test_an_empty_dimension_stays_if_it_is_not_reduced():
    assert tl.hash_tensor(tl.empty(2, 0), 0).shape == (0,)


def test_the_hash_of_one_element_has_its_own_memory():
    x = tl.tensor([[5, 6]])
    tl.hash_tensor(x, 0).view(tl.int64).zero_()
    assert x.tolist() == [[5, 6]]


def test_out():
    out = tl.empty(0, dtype=tl.uint64)
    assert tl.hash_tensor(tl.tensor([[1, 2], [4, 8]]), 1, out=out) is out
    assert out.tolist() == [3, 12]


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [
        (RuntimeError, "Unknown hash_tensor mode: 1", lambda: tl.hash_tensor(tl.ones(2), mode=1)),
        (RuntimeError, "dim 0 appears multiple times", lambda: tl.hash_tensor(tl.ones(2, 2), (0, -2))),
        (IndexError, "Dimension out of range", lambda: tl.hash_tensor(tl.ones(2, 2), 5)),
        (IndexError, "reduction dim 1 to have non-zero size", lambda: tl.hash_tensor(tl.empty(2, 0), 1)),
        (RuntimeError, "reduction dim to be specified", lambda: tl.hash_tensor(tl.empty(2, 0))),
        (NotImplementedError, "complex64", lambda: tl.hash_tensor(tl.ones(2, dtype=tl.complex64))),
        (NotImplementedError, "float8", lambda: tl.hash_tensor(tl.ones(2, dtype=tl.float8_e5m2))),
        (RuntimeError, "uint64, but got", lambda: tl.hash_tensor(tl.ones(2), out=tl.zeros(()))),
    ],
)
def test_bad_arguments(error, text, call):
    with pytest.raises(error, match=text):
        call()
