"""Products of float32 with fewer bits of their factors, against numpy's of float64 and those with all bits."""

import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import row_cases as r  # noqa: E402

BITS = {"high": 16, "medium": 8}  # processors without instructions for tiles take all 24
SIZES = [(16, 200, 100), (33, 130, 257), (100, 1100, 65), (700, 64, 300), (150, 515, 32)]


@pytest.fixture(params=BITS)
def precision(request):
    tl.set_float32_matmul_precision(request.param)
    yield request.param
    tl.set_float32_matmul_precision("highest")


def with_all_bits(a, b):
    choice = tl.get_float32_matmul_precision()
    tl.set_float32_matmul_precision("highest")
    product = a @ b
    tl.set_float32_matmul_precision(choice)
    return product


def layouts(m, n):
    """A random matrix of that shape in several layouts."""
    yield tl.randn(m, n)
    yield tl.randn(n, m).t()
    yield tl.randn(2 * m, 3 * n)[::2, ::3]
    yield tl.randn(m, n + 1)[:, 1:]


@pytest.mark.parametrize("m, k, n", SIZES)
def test_error_is_that_of_the_bits(precision, m, k, n):
    for a in layouts(m, k):
        for b in layouts(k, n):
            x, y = a.numpy().astype(np.float64), b.numpy().astype(np.float64)
            error = np.abs((a @ b).numpy() - x @ y)
            assert np.all(error <= 2.0 ** (1 - BITS[precision]) * (np.abs(x) @ np.abs(y)))


def test_addmm_and_batches(precision):
    c, a, b = tl.randn(40, 150), tl.randn(3, 40, 120), tl.randn(3, 120, 150)
    bound = 2.0 ** (1 - BITS[precision])
    for result, want in (
        (tl.addmm(c, a[0], b[0], beta=2, alpha=-3), 2 * c.double() - 3 * (a[0].double() @ b[0].double())),
        (a @ b, a.double() @ b.double()),
    ):
        np.testing.assert_allclose(result.numpy(), want.numpy(), rtol=0, atol=bound * 3 * 120)


def test_many_rows_do_not_depend_on_their_number(precision):
    a, b = tl.randn(600, 700), tl.randn(700, 200)
    full = a @ b
    for rows in (16, 31, 32, 33, 100, 513):
        assert r.same(a[:rows] @ b, full[:rows])
    assert r.same((a[:40] @ b.t().contiguous().t()), full[:40])


def test_skinny_products_have_all_bits(precision):
    a, b = tl.randn(15, 300), tl.randn(300, 200)
    assert r.same(a @ b, with_all_bits(a, b))


@pytest.mark.parametrize("shape", [(300, 300, 300), (40, 3000, 40), (1100, 700, 90)])
def test_threads_change_nothing(precision, shape):
    m, k, n = shape
    a, b = tl.randn(m, k), tl.randn(k, n)
    before, results = tl.get_num_threads(), []
    for threads in (1, 2, 3, 8):
        tl.set_num_threads(threads)
        results.append(a @ b)
    tl.set_num_threads(before)
    assert all(r.same(results[0], other) for other in results[1:])


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 3.4e38])
def test_numbers_without_parts(precision, number):
    a, b = tl.randn(50, 200), tl.randn(200, 100)
    a[7, 30] = a[40, 199] = b[100, 55] = number
    b[30, 2] = 0
    result, want = a @ b, with_all_bits(a, b)
    unlike = ~want.isfinite()
    assert unlike.any() and r.same(result[unlike], want[unlike])
    bound = 2.0 ** (2 - BITS[precision]) * (a[~unlike.any(1)].abs() @ b.abs())[:, ~unlike.any(0)]
    assert ((result - want).abs()[~unlike.any(1)][:, ~unlike.any(0)] <= bound).all()


@pytest.mark.parametrize("small, other", [(1e-39, 1.0), (1e-35, 1e30), (1e-25, 1e-15), (3e-20, 3e-20)])
def test_small_numbers_are_not_lost(precision, small, other):
    for left, right in ((small, other), (other, small)):
        a, b = tl.randn(50, 200) * left, tl.randn(200, 100) * right
        a[3] = 0
        b[:, 4] = 0
        x, y = a.numpy().astype(np.float64), b.numpy().astype(np.float64)
        parts = 200 * 2.0**-133 * max(1, np.abs(x).max(), np.abs(y).max())  # what has none at all counts as 0
        bound = 2.0 ** (1 - BITS[precision]) * (np.abs(x) @ np.abs(y)) + parts
        assert np.all(np.abs((a @ b).numpy() - x @ y) <= bound)


def test_whole_numbers_of_few_bits_are_exact(precision):
    top = 2 ** (BITS[precision] // 2)
    a, b = tl.randint(-top, top, (64, 150)).float(), tl.randint(-top, top, (150, 128)).float()
    np.testing.assert_array_equal((a @ b).numpy(), a.numpy() @ b.numpy())


@pytest.mark.parametrize(
    "call",
    [
        lambda: tl.cdist(tl.rand(200, 300), tl.rand(150, 300)),
        lambda: tl.cdist(tl.rand(8, 100, 130), tl.rand(8, 140, 130), compute_mode="use_mm_for_euclid_dist"),
        lambda: tl.matrix_exp(tl.rand(150, 150) / 10),
        lambda: tl.orgqr(tl.rand(200, 150), tl.rand(150) / 100),
    ],
)
def test_differences_of_products_have_all_bits(precision, call):
    tl.manual_seed(5)
    result = call()
    tl.set_float32_matmul_precision("highest")
    tl.manual_seed(5)
    assert r.same(result, call())


def test_a_word_is_refused():
    with pytest.warns(UserWarning, match="'exact' is not one of 'highest', 'high' and 'medium'"):
        tl.set_float32_matmul_precision("exact")
    assert tl.get_float32_matmul_precision() == "highest"
