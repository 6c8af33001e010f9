"""Comparison within tolerances, and tensors to test with."""

from __future__ import annotations

import functools
import math

import pytest

import tl_core as tl
from tl_core.testing import assert_allclose, assert_close, make_tensor

np = pytest.importorskip("numpy")
ONE_OF_THREE = """Tensor-likes are not close!

Mismatched elements: 1 / 3 (33.3%)
Greatest absolute difference: 1.0 at index (2,) (up to 1e-05 allowed)
Greatest relative difference: 0.25 at index (2,) (up to 1.3e-06 allowed)"""


def told(actual, expected, **rules):
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected, **rules)
    return str(caught.value)


# ---- tensors


def test_close_tensors():
    assert_close(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 2.0 + 1e-6]))
    assert_close(tl.ones(3, 0), tl.ones(3, 0))
    assert_close(tl.zeros(2), tl.zeros(2).neg())
    assert_close(tl.tensor(math.inf), tl.tensor(math.inf))
    assert_close(tl.tensor([math.nan]), tl.tensor([math.nan]), equal_nan=True)
    assert_close(tl.ones(2, device="meta"), tl.zeros(2, device="meta"))


def test_how_many_and_where():
    assert told(tl.tensor([1.0, 2.0, 3.0]), tl.tensor([1.0, 2.0, 4.0])) == ONE_OF_THREE
    assert "1.0 at index (1, 0)" in told(tl.tensor([[1], [2]]), tl.tensor([[1], [1]]))
    assert "0.5 at index (0,) (up to 0 allowed)" in told(tl.tensor([1.0]), tl.tensor([2.0]), rtol=0, atol=0.5)
    assert "Greatest absolute difference: nan" in told(tl.tensor([math.nan]), tl.tensor([math.nan]))
    assert "Greatest absolute difference: 1 at index (0,)\n" in told(
        tl.tensor([1, 2], dtype=tl.uint8), tl.tensor([2, 1], dtype=tl.uint8)
    )


def test_a_tensor_without_dimensions_is_a_number():
    assert told(tl.tensor(1.0), tl.tensor(2.0)).splitlines() == [
        "Scalars are not close!",
        "",
        "Expected 2.0 but got 1.0.",
        "Absolute difference: 1.0 (up to 1e-05 allowed)",
        "Relative difference: 0.5 (up to 1.3e-06 allowed)",
    ]


@pytest.mark.parametrize(
    ("dtype", "rtol"),
    [("float16", 1e-3), ("bfloat16", 1.6e-2), ("float32", 1.3e-6), ("float64", 1e-7), ("complex128", 1e-7)],
)
def test_tolerances_of_types(dtype, rtol):
    expected = tl.full((1,), 2.0**10, dtype=tl.float64)
    one, other = (expected * (1 + rtol * share) for share in (0.9, 1.1))
    close = functools.partial(assert_close, expected=expected, check_dtype=False)
    if dtype != "float64":
        close = functools.partial(close, expected=expected.to(getattr(tl, dtype)))
    close(one)
    with pytest.raises(AssertionError):
        close(other)


@pytest.mark.parametrize(
    ("actual", "expected", "attribute"),
    [
        (tl.ones(1), tl.ones(2), "shape"),
        (tl.ones(1), tl.ones(1, dtype=tl.float64), "dtype"),
        (tl.ones(1), tl.ones(1, device="meta"), "device"),
        (tl.eye(2).to_sparse(), tl.eye(2), "layout"),
    ],
)
def test_attributes(actual, expected, attribute):
    assert told(actual, expected).startswith(f"The values for attribute '{attribute}' do not match: ")
    if attribute != "shape":
        assert_close(actual, expected, **{f"check_{attribute}": False})


def test_strides():
    assert_close(tl.ones(2, 3).t(), tl.ones(3, 2))
    assert "(1, 3) != (2, 1)" in told(tl.ones(2, 3).t(), tl.ones(3, 2), check_stride=True)


def test_sparse_tensors():
    eye = tl.eye(2).to_sparse()
    assert_close(eye, eye)
    assert told(eye, eye * 2).startswith("Sparse COO values are not close!\n\nMismatched elements: 2 / 2")
    assert "does not match: 2 != 4" in told(eye, tl.ones(2, 2).to_sparse())


# ---- numbers, arrays and containers


def test_numbers():
    assert_close(1.0, 1.0 + 1e-8)
    assert_close(1, 1.0, check_dtype=False)
    assert_close(np.float32(1), np.float32(1))
    assert "<class 'float'> != <class 'int'>" in told(1.0, 1)
    assert "Relative difference: inf" in told(0.5, 0.0)
    assert told(True, np.bool_(False)) == "Booleans mismatch: True is not False"
    assert told(None, 1) == "None mismatch: None is not 1"
    assert told(1e-9, 1e-10, rtol=0, atol=0).startswith(
        "Scalars are not equal!\n\nExpected 1e-10 but got 1e-09.\n"
    )


def test_containers():
    assert_close({"a": [1, np.array(2.0)], "b": tl.ones(1)}, {"b": tl.ones(1), "a": (1, np.array(2.0))})
    assert told([1], [1, 2]) == "The length of the sequences mismatch: 1 != 2"
    assert told({"a": 1}, {"b": 1}).endswith(
        "actual mapping: ['b']\nAdditional keys in the actual mapping: ['a']"
    )
    assert told([1, {"x": 2}], [1, {"x": 3}]).endswith("\n\nThe failure occurred for item [1]['x']")


@pytest.mark.parametrize(
    ("actual", "expected"), [("a", "a"), (tl.ones(1), 1.0), (tl.ones(1), np.ones(1)), (object(), object())]
)
def test_what_has_nothing_to_do_with_each_other(actual, expected):
    with pytest.raises(TypeError, match="No comparison pair was able to handle"):
        assert_close(actual, expected)


def test_what_cannot_be_compared_comes_first():
    with pytest.raises(TypeError, match=r"item \[1\]"):
        assert_close([1, "a"], [2, "a"])


def test_subclasses():
    parameter = tl.Parameter(tl.ones(1), requires_grad=False)
    assert_close(parameter, tl.ones(1))
    with pytest.raises(TypeError, match="Parameter"):
        assert_close(parameter, tl.ones(1), allow_subclasses=False)


def test_messages():
    assert told(1, 2, msg="other") == "other"
    assert told(1, 2, msg=lambda text: f"<{text}>").startswith("<Scalars are not equal!")
    with pytest.raises(ValueError, match="got no atol"):
        assert_close(1, 1, rtol=0.1)


def test_the_older_name():
    with pytest.warns(FutureWarning, match="assert_close"):
        assert_allclose(tl.tensor([1.0, 2.0]), [1.0, 2.0 + 1e-5])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="Mismatched elements: 1 / 2"):
        assert_allclose(tl.tensor([1.0, 2.0]), [1.0, 2.1])


# ---- random tensors

NUMBERS = (
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"),
)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("noncontiguous", [False, True])
def test_random_tensors(name, noncontiguous):
    tl.manual_seed(0)
    dtype = getattr(tl, name)
    result = make_tensor((20, 30), dtype=dtype, device="cpu", noncontiguous=noncontiguous, exclude_zero=True)
    assert (result.dtype, result.shape, result.is_contiguous()) == (dtype, (20, 30), not noncontiguous)
    assert 0 not in result.flatten().tolist()
    parts = np.array(result.tolist())
    parts = np.concatenate([parts.real, parts.imag]) if dtype.is_complex else parts.astype(float)
    low, high = (0, 2) if name == "bool" else (0, 10) if name[0] == "u" else (-9, 10 if name[0] == "i" else 9)
    assert parts.min() >= low and parts.max() <= high
    assert abs(parts.mean() - (low + high) / 2) < 1.5


def test_ranges():
    assert set(make_tensor(500, dtype=tl.int8, device="cpu", low=-300, high=-126).tolist()) == {-128, -127}
    with pytest.warns(FutureWarning, match="Passing `low==high`"):
        assert make_tensor(3, dtype=tl.float32, device="cpu", low=2, high=2).tolist() == [2, 2, 2]
    assert make_tensor(2, 3, dtype=tl.float32, device="cpu", requires_grad=False).shape == (2, 3)
    assert make_tensor((), dtype=tl.int64, device="cpu").shape == ()
    channels = make_tensor((2, 3, 4, 5), dtype=tl.float32, device="cpu", memory_format=tl.channels_last)
    assert channels.is_contiguous(memory_format=tl.channels_last)


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ({"dtype": tl.float32, "low": 2, "high": 1}, ValueError, "`low` must be less than `high`"),
        ({"dtype": tl.int32, "low": 2, "high": 2}, ValueError, "`low` must be less than `high`"),
        ({"dtype": tl.int32, "low": 1.5, "high": 1.9}, ValueError, "in whole numbers"),
        ({"dtype": tl.float32, "low": math.nan}, ValueError, "cannot be NaN"),
        ({"dtype": tl.int8, "low": 300, "high": 400}, ValueError, r"only supports \[-128, 128\)"),
        ({"dtype": tl.int32, "requires_grad": True}, ValueError, "requires_grad=True"),
        (
            {"dtype": tl.float32, "noncontiguous": True, "memory_format": tl.channels_last},
            ValueError,
            "mutually exclusive",
        ),
    ],
)
def test_random_tensors_that_cannot_be(rules, error, message):
    with pytest.raises(error, match=message):
        make_tensor((2, 2), device="cpu", **rules)
