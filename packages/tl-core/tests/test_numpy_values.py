"""Scalars and arrays of NumPy: tensors of complex scalars, and arrays as operands beside tensors."""

import warnings

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_complex_scalars_have_both_parts(kind):
    value = kind(1 + 3j)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tl.tensor(value).item() == 1 + 3j
        assert tl.as_tensor(value).item() == 1 + 3j
        assert tl.tensor([[value, 2], [value, 0]]).tolist() == [[1 + 3j, 2], [1 + 3j, 0]]
        assert tl.tensor(value, dtype=tl.complex64).item() == 1 + 3j
        assert tl.tensor([value], dtype=tl.complex128).tolist() == [1 + 3j]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool", "complex128"])
@pytest.mark.parametrize("shape", [(), (2,), (3, 1)])
def test_an_array_divided_by_a_tensor(dtype, shape):
    array, divisor = np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype), np.array([2.0, 4.0])
    result = array / tl.tensor(divisor)
    assert isinstance(result, tl.Tensor) and result.tolist() == (array * (1 / divisor)).tolist()


@pytest.mark.parametrize("dividend", [None, "text", [1.0], object()])
def test_a_dividend_that_is_no_number(dividend):
    with pytest.raises(TypeError):
        dividend / tl.ones(2)


@pytest.mark.parametrize(
    "array",
    [np.array(["a", "b"]), np.array([1, "b"], dtype=object), np.zeros(2, dtype=[("x", float)])],
    ids=["text", "objects", "records"],
)
def test_a_tensor_does_not_equal_an_array_that_no_tensor_can_hold(array):
    tensor = tl.ones(2)
    assert (tensor == array) is False and (array == tensor) is False
    assert (tensor != array) is True and (array != tensor) is True
    assert tensor not in [array]
