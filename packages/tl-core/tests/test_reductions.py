"""Reductions, scans, sorting, matrix products and softmax against numpy, with layouts, out= and meta."""

import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")
special = pytest.importorskip("scipy.special", reason="the references of softmax are scipy's")

import tl_core as tl  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import row_cases as r  # noqa: E402

REAL = ("uint8", "int32", "int64", *r.HALVES, *r.FLOATS)
INEXACT = (*r.HALVES, *r.FLOATS, *r.COMPLEX)
ALL = ("bool", *REAL, *r.COMPLEX)
DIMS = (None, 0, 1, -1, (0, 2), (0, 1, 2))


def cube(seed, dtype, shape=(3, 4, 5)):
    """The same kind of input in several layouts: (name, tensor)."""
    rng = np.random.default_rng(seed)
    yield "dense", r.values(rng, shape, dtype)
    yield "permuted", r.values(rng, shape[::-1], dtype).permute(2, 1, 0)
    yield "gaps", r.values(rng, tuple(2 * n for n in shape), dtype)[::2, ::2, ::2]
    yield "expanded", r.values(rng, (shape[0], 1, shape[2]), dtype).expand(shape)
    yield "long", r.values(rng, (2, 3, 1000), dtype, -1, 1)


def check(call, want, x, **keywords):
    """Values, out= and meta of one call."""
    result = call(x, **keywords)
    r.assert_close(result, want, f"{keywords}")
    ghost = call(tl.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta"), **keywords)
    assert (ghost.dtype, ghost.shape, ghost.stride()) == (result.dtype, result.shape, result.stride())
    target = tl.empty(0, dtype=result.dtype)
    assert call(x, **keywords, out=target) is target
    assert r.same(target, result)
    return result


def wide(x):
    array = r.to_numpy(x)
    return array.astype(np.int64) if array.dtype == bool else array


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("keepdim", [False, True])
def test_sum(dtype, keepdim):
    for _, x in cube(1, dtype):
        for dim in DIMS:
            tolerance = {"bfloat16": 0.1, "float16": 2e-2}.get(dtype, 1e-4)
            result = tl.sum(x, dim, keepdim=keepdim)
            np.testing.assert_allclose(
                r.to_numpy(result), wide(x).sum(dim, keepdims=keepdim), rtol=tolerance, atol=tolerance
            )
            assert result.dtype == (getattr(tl, dtype) if dtype in INEXACT else tl.int64)
        assert x.sum(dtype=tl.float64).dtype == tl.float64


@pytest.mark.parametrize("name", ["amax", "amin"])
@pytest.mark.parametrize("dtype", ["bool", *REAL])
def test_extremes(name, dtype):
    for _, x in cube(2, dtype):
        for dim in DIMS[1:]:
            check(getattr(tl, name), getattr(np, name)(r.to_numpy(x), dim), x, dim=dim)
        if dtype != "bool":
            values, indices = getattr(tl, name[1:])(x, 1)
            assert r.same(values, getattr(tl, name)(x, 1))
            np.testing.assert_array_equal(indices.numpy(), getattr(np, "arg" + name[1:])(r.to_numpy(x), 1))
            assert getattr(tl, "arg" + name[1:])(x).item() == getattr(np, "arg" + name[1:])(r.to_numpy(x))


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_moments(name, dtype):
    for _, x in cube(3, dtype):
        for dim in DIMS:
            more = {} if name == "mean" else {"ddof": 1}
            want = np.asarray(getattr(np, name)(r.to_numpy(x), dim, **more))
            np.testing.assert_allclose(r.to_numpy(getattr(tl, name)(x, dim)), want, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize(("dtype", "offset", "rtol"), [("float32", 1e5, 4e-7), ("float64", 1e13, 1e-14)])
@pytest.mark.parametrize(
    ("shape", "dim"),
    [((7,), None), ((40, 1000), 1), ((1000, 40), 0), ((6, 20, 30), (0, 2)), ((400_000,), None)],
)
def test_the_rounding_of_a_mean_does_not_show_in_variances(dtype, offset, rtol, shape, dim):
    """Deviations that are small beside the mean, as times and counters have them."""
    array = (np.random.default_rng(5).standard_normal(shape) + offset).astype(dtype)
    want = (
        (array - array.dtype.type(offset)).astype(np.longdouble).var(dim, ddof=1)
    )  # the subtraction is exact
    x = tl.from_numpy(array)
    np.testing.assert_allclose(tl.var(x, dim).numpy(), want.astype(dtype), rtol=rtol)
    np.testing.assert_allclose(tl.std(x, dim).numpy(), np.sqrt(want).astype(dtype), rtol=rtol)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 3e38, 0])
def test_variances_of_neighbours_do_not_meet(bad):
    """Rows and columns that need another pass beside some that do not."""
    array = np.random.default_rng(6).standard_normal((12, 50)).astype("float32") + np.float32(1e5)
    array[3], array[5], array[7, 9] = 1e5, np.arange(50), bad
    x = tl.from_numpy(array)
    columns = tl.var(x.t().contiguous(), 0)
    for i in range(12):
        alone = tl.var(x[i])
        assert r.same(tl.var(x, 1)[i], alone)
        np.testing.assert_allclose(columns[i].numpy(), alone.numpy(), rtol=4e-7)
    assert tl.var(x[3]) == 0


@pytest.mark.parametrize("name", ["any", "all"])
@pytest.mark.parametrize("dtype", ALL)
def test_logical(name, dtype):
    for _, x in cube(4, dtype):
        for dim in DIMS:
            result = getattr(tl, name)(x) if dim is None else getattr(tl, name)(x, dim)
            np.testing.assert_array_equal(
                result.bool().numpy(), getattr(np, name)(r.to_numpy(x) != 0, axis=dim)
            )


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scans(name, dtype, dim):
    for _, x in cube(5, dtype):
        check(lambda x, **k: getattr(tl, name)(x, dim, **k), getattr(np, name)(wide(x), dim), x)
        if dtype not in ("bool", "int32"):
            assert r.same(getattr(x.clone(), name + "_")(dim), getattr(tl, name)(x, dim))


@pytest.mark.parametrize("dtype", ["bool", *REAL])
@pytest.mark.parametrize("dim", [0, -1])
def test_sort_and_topk(dtype, dim):
    for _, x in cube(6, dtype):
        array = r.to_numpy(x)
        order = np.argsort(array, dim, kind="stable")
        values, indices = tl.sort(x, dim)
        np.testing.assert_array_equal(indices.numpy(), order)
        np.testing.assert_array_equal(r.to_numpy(values), np.take_along_axis(array, order, dim))
        down, descending = tl.sort(x, dim, descending=True)
        np.testing.assert_array_equal(r.to_numpy(down), np.flip(r.to_numpy(values), dim))
        assert r.same(x.gather(dim, descending), down)
        largest, where = tl.topk(x, 2, dim)
        assert r.same(largest, down.narrow(dim, 0, 2))
        assert r.same(where, descending.narrow(dim, 0, 2))
        assert r.same(tl.topk(x, 2, dim, largest=False).values, values.narrow(dim, 0, 2))


@pytest.mark.parametrize("k", [0, 1])
def test_a_number_is_the_largest_of_itself(k):
    values, indices = tl.topk(tl.tensor(3.0), k)
    assert values.item() == 3.0 and values.shape == () and indices.item() == 0


def test_nan_is_the_largest():
    x = tl.tensor([2.0, float("nan"), -1.0, float("inf")])
    assert tl.sort(x).indices.tolist() == [2, 0, 3, 1]
    assert tl.sort(x, descending=True).indices.tolist() == [1, 3, 0, 2]
    assert tl.topk(x, 1).indices.tolist() == [1]
    assert tl.max(x, 0).indices.item() == 1


@pytest.mark.parametrize("dtype", [*r.HALVES, *r.FLOATS])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_softmax(dtype, dim):
    tolerance = r.TOLERANCE[dtype] * 2
    for _, x in cube(7, dtype):
        x = x * 10
        for name in ("softmax", "log_softmax"):
            want = getattr(special, name)(r.to_numpy(x), dim)
            np.testing.assert_allclose(
                r.to_numpy(getattr(tl, name)(x, dim)), want, rtol=tolerance, atol=tolerance
            )
        want = special.logsumexp(r.to_numpy(x), dim)
        np.testing.assert_allclose(r.to_numpy(tl.logsumexp(x, dim)), want, rtol=tolerance * 4, atol=tolerance)


def test_softmax_of_infinities():
    x = tl.tensor([[float("inf"), 0.0], [float("-inf"), 0.0]])
    assert tl.softmax(x, 1)[1].tolist() == [0, 1]
    assert tl.isnan(tl.softmax(x, 1)[0]).all()
    assert tl.logsumexp(tl.full((3,), float("-inf")), 0).item() == float("-inf")


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    "shapes",
    [((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)),
     ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((70, 130), (130, 40)), ((1, 300), (300, 1))],
)  # fmt: skip
def test_matmul(dtype, shapes):
    rng = np.random.default_rng(8)
    a, b = (r.values(rng, s, dtype) for s in shapes)
    want = np.matmul(r.to_numpy(a), r.to_numpy(b))
    tolerance = 1e-3 if dtype in ("float32", "complex64") else 1e-10
    np.testing.assert_allclose(r.to_numpy(a @ b), want, rtol=tolerance, atol=tolerance)
    turned = [t.transpose(-1, -2).contiguous().transpose(-1, -2) if t.dim() > 1 else t for t in (a, b)]
    np.testing.assert_allclose(r.to_numpy(tl.matmul(*turned)), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("dtype", ALL)
def test_triangles(name, dtype):
    for _, x in cube(9, dtype):
        for diagonal in (-9, -1, 0, 2, 9):
            check(
                lambda x, k=diagonal, **more: getattr(tl, name)(x, k, **more),
                getattr(np, name)(r.to_numpy(x), diagonal),
                x,
            )


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("diagonal", [-(2**62), -2, 0, 1, 2**62])
def test_triangles_over_their_own_input(name, diagonal):
    x = np.arange(24.0).reshape(2, 3, 4)
    want = getattr(np, name)(x, int(np.clip(diagonal, -9, 9)))
    for turn in (lambda t: t, lambda t: t.transpose(1, 2).contiguous().transpose(1, 2)):
        own = turn(tl.from_numpy(x.copy()))
        np.testing.assert_array_equal(getattr(own, f"{name}_")(diagonal).numpy(), want)
        np.testing.assert_array_equal(own.numpy(), want)
    assert getattr(tl, name)(tl.zeros(2, 0, 3)).shape == (2, 0, 3)


@pytest.mark.parametrize("steps", [0, 1, 2, 7, 100])
def test_ranges(steps):
    r.assert_close(tl.linspace(-1.5, 4, steps, dtype=tl.float64), np.linspace(-1.5, 4, steps))
    r.assert_close(tl.linspace(1 + 1j, 4, steps, dtype=tl.complex128), np.linspace(1 + 1j, 4, steps))
    r.assert_close(tl.arange(0.5, 0.5 + steps * 0.25, 0.25, dtype=tl.float64), np.arange(steps) * 0.25 + 0.5)
    r.assert_close(tl.arange(steps, -3, -2), np.arange(steps, -3, -2))


def test_empty_reductions():
    x = tl.empty(0, 3)
    assert x.sum().item() == 0
    assert x.sum(0).tolist() == [0, 0, 0]
    assert tl.isnan(x.mean())
    assert tl.all(x)
    assert not tl.any(x)
    for call in (lambda: x.max(), lambda: x.amax(), lambda: x.argmax(), lambda: x.max(0)):
        with pytest.raises((RuntimeError, IndexError), match="dim"):
            call()


def test_errors_name_what_is_wrong():
    x = tl.ones(3, 4)
    for call, error, message in (
        (lambda: x.sum(2), IndexError, r"expected to be in range of \[-2, 1\], but got 2"),
        (lambda: x.sum((0, 0)), RuntimeError, "appears multiple times"),
        (lambda: x.cumsum(5), IndexError, "expected to be in range"),
        (lambda: tl.topk(x, 5), RuntimeError, "selected index k out of range"),
        (lambda: x @ tl.ones(3, 4), RuntimeError, "cannot be multiplied"),
        (lambda: x.long().mean(), RuntimeError, "could not infer output dtype"),
        (lambda: tl.sort(x.to(tl.complex64)), RuntimeError, "complex"),
        (lambda: tl.clamp(x), RuntimeError, "At least one of 'min' or 'max'"),
        (lambda: x.masked_fill(x, 0), RuntimeError, "only supports boolean masks"),
        (lambda: tl.softmax(x.to(tl.complex64), 0), NotImplementedError, "not implemented"),
        (lambda: tl.tril(tl.ones(3)), RuntimeError, "at least 2 dimensions"),
        (lambda: tl.linspace(0, 1, -1), RuntimeError, "non-negative"),
    ):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
)
@pytest.mark.parametrize("n", [1, 3, 31, 33, 100, 4097])
def test_one_element_decides_any_and_all(name, n):
    """Wherever it lies: in whole words, or behind them."""
    dtype = getattr(tl, name)
    top = 1 if dtype == tl.bool else tl.iinfo(dtype).max
    for value in (1, top):
        for k in {0, n // 2, n - 1}:
            one, other = tl.zeros(n, dtype=dtype), tl.full((n,), value, dtype=dtype)
            assert not one.any() and other.all()
            one[k], other[k] = value, 0
            assert one.any() and not other.all()
            assert bool(one.all()) == (n == 1) and bool(other.any()) == (n > 1)
