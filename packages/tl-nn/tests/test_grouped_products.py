"""Products of groups of matrices, and of float8 matrices with scales."""

from __future__ import annotations

import numpy as np
import pytest

import tl_core as tl
from tl_nn import functional as F
from tl_nn.functional import grouped_products

WHOLE, ROWS = F.ScalingType.TensorWise, F.ScalingType.RowWise


def ends(*numbers):
    return tl.tensor(numbers, dtype=tl.int32)


@pytest.mark.parametrize("dtype", [tl.float32, tl.bfloat16, tl.float16])
@pytest.mark.parametrize("last", [(1, 1, 6), (2, 5, 8)])
def test_rows_of_experts(dtype, last):
    x, w = tl.randn(8, 16, dtype=dtype), tl.randn(3, 16, 4, dtype=dtype)
    y = F.grouped_mm(x, w, offs=ends(*last))
    starts = (0, *last)
    for i, end in enumerate(last):
        assert tl.equal(y[starts[i] : end], x[starts[i] : end] @ w[i])
    assert y.shape == (8, 4) and not y[last[-1] :].any()


def test_columns_sums_and_batches():
    a, b = tl.randn(3, 5, 6), tl.randn(6, 10)
    y = F.grouped_mm(a, b, offs=ends(4, 4, 9))
    assert tl.equal(y[:, :4], a[0] @ b[:, :4]) and tl.equal(y[:, 4:9], a[2] @ b[:, 4:9]) and not y[:, 9].any()
    a, b = tl.randn(5, 9), tl.randn(9, 2)
    y = F.grouped_mm(a, b, offs=ends(4, 9))
    assert tl.equal(y, tl.stack([a[:, :4] @ b[:4], a[:, 4:] @ b[4:]]))
    a, b = tl.randn(2, 3, 4), tl.randn(2, 4, 5)
    assert tl.equal(F.grouped_mm(a, b), a @ b)


def test_gradients_of_groups():
    x, w = tl.randn(6, 3, dtype=tl.float32, requires_grad=True), tl.randn(2, 3, 4, requires_grad=True)
    F.grouped_mm(x, w, offs=ends(2, 5)).sum().backward()
    assert tl.allclose(x.grad[:2], w[0].sum(1).expand(2, 3)) and not x.grad[5].any()
    assert tl.allclose(w.grad[1], x[2:5].sum(0).unsqueeze(1).expand(3, 4))


@pytest.mark.parametrize(
    ("a", "b", "offs", "words"),
    [
        ((4, 8), (2, 8, 3), None, "Have to provide offsets"),
        ((2, 4, 8), (2, 8, 3), (2, 4), "Have to provide offsets"),
        ((4, 7), (2, 8, 3), (2, 4), "contraction dimension"),
        ((4, 8), (2, 8, 3), (4,), "batch sizes"),
        ((8,), (2, 8, 3), (2, 4), "2 or 3d"),
        ((4, 8), (2, 8, 3), (2, 5), "behind the end"),
        ((4, 8), (2, 8, 3), (3, 2), "must not decrease"),
    ],
)
def test_groups_that_do_not_fit(a, b, offs, words):
    with pytest.raises(RuntimeError, match=words):
        F.grouped_mm(tl.ones(a), tl.ones(b), offs=None if offs is None else ends(*offs))


def test_types_of_groups():
    with pytest.raises(RuntimeError, match="Float32, BFloat16 or Float16"):
        F.grouped_mm(tl.ones(2, 2).double(), tl.ones(2, 2).double(), offs=ends(1, 2))
    with pytest.raises(RuntimeError, match="int32"):
        F.grouped_mm(tl.ones(2, 2), tl.ones(1, 2, 2), offs=tl.tensor([2]))
    with pytest.raises(RuntimeError, match="dtype"):
        F.grouped_mm(tl.ones(1, 2, 2), tl.ones(1, 2, 2), out_dtype=tl.bfloat16)


def float8(*shape):
    return tl.randint(-4, 5, shape).to(tl.float8_e4m3fn)


@pytest.mark.parametrize("dtype", [tl.bfloat16, tl.float32, tl.float16])
def test_scales_of_rows_and_columns(dtype):
    a, b, sa, sb = float8(5, 16), float8(16, 3), tl.rand(5, 1), tl.rand(1, 3)
    expected = (a.float() * sa) @ (b.float() * sb)
    y = F.scaled_mm(a, b, sa, ROWS, sb.t(), ROWS, output_dtype=dtype)
    assert y.dtype is dtype and tl.allclose(y.float(), expected, rtol=1e-2, atol=1e-2)
    one = F.scaled_mm(a, b, sa[0], WHOLE, sb[0, 0], WHOLE, bias=tl.ones(3), output_dtype=tl.float32)
    assert tl.allclose(one, a.float() @ b.float() * sa[0] * sb[0, 0] + 1)
    assert F.scaled_mm(a, b, sa[0], WHOLE, sb[0, 0], WHOLE, output_dtype=None).dtype is tl.float8_e4m3fn


def test_scales_of_groups():
    a, b = float8(6, 16), float8(2, 16, 3)
    sa, sb = tl.rand(6), tl.rand(2, 3)
    y = F.scaled_grouped_mm(a, b, sa, ROWS, sb, ROWS, offs=ends(2, 6), output_dtype=tl.float32)
    first = (a[:2].float() @ b[0].float()) * sa[:2, None] * sb[0]
    assert tl.allclose(y[:2], first, rtol=1e-5, atol=1e-5)


def test_scales_that_do_not_fit():
    a, b, one = float8(4, 16), float8(16, 4), tl.tensor(1.0)
    for scale_a, scale_b in ((tl.ones(3), one), (one.double(), one), (tl.ones(4, 1), one)):
        with pytest.raises(ValueError, match="Invalid scaling configuration"):
            F.scaled_mm(a, b, scale_a, WHOLE, scale_b, WHOLE)
    with pytest.raises(ValueError, match="Invalid scaling configuration"):
        F.scaled_mm(a.float(), b.float(), one, WHOLE, one, WHOLE)
    with pytest.raises(ValueError, match="levels"):
        F.scaled_mm(a, b, [one, one], [ROWS, WHOLE], [one, one], [ROWS, WHOLE])
    with pytest.raises(RuntimeError, match="Bias must be size 4 but got 5"):
        F.scaled_mm(a, b, one, WHOLE, one, WHOLE, bias=tl.ones(5))


def test_products_of_groups():
    rng = np.random.default_rng(0)
    a, b, ends = rng.normal(size=(5, 3)), rng.normal(size=(2, 3, 4)), tl.tensor([2, 5], dtype=tl.int32)
    expected = np.concatenate([a[:2] @ b[0], a[2:] @ b[1]])
    np.testing.assert_allclose(grouped_products.product_of_groups(tl.tensor(a), tl.tensor(b), ends), expected)
    c = rng.normal(size=(5, 4))
    inner = np.stack([a[:2].T @ c[:2], a[2:].T @ c[2:]])
    np.testing.assert_allclose(grouped_products.product_of_groups(tl.tensor(a).T, tl.tensor(c), ends), inner)
    with pytest.raises(RuntimeError, match="must not decrease"):
        grouped_products.product_of_groups(tl.tensor(a), tl.tensor(b), ends.flip(0))


@pytest.mark.parametrize(
    ("shapes", "ends", "text"),
    [
        (((3,), (3, 4)), None, "2 or 3d"),
        (((5, 3), (2, 3, 4)), None, "offsets"),
        (((5, 3), (2, 4, 4)), [2, 5], "contraction dimension"),
        (((5, 3), (2, 3, 4)), [[2, 5]], "1D"),
    ],
)
def test_refused_groups(shapes, ends, text):
    a, b = (tl.ones(shape) for shape in shapes)
    with pytest.raises(RuntimeError, match=text):
        grouped_products.check_groups(a, b, None if ends is None else tl.tensor(ends, dtype=tl.int32))
