"""Arguments of different element types: the type of the result holds every number that is computed."""

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402

SMALL = [tl.uint8, tl.int8, tl.int16, tl.int32]


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("beta", [0, 1, 2])
def test_addr_multiplies_in_the_type_of_the_result(dtype, beta):
    a, b = [100, 120], [90, 7, 110]
    for wide in (tl.int64, tl.float64):
        result = tl.addr(
            tl.ones(2, 3, dtype=wide), tl.tensor(a, dtype=dtype), tl.tensor(b, dtype=dtype), beta=beta
        )
        assert result.dtype is wide
        np.testing.assert_array_equal(result.numpy(), beta + np.outer(a, b))


def test_addr_promotes_halves():
    a, b = tl.tensor([300.0], dtype=tl.float16), tl.tensor([301.0], dtype=tl.float16)
    result = tl.addr(tl.zeros(1, 1), a, b, beta=0)
    assert result.dtype is tl.float32
    assert result.item() == 300 * 301  # more than float16 holds


@pytest.mark.parametrize("dtype", [*SMALL, tl.bool])
@pytest.mark.parametrize("equation", ["i->", "ij->i", "ij->", "ii", "...i->..."])
def test_einsum_sums_small_integers_as_int64(dtype, equation):
    values = np.ones((3, 3)[: 1 if equation == "i->" else 2], np.int64) * (1 if dtype is tl.bool else 100)
    result = tl.einsum(equation, tl.tensor(values.tolist(), dtype=dtype))
    assert result.dtype is tl.int64
    np.testing.assert_array_equal(result.numpy(), np.einsum(equation, values))


def test_einsum_multiplies_a_sum_of_small_integers_as_int64():
    a, b = np.full((2, 3), 100), np.full((3, 4), 1)
    result = tl.einsum("ij,jk->i", tl.tensor(a.tolist(), dtype=tl.int8), tl.tensor(b.tolist(), dtype=tl.int8))
    np.testing.assert_array_equal(result.numpy(), np.einsum("ij,jk->i", a, b))


FORMS = {
    "masked_fill": lambda t, value: tl.masked_fill(t, tl.tensor([True, False, True]), value),
    "masked_fill_": lambda t, value: t.clone().masked_fill_(tl.tensor([True, False, True]), value),
    "index_fill": lambda t, value: tl.index_fill(t, 0, tl.tensor([0, -1]), value),
    "index_fill_": lambda t, value: t.clone().index_fill_(0, tl.tensor([0, -1]), value),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (tl.int64, tl.tensor(1.5), 1),
        (tl.int8, tl.tensor(100), 100),
        (tl.bool, tl.tensor(3), True),
        (tl.float32, tl.tensor(0.25, dtype=tl.float64), 0.25),
        (tl.float16, tl.tensor(2.0), 2.0),
        (tl.complex64, tl.tensor(2.0), 2.0),
    ],
)
def test_a_value_tensor_of_a_wider_type_fills_as_its_number(form, dtype, value, expected):
    result = FORMS[form](tl.zeros(3, dtype=dtype), value)
    assert result.dtype is dtype
    assert result.tolist() == [expected, 0, expected]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (tl.int32, tl.tensor(2**40)),
        (tl.uint8, tl.tensor(300)),
        (tl.float16, tl.tensor(1e9)),
        (tl.float32, tl.tensor(3j)),
    ],
)
def test_a_value_that_the_type_does_not_hold_is_refused(form, dtype, value):
    with pytest.raises(RuntimeError, match=r"value cannot be converted to type .* without overflow"):
        FORMS[form](tl.zeros(3, dtype=dtype), value)


@pytest.mark.parametrize("dtype", [tl.uint8, tl.int8, tl.int32, tl.int64])
def test_unravel_index_returns_int64(dtype):
    result = tl.unravel_index(tl.tensor([3, 127], dtype=dtype), (20, 300))
    assert [t.dtype for t in result] == [tl.int64] * 2
    assert [t.tolist() for t in result] == [list(t) for t in np.unravel_index([3, 127], (20, 300))]


@pytest.mark.parametrize("weights", [{"fweights": [0, 0, 0]}, {"aweights": [0.0, 0.0, 0.0]}])
def test_cov_refuses_weights_without_a_sum(weights):
    with pytest.raises(RuntimeError, match="weights sum to zero"):
        tl.cov(tl.rand(2, 3), **{name: tl.tensor(w) for name, w in weights.items()})
