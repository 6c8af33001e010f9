"""Sorting, ranks, quantiles, running extremes and counting against numpy."""

import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

from hypothesis import example, given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import tl_core as tl  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import row_cases as r  # noqa: E402

REAL = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    *r.HALVES,
    *r.FLOATS,
)
FLOATS = (*r.HALVES, *r.FLOATS)
LENGTHS = (1, 2, 24, 25, 300, 3000, 40_000)  # few are compared, many go by digits, more in parts
LONG = 40_000  # ranks are looked for in a sample first


def awkward(dtype, n, seed=0):
    """Numbers with many equal ones; of floating types also zeros of both signs, infinities and NaN."""
    rng = np.random.default_rng(seed + n)
    if dtype in FLOATS:
        data = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)
        for value in (0.0, -0.0, np.inf, -np.inf, np.nan):
            data[rng.integers(0, n, n // 20)] = value
    elif dtype == "bool":
        data = rng.integers(0, 2, n) == 1
    else:
        info = np.iinfo(dtype)
        full = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        data = np.where(rng.integers(0, 2, n) == 0, full, rng.integers(0, 5, n).astype(dtype))
    return tl.from_numpy(np.ascontiguousarray(data)).to(getattr(tl, dtype))


def numbers(dtype, n, seed=0):
    """The same with another number for each NaN."""
    x = awkward(dtype, n, seed)
    return tl.where(tl.isnan(x), 1, x).to(x.dtype)


def exact(t):
    """The elements in a type that holds them all."""
    return t.to(tl.float64).numpy() if t.is_floating_point() else t.numpy()


def equal(a, b):
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", LENGTHS)
def test_sort_is_stable(dtype, n):
    x = awkward(dtype, n)
    array = exact(x)
    order = np.argsort(array, kind="stable")
    values, indices = tl.sort(x)
    np.testing.assert_array_equal(indices.numpy(), order)
    assert equal(exact(values), array[order])
    assert equal(np.signbit(exact(values)), np.signbit(array[order])) or dtype not in FLOATS
    ranks = np.unique(array, return_inverse=True, equal_nan=True)[1]
    np.testing.assert_array_equal(tl.argsort(x, descending=True).numpy(), np.argsort(-ranks, kind="stable"))


# How bits may be spread over a line, as 64-bit words of which a type takes the upper ones.
SPREADS = {
    "everywhere": lambda rng, n: rng.integers(0, 2**64 - 1, n, np.uint64),
    "equal": lambda rng, n: np.full(n, 0x3FF0 << 48, np.uint64),
    "two far apart": lambda rng, n: rng.integers(0, 2, n, np.uint64) * np.uint64(0x7FE0 << 48),
    "half zeros": lambda rng, n: rng.integers(0, 2**62, n, np.uint64) * rng.integers(0, 2, n, np.uint64),
    "one far off": lambda rng, n: np.where(
        np.arange(n) == n // 2, np.uint64(2**62), rng.integers(0, 2**40, n, np.uint64)
    ),
    "by magnitudes": lambda rng, n: np.exp2(rng.uniform(0, 63, n)).astype(np.uint64),
    "clusters": lambda rng, n: sum(rng.integers(0, 5, n, np.uint64) << np.uint64(k) for k in range(0, 62, 9)),
    "ascending": lambda rng, n: np.sort(rng.integers(0, 2**63, n, np.uint64)),
    "descending": lambda rng, n: np.sort(rng.integers(0, 2**63, n, np.uint64))[::-1],
}


@given(
    st.sampled_from(REAL),
    st.sampled_from(sorted(SPREADS)),
    st.sampled_from([24, 25, 1 << 10, 1 << 15, (1 << 15) + 1, (1 << 17) - 1, 1 << 17, 300_000]),
    st.sampled_from([1, 2, 3]),
    st.integers(0, 2**32),
)
@example("float64", "clusters", 1 << 15, 1, 0)
@example("float64", "one far off", 300_000, 2, 0)
@example("int64", "one far off", 1 << 15, 1, 0)
@example("float32", "half zeros", 300_000, 3, 0)
@example("uint8", "everywhere", 300_000, 2, 0)
@example("bfloat16", "everywhere", 300_000, 1, 0)
def test_sort_of_any_spread(dtype, spread, n, threads, seed):
    words = np.ascontiguousarray(SPREADS[spread](np.random.default_rng(seed), n))
    if dtype == "bool":
        x = tl.from_numpy(words >> np.uint64(62) > 0)
    else:
        size = getattr(tl, dtype).itemsize
        bits = (words >> np.uint64(64 - 8 * size)).astype(f"u{size}").view(f"i{size}")
        x = tl.from_numpy(bits).view(getattr(tl, dtype))
    array, before = exact(x), tl.get_num_threads()
    tl.set_num_threads(threads)
    try:
        (up, indices), down = tl.sort(x), tl.argsort(x, descending=True)
    finally:
        tl.set_num_threads(before)
    order = np.argsort(array, kind="stable")
    np.testing.assert_array_equal(indices.numpy(), order)
    assert r.same(up, x[indices])
    ranks = np.unique(array, return_inverse=True, equal_nan=True)[1]
    np.testing.assert_array_equal(down.numpy(), np.argsort(-ranks, kind="stable"))


@pytest.mark.parametrize("dtype", REAL)
def test_ranks_agree_with_sorting(dtype):
    for n in (1, 7, 500, LONG):
        x = awkward(dtype, n)
        up, down = tl.sort(x), tl.sort(x, descending=True)
        for k in {1, min(3, n), (n + 8) // 9, n // 2 + 1, n}:
            for largest, order in ((False, up), (True, down)):
                top = tl.topk(x, k, largest=largest)
                assert r.same(top.values, order.values[:k])
                assert r.same(top.indices, order.indices[:k])
            kth = tl.kthvalue(x, k)
            assert equal(exact(kth.values), exact(up.values[k - 1]))
            assert equal(exact(x[kth.indices]), exact(kth.values))


@pytest.mark.parametrize("dtype", REAL[1:])
def test_medians(dtype):
    for shape in ((7,), (6,), (5, 8), (LONG,)):
        x = awkward(dtype, int(np.prod(shape))).reshape(shape)
        array = exact(x)
        low = np.sort(array, -1)[..., (shape[-1] - 1) // 2]
        want = np.where(np.isnan(array).any(-1), np.nan, low) if dtype in FLOATS else low
        values, indices = tl.median(x, -1)
        assert equal(exact(values), np.asarray(want))
        assert equal(exact(tl.take_along_dim(x, indices.unsqueeze(-1), -1)).squeeze(-1), np.asarray(want))
        if dtype in FLOATS:
            there = np.sum(~np.isnan(array), -1)
            middle = np.take_along_axis(np.sort(array, -1), np.maximum(there - 1, 0)[..., None] // 2, -1)[
                ..., 0
            ]
            assert equal(exact(tl.nanmedian(x, -1).values), middle)
    assert tl.isnan(tl.median(tl.empty(0)))


def test_mode_takes_the_smallest_of_the_most_frequent():
    x = tl.tensor([[3, 1, 3, 1, 2], [5, 5, 4, 4, 4], [1, 2, 3, 4, 5]])
    values, indices = tl.mode(x)
    assert (values.tolist(), indices.tolist()) == ([1, 4, 1], [3, 4, 0])
    assert tl.mode(x, 0, keepdim=True).values.tolist() == [[1, 1, 3, 4, 2]]


def test_lines_of_any_dimension_and_layout():
    x = awkward("float32", 3 * 50 * 4).reshape(3, 50, 4)
    for t in (x, x.permute(2, 0, 1).contiguous().permute(1, 2, 0), x[:, ::3], x[:, :1].expand(3, 50, 4)):
        for d in (0, 1, 2, -1):
            assert equal(tl.sort(t, d).values.numpy(), np.sort(t.numpy(), d))
            assert equal(tl.kthvalue(t, 2, d).values.numpy(), np.sort(t.numpy(), d).take(1, d))
            into = (tl.empty(0), tl.empty(0, dtype=tl.int64))
            tl.sort(t, d, out=into)
            assert r.same(into[0], tl.sort(t, d).values)


@pytest.mark.parametrize("how", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles(name, how):
    x = np.random.default_rng(1).normal(size=(4, 7, 5))
    if name == "nanquantile":
        x[0, 2:, 1] = x[1, :, 2] = np.nan
    t, output, expected = tl.from_numpy(x), getattr(tl, name), getattr(np, name)
    shares = np.array([0.0, 0.25, 0.61, 1.0])
    for d in (None, 0, 1, -1):
        for keep in (False, True):
            with np.errstate(all="ignore"), pytest.warns(RuntimeWarning) if _empty(name, d) else _quiet():
                want = expected(x, shares, d, method=how, keepdims=keep)
            result = output(t, tl.from_numpy(shares), d, keep, interpolation=how)
            np.testing.assert_allclose(result.numpy(), want, rtol=1e-13, err_msg=f"{d} {keep}")
            one = output(t, 0.25, d, keep, interpolation=how)
            np.testing.assert_allclose(one.numpy(), want[1], rtol=1e-13)
    assert np.isnan(tl.quantile(tl.tensor([1.0, np.nan, 3.0]), 0.1).item())


def _empty(name, d):
    return name == "nanquantile" and d == 1


def _quiet():
    import contextlib

    return contextlib.nullcontext()


@pytest.mark.parametrize("dtype", REAL)
def test_running_extremes(dtype):
    x = awkward(dtype, 60).reshape(3, 20)
    for name, ufunc in (("cummax", np.maximum), ("cummin", np.minimum)):
        for d in (0, 1):
            values, indices = getattr(tl, name)(x, d)
            assert equal(exact(values), ufunc.accumulate(exact(x), d))
            assert equal(exact(tl.gather(x, d, indices)), exact(values))
    assert tl.cummax(tl.tensor([1, 3, 2, 3]), 0).indices.tolist() == [0, 1, 1, 3]


def test_running_logsumexp():
    x = np.random.default_rng(2).normal(size=(3, 9)) * 400
    x[0, 0] = x[1, :3] = -np.inf
    for d in (0, 1):
        want = np.logaddexp.accumulate(x, d)
        np.testing.assert_allclose(tl.logcumsumexp(tl.from_numpy(x), d).numpy(), want, rtol=1e-14)
    z = np.random.default_rng(3).normal(size=(2, 5)) + 1j
    result = tl.logcumsumexp(tl.from_numpy(z), 1).numpy()
    np.testing.assert_allclose(np.exp(result), np.cumsum(np.exp(z), 1), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "int8", "int64", "bool"])
def test_running_sums_in_groups(dtype):
    x = awkward(dtype, 1003) if dtype != "float32" else tl.rand(1003)
    for t in (x, x[::3], x.reshape(17, 59).t()):
        kind = np.float64 if dtype == "float32" else np.int64
        np.testing.assert_allclose(tl.cumsum(t, -1).numpy(), np.cumsum(t.numpy().astype(kind), -1), rtol=2e-7)
        full = np.cumprod(t.numpy().astype(kind), -1).astype(np.float32 if dtype == "float32" else np.int64)
        np.testing.assert_allclose(tl.cumprod(t, -1).numpy(), full, rtol=1e-6, atol=1e-38)


# ---- searching and counting ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", *FLOATS])
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(dtype, side):
    for n in (0, 1, 2, 63, 1000):
        edges = tl.sort(numbers(dtype, max(n, 20))[:n]).values
        x = numbers(dtype, 200, 5).reshape(4, 50)
        want = np.searchsorted(exact(edges), exact(x), side)
        np.testing.assert_array_equal(tl.searchsorted(edges, x, side=side).numpy(), want)
        assert tl.bucketize(x, edges, out_int32=True, right=side == "right").dtype == tl.int32
    lines = tl.sort(tl.rand(3, 20), -1).values
    x = tl.rand(3, 7)
    want = np.stack([np.searchsorted(a, b, side) for a, b in zip(lines.numpy(), x.numpy(), strict=True)])
    np.testing.assert_array_equal(tl.searchsorted(lines, x, right=side == "right").numpy(), want)
    shuffled, order = tl.rand(20), None
    order = tl.argsort(shuffled)
    result = tl.searchsorted(shuffled, x, side=side, sorter=order)
    np.testing.assert_array_equal(
        result.numpy(), np.searchsorted(shuffled.numpy(), x.numpy(), side, order.numpy())
    )
    assert tl.searchsorted(tl.tensor([1, 3, 5]), 3.5).item() == 2
    assert tl.searchsorted(tl.tensor([1.0, np.nan]), np.nan, side=side).item() == 2


@pytest.mark.parametrize("dtype", REAL)
def test_unique(dtype):
    for n in (0, 1, 30, 2000):
        x = awkward(dtype, max(n, 20))[:n]
        x = x[~tl.isnan(x)]
        result = tl.unique(x, return_inverse=True, return_counts=True)
        want = np.unique(exact(x), return_inverse=True, return_counts=True)
        for a, b in zip(result, want, strict=True):
            np.testing.assert_array_equal(exact(a), b)
    assert len(tl.unique(tl.tensor([float("nan"), 1.0, float("nan")]))) == 3


def test_unique_slices_and_neighbours():
    x = np.random.default_rng(4).integers(0, 2, (3, 30, 2))
    for d in (0, 1, -1):
        values, inverse, counts = tl.unique(tl.from_numpy(x), return_inverse=True, return_counts=True, dim=d)
        want = np.unique(x, return_inverse=True, return_counts=True, axis=d)
        for a, b in zip((values, inverse, counts), want, strict=True):
            np.testing.assert_array_equal(a.numpy(), b)
    values, inverse, counts = tl.unique_consecutive(tl.tensor([1, 1, 2, 2, 2, 1]), True, True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 1], [0, 0, 1, 1, 1, 2], [2, 3, 1])
    assert tl.unique_consecutive(tl.tensor([[1, 1], [1, 1], [2, 1]]), dim=0).tolist() == [[1, 1], [2, 1]]


@pytest.mark.parametrize("tests", [3, 50])
def test_isin(tests):
    x, some = awkward("int32", 100).reshape(4, 25) % 30, awkward("int32", tests, 1) % 30
    np.testing.assert_array_equal(tl.isin(x, some).numpy(), np.isin(x.numpy(), some.numpy()))
    np.testing.assert_array_equal(tl.isin(x, some, invert=True).numpy(), ~np.isin(x.numpy(), some.numpy()))
    assert tl.isin(x, 3).dtype == tl.bool
    assert tl.isin(2, tl.tensor([1, 2])).item()


def test_counts():
    x = tl.tensor([1, 4, 1, 0])
    assert tl.bincount(x, minlength=7).tolist() == [1, 2, 0, 0, 1, 0, 0]
    weights = tl.tensor([0.5, 1.0, 2.0, 0.25])
    assert tl.bincount(x, weights).tolist() == [0.25, 2.5, 0, 0, 1]
    data = np.random.default_rng(5).normal(size=500)
    t = tl.from_numpy(data)
    np.testing.assert_array_equal(tl.histc(t, 12, -2, 1.5).numpy(), np.histogram(data, 12, (-2, 1.5))[0])
    np.testing.assert_array_equal(tl.histc(t, 9).numpy(), np.histogram(data, 9)[0])
    edges = np.array([-3.0, -1, 0, 0.5, 4])
    for density in (False, True):
        hist, _ = tl.histogram(t, tl.from_numpy(edges), density=density)
        np.testing.assert_allclose(hist.numpy(), np.histogram(data, edges, density=density)[0], rtol=1e-13)
    borders = tl.from_numpy(edges)
    tl.histogram(t, borders).bin_edges.zero_()
    assert borders.tolist() == [-3, -1, 0, 0.5, 4]
    hist, result = tl.histogram(t, 7, range=(-1.0, 2.0), weight=t.abs())
    want = np.histogram(data, 7, (-1, 2), weights=np.abs(data))
    np.testing.assert_allclose(hist.numpy(), want[0], rtol=1e-13)
    np.testing.assert_allclose(result.numpy(), want[1], rtol=1e-13, atol=1e-15)
    assert tl.count_nonzero(x).item() == 3
    assert tl.count_nonzero(x.reshape(2, 2), (0,)).tolist() == [2, 1]


def test_multinomial_samples_by_weight():
    tl.manual_seed(0)
    weights = tl.tensor([[0.0, 1.0, 3.0], [2.0, 0.0, 2.0]])
    samples = tl.multinomial(weights, 4000, replacement=True)
    for row, shares in zip(samples, ([0, 0.25, 0.75], [0.5, 0, 0.5]), strict=True):
        np.testing.assert_allclose(tl.bincount(row, minlength=3).numpy() / 4000, shares, atol=0.03)
    assert sorted(tl.multinomial(tl.ones(5), 5).tolist()) == [0, 1, 2, 3, 4]
    for bad, message in (([-1.0, 2.0], "< 0"), ([0.0, 0.0], "sum of probabilities")):
        with pytest.raises(RuntimeError, match=message):
            tl.multinomial(tl.tensor(bad), 1)


# ---- slopes, areas, norms --------------------------------------------------------------------------------------------
def test_differences_and_areas():
    x = np.random.default_rng(6).normal(size=(3, 8))
    t = tl.from_numpy(x)
    for n in (0, 1, 2, 7, 9):
        for d in (0, 1):
            if n <= x.shape[d]:
                np.testing.assert_allclose(tl.diff(t, n, d).numpy(), np.diff(x, n, d), atol=1e-13)
    np.testing.assert_allclose(
        tl.diff(t, prepend=t[:, :2], append=t[:, :1]).numpy(), np.diff(x, prepend=x[:, :2], append=x[:, :1])
    )
    at = np.sort(np.random.default_rng(7).normal(size=8))
    np.testing.assert_allclose(tl.trapezoid(t, tl.from_numpy(at)).numpy(), np.trapezoid(x, at), rtol=1e-12)
    np.testing.assert_allclose(
        tl.trapz(t, dx=0.5, dim=0).numpy(), np.trapezoid(x, dx=0.5, axis=0), rtol=1e-12
    )
    integrate = pytest.importorskip("scipy.integrate", reason="the reference is scipy's")
    np.testing.assert_allclose(
        tl.cumulative_trapezoid(t, tl.from_numpy(at)).numpy(),
        integrate.cumulative_trapezoid(x, at),
        rtol=1e-11,
    )
    for edge in (1, 2):
        for spacing in (0.5, at):
            mine = tl.from_numpy(at) if spacing is at else spacing
            result = tl.gradient(t, spacing=[mine], dim=1, edge_order=edge)[0].numpy()
            np.testing.assert_allclose(
                result, np.gradient(x, spacing, axis=1, edge_order=edge), rtol=1e-9, atol=1e-12
            )
    for result, want in zip(tl.gradient(t), np.gradient(x), strict=True):
        np.testing.assert_allclose(result.numpy(), want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("p", [2, 1, 0, 3, 0.5, -1, float("inf"), -float("inf"), "fro"])
def test_norms(p):
    x = np.random.default_rng(8).normal(size=(3, 4, 5))
    order = 2 if p == "fro" else p
    for t in (tl.from_numpy(x), tl.from_numpy(x + 2j)):
        for d in (0, 1, -1):
            want = np.linalg.norm(t.numpy(), order, d)
            np.testing.assert_allclose(tl.norm(t, p, d).numpy(), want, rtol=1e-12)
            assert (
                t.norm(p, d, keepdim=True).shape == np.linalg.norm(t.numpy(), order, d, keepdims=True).shape
            )
        np.testing.assert_allclose(t.norm(p).item(), np.linalg.norm(t.numpy().ravel(), order), rtol=1e-12)
    a, b = tl.rand(4, 5), tl.rand(5)
    want = np.linalg.norm((a.numpy() - b.numpy()).ravel(), order)
    np.testing.assert_allclose(tl.dist(a, b, order).item(), want, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["bool", "int32", *r.FLOATS, "complex64"])
def test_products(dtype):
    x = r.values(np.random.default_rng(9), (3, 4, 5), dtype, -1.5, 1.5)
    array = r.to_numpy(x).astype(np.int64) if dtype in ("bool", "int32") else r.to_numpy(x)
    for d in (0, 1, 2):
        np.testing.assert_allclose(r.to_numpy(tl.prod(x, d)), array.prod(d), rtol=1e-5)
    np.testing.assert_allclose(r.to_numpy(x.prod()), array.prod(), rtol=1e-4)
    assert tl.prod(tl.empty(0, 3), 0).tolist() == [1, 1, 1]


def test_numbers_among_nan():
    x = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, 2.5]])
    t = tl.from_numpy(x)
    for d in (0, 1, None):
        np.testing.assert_allclose(tl.nansum(t, d).numpy(), np.nansum(x, d))
        np.testing.assert_allclose(tl.nanmean(t, d).numpy(), np.nanmean(x, d))
    low, high = tl.aminmax(tl.from_numpy(np.nan_to_num(x)), dim=1)
    assert (low.tolist(), high.tolist()) == ([0, 0], [3, 2.5])


def test_named_results():
    import pickle

    result = tl.max(tl.tensor([[1, 2], [4, 3]]), 1)
    assert type(result) is tl.return_types.max
    assert type(tl.sort(tl.ones(2))) is tl.return_types.sort
    assert repr(result).startswith("torch.return_types.max(\nvalues=")
    assert [t.tolist() for t in pickle.loads(pickle.dumps(result))] == [[2, 4], [1, 0]]
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tl.return_types.nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: tl.kthvalue(x, 5), RuntimeError, "out of range for dimension 1"),
        (lambda x: tl.kthvalue(x[:, :0], 1), IndexError, "non-zero size"),
        (lambda x: tl.mode(x[:, :0]), IndexError, "non-zero size"),
        (lambda x: tl.quantile(x, 1.5), RuntimeError, r"range \[0, 1\]"),
        (lambda x: tl.quantile(x.long(), 0.5), RuntimeError, "float or double"),
        (lambda x: tl.quantile(x, 0.5, interpolation="odd"), RuntimeError, "interpolation must be one of"),
        (lambda x: tl.searchsorted(x, tl.ones(2, 2)), RuntimeError, "first N-1 dimensions"),
        (lambda x: tl.searchsorted(x[0], x, side="middle"), RuntimeError, "'left' or 'right'"),
        (lambda x: tl.bincount(x.long()), RuntimeError, "1-d non-negative"),
        (lambda x: tl.bincount(tl.tensor([-1])), RuntimeError, "1-d non-negative"),
        (lambda x: tl.histc(x, 0), RuntimeError, "bins must be > 0"),
        (lambda x: tl.unique(x.to(tl.complex64)), NotImplementedError, "not implemented for 'ComplexFloat'"),
        (lambda x: tl.diff(x, -1), RuntimeError, "non-negative but got -1"),
        (lambda x: tl.gradient(x, edge_order=3), RuntimeError, "edge_order"),
        (lambda x: tl.norm(x, "frob"), RuntimeError, "'fro' or 'nuc', but got 'frob'"),
        (
            lambda x: tl.norm(x[None], "fro", (0, 1, 2)),
            RuntimeError,
            r"at most 2 dimensions, but got dim=\(0, 1, 2\)",
        ),
        (lambda x: tl.unravel_index(tl.tensor(9), (2, 2)), ValueError, "outside of a shape"),
        (lambda x: tl.multinomial(x[0], 9), RuntimeError, "without replacement"),
    ],
)
def test_errors_name_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call(tl.rand(3, 4))


def test_unravel_index():
    flat = np.array([[0, 5], [11, 7]])
    result = tl.unravel_index(tl.from_numpy(flat), (3, 4))
    for a, b in zip(result, np.unravel_index(flat, (3, 4)), strict=True):
        np.testing.assert_array_equal(a.numpy(), b)


def test_results_do_not_depend_on_threads():
    x = tl.rand(300_000)
    before = tl.get_num_threads()
    try:
        result = []
        for n in (1, 2, 4):
            tl.set_num_threads(n)
            result.append((tl.sort(x).indices, tl.sum(x), tl.searchsorted(tl.sort(x).values, x)))
    finally:
        tl.set_num_threads(before)
    for other in result[1:]:
        assert all(r.same(a, b) for a, b in zip(result[0], other, strict=True))


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float32"])
@pytest.mark.parametrize("spread", [1, 7, 200, 100_000])
def test_unique_of_many(dtype, spread):
    rng = np.random.default_rng(11)
    low = 0 if dtype == "uint8" else -spread // 2
    x = (low + rng.integers(0, spread, 50_000) % (200 if dtype == "uint8" else spread)).astype(dtype)
    result = tl.unique(tl.from_numpy(x), return_inverse=True, return_counts=True)
    for output, want in zip(result, np.unique(x, return_inverse=True, return_counts=True), strict=True):
        np.testing.assert_array_equal(output.numpy(), want)
    np.testing.assert_array_equal(tl.unique(tl.from_numpy(x)).numpy(), np.unique(x))


@pytest.mark.parametrize(
    ("boundaries", "values"),
    [
        (tl.float32, tl.float64), (tl.int64, tl.float32), (tl.uint8, tl.int64), (tl.bfloat16, tl.float16),
        (tl.float64, tl.int32),
    ],
)  # fmt: skip
def test_positions_between_numbers_of_other_types(boundaries, values):
    line, x = tl.tensor([1, 3, 5], dtype=boundaries), tl.tensor([0, 1, 2, 3, 9], dtype=values)
    for right, expected in ((False, [0, 0, 1, 1, 3]), (True, [0, 1, 1, 2, 3])):
        assert tl.searchsorted(line, x, right=right).tolist() == expected
        assert tl.bucketize(x, line, right=right).tolist() == expected
    out = tl.empty(5, dtype=tl.int32)
    assert tl.searchsorted(line, x, out_int32=True, out=out) is out
    assert tl.searchsorted(line, x[:0]).shape == (0,)


def test_numbers_are_compared_in_the_common_type():
    # float32, in which both are 2**24
    assert tl.searchsorted(tl.tensor([2**24, 2**24 + 1]), tl.tensor([2.0**24 + 1])).tolist() == [0]
