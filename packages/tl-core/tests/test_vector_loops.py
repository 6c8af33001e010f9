"""Loops that take several rows, columns or elements at once, at the sizes where they change their way."""

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402

WIDTHS = (1, 7, 16, 17, 63, 64, 65, 256, 4096, 4103)
COUNTS = (1, 8, 17, 300)
LAYOUTS = {
    "dense": lambda n, m: (n, m, lambda x: x),
    "spaced": lambda n, m: (n, 2 * m, lambda x: x[:, ::2]),
    "wide": lambda n, m: (n, 3 * m, lambda x: x[:, 1::3]),
    "turned": lambda n, m: (m, n, lambda x: x.t() if isinstance(x, tl.Tensor) else x.T),
}


def _drawn(rng, shape, dtype):
    if dtype == "int64":
        return rng.integers(-1000, 1000, shape)
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_rows_of_every_length(dtype, layout):
    rng = np.random.default_rng(3)
    for count in COUNTS:
        for width in WIDTHS:
            *shape, records = LAYOUTS[layout](count, width)
            base = tl.tensor(_drawn(rng, shape, dtype)).to(getattr(tl, dtype))
            x = records(base)
            want = records(base.double().numpy() if dtype != "int64" else base.numpy())
            close = {"rtol": 1e-5, "atol": 1e-3} if dtype != "bfloat16" else {"rtol": 8e-3, "atol": 0.5}
            np.testing.assert_allclose(x.sum(1).double().numpy(), want.sum(1), **close)
            np.testing.assert_array_equal(x.amax(1).double().numpy(), want.max(1))
            values, positions = x.max(1)
            np.testing.assert_array_equal(values.double().numpy(), want.max(1))
            np.testing.assert_array_equal(positions.numpy(), want.argmax(1))
            if dtype != "int64" and width > 1:
                np.testing.assert_allclose(x.double().var(1).numpy(), want.var(1, ddof=1), rtol=1e-9)
                np.testing.assert_allclose(x.float().var(1).numpy(), want.var(1, ddof=1), rtol=2e-4)


@pytest.mark.parametrize("columns", [1, 2, 8, 63, 64, 65])
def test_the_first_extreme_of_a_few_columns(columns):
    rng = np.random.default_rng(4)
    x = rng.integers(0, 5, (5000, columns)).astype(np.float32)
    x[[70, 900], 0] = np.nan
    want = np.where(np.isnan(x).any(0), np.isnan(x).argmax(0), x.argmax(0))
    np.testing.assert_array_equal(tl.tensor(x).argmax(0).numpy(), want)
    np.testing.assert_array_equal(tl.tensor(x).max(0).indices.numpy(), want)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("width", [16_383, 16_384, 17_407, 17_408, 40_001])
def test_long_lines_are_searched_by_a_sample(width, side):
    rng = np.random.default_rng(5)
    edges = np.sort(rng.integers(0, width, width)).astype(np.float32)
    expected = np.concatenate(
        [edges[::7], edges[:1] - 1, edges[-1:] + 1, rng.random(500, np.float32) * width]
    )
    result = tl.searchsorted(tl.tensor(edges), tl.tensor(expected.astype(np.float32)), side=side)
    np.testing.assert_array_equal(result.numpy(), np.searchsorted(edges, expected.astype(np.float32), side))


def test_angles_at_the_axes():
    ends = np.array([0.0, -0.0, 1.0, -1.0, 3.5, -2e-40, np.inf, -np.inf, np.nan], np.float32)
    y, x = np.meshgrid(ends, ends)
    result = tl.atan2(tl.tensor(y), tl.tensor(x)).numpy()
    np.testing.assert_allclose(result, np.arctan2(y, x), rtol=3e-7)
    np.testing.assert_array_equal(
        np.signbit(result), np.signbit(np.arctan2(y, x)) | (np.isnan(result) & np.signbit(result))
    )


def test_remainders_with_signs_and_ends():
    ends = np.array([0.0, -0.0, 1.0, -1.0, 0.1, -7.25, 1e30, -3e38, np.inf, -np.inf, np.nan], np.float32)
    x, y = np.meshgrid(ends, ends)
    with np.errstate(all="ignore"):
        finite = np.isfinite(x) & np.isfinite(y) & (y != 0)
        want, full = np.remainder(x, y), np.floor_divide(x, y)
    result = tl.remainder(tl.tensor(x), tl.tensor(y)).numpy()
    np.testing.assert_array_equal(result[finite], want[finite])
    assert np.isnan(result[~np.isfinite(x) | (y == 0)]).all()
    quotients = tl.floor_divide(tl.tensor(x), tl.tensor(y)).numpy()
    np.testing.assert_allclose(quotients[finite], full[finite], rtol=1e-6)


def test_gamma_functions_near_their_zeros_and_ends():
    special = pytest.importorskip("scipy.special", reason="the references are scipy's")
    ends = np.array(
        [0.0, -0.0, -1.0, -2.5, 1e-30, 0.5, 1, 1 + 2**-20, 1.4616321, 2, 7.9, 8, 8.1, 1e6, 3e38, np.inf]
    )
    x = np.concatenate([ends, np.linspace(0.01, 20, 500)]).astype(np.float32)
    exact = x.astype(np.float64)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            tl.lgamma(tl.tensor(x)).numpy(), special.gammaln(exact).astype(np.float32), rtol=3e-7, atol=1e-13
        )
        usual = exact > 0
        np.testing.assert_allclose(
            tl.digamma(tl.tensor(x)).numpy()[usual],
            special.digamma(exact[usual]).astype(np.float32),
            rtol=3e-7,
            atol=1e-7,
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_signs_of_halves(dtype):
    values = [0.0, -0.0, 1.5, -2.0, float("inf"), -float("inf"), float("nan")] * 9
    x = tl.tensor(values, dtype=getattr(tl, dtype))
    np.testing.assert_array_equal((-x).float().numpy(), -np.array(values, np.float32))
    np.testing.assert_array_equal(x.abs().float().numpy(), np.abs(np.array(values, np.float32)))
    assert not np.signbit((-x)[1].item()) and not np.signbit(x.abs()[1].item())


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "float32"])
def test_a_number_a_row(dtype):
    rng = np.random.default_rng(6)
    a, column = rng.integers(0, 100, (33, 131)), rng.integers(0, 100, (33, 1))
    x, y = (tl.tensor(v).to(getattr(tl, dtype)) for v in (a, column))
    kind = np.dtype(dtype)
    np.testing.assert_array_equal((x + y).numpy(), a.astype(kind) + column.astype(kind))
    np.testing.assert_array_equal((y * x).numpy(), column.astype(kind) * a.astype(kind))
    np.testing.assert_array_equal((x > y).numpy(), a > column)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64", "complex128"])
def test_flipped_rows(dtype):
    x = np.arange(7 * 133).reshape(7, 133).astype(dtype)
    np.testing.assert_array_equal(tl.tensor(x).flip(1).numpy(), x[:, ::-1])
    np.testing.assert_array_equal(tl.tensor(x).flip(0).numpy(), x[::-1])


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float32", "int64", "complex128"])
def test_short_rows_with_indices(dtype):
    rng = np.random.default_rng(7)
    for width in (1, 2, 3, 4, 7, 9, 16, 33, 70):
        x = tl.tensor(rng.integers(0, 25, (50, width))).to(getattr(tl, dtype))
        at = rng.integers(0, 50, 81)
        result = x.index_select(0, tl.tensor(at))
        full = tl.complex128 if dtype == "complex128" else tl.float64
        np.testing.assert_array_equal(result.to(full).numpy(), x.to(full).numpy()[at])
        if dtype != "uint8":
            start = x.to(full).numpy().copy()
            np.add.at(start, at[:9], x.to(full).numpy()[:9])
            np.testing.assert_array_equal(x.index_add(0, tl.tensor(at[:9]), x[:9]).to(full).numpy(), start)


@pytest.mark.parametrize("widths", [(256, 256), (300, 1, 77), (64, 0, 500)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_long_rows_side_by_side(widths, dtype):
    rng = np.random.default_rng(6)
    parts = [rng.integers(0, 100, (7, 90, w)).astype(np.float32) for w in widths]
    tensors = [tl.tensor(p).to(getattr(tl, dtype)) for p in parts]
    np.testing.assert_array_equal(tl.cat(tensors, 2).float().numpy(), np.concatenate(parts, 2))
    turned = [t.transpose(1, 2).contiguous() for t in tensors]
    want = np.concatenate([p.transpose(0, 2, 1) for p in parts], 1)
    np.testing.assert_array_equal(tl.cat(turned, 1).float().numpy(), want)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_both_extremes_of_many_elements(dtype):
    x = np.random.default_rng(7).integers(-1000, 1000, 300_001)
    x[123_456], x[300_000] = -1024, 2048
    tensor = tl.tensor(x).to(getattr(tl, dtype))
    low, high = tensor.aminmax()
    assert (low.item(), high.item()) == (-1024, 2048)
    if dtype != "int64":
        tensor[70_000] = float("nan")
        assert all(result.isnan() for result in tensor.aminmax())


def test_counts_of_true_in_long_masks():
    mask = np.random.default_rng(8).random((300, 4099)) > 0.1
    tensor = tl.from_numpy(mask)
    assert tensor.sum().item() == tensor.count_nonzero().item() == mask.sum()
    np.testing.assert_array_equal(tensor.sum(1).numpy(), mask.sum(1))
    np.testing.assert_array_equal(tensor.count_nonzero(1).numpy(), mask.sum(1))
    assert tl.ones(1_000_000, dtype=tl.bool).sum().item() == 1_000_000


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("dtype", ["float32", "int64", "int16"])
def test_few_columns_with_indices(dtype, width):
    rng = np.random.default_rng(9)
    x, at = rng.integers(0, 1000, (5000, width)).astype(dtype), rng.integers(0, 5000, 7001)
    tensor, positions = tl.from_numpy(x), tl.from_numpy(at)
    np.testing.assert_array_equal(tensor.index_select(0, positions).numpy(), x[at])
    np.testing.assert_array_equal(tensor[positions].numpy(), x[at])
    once = rng.permutation(5000)
    want = np.empty_like(x)
    want[once] = x
    tensor[tl.from_numpy(once)] = tensor.clone()
    np.testing.assert_array_equal(tensor.numpy(), want)
    at[6999] = 5000
    with pytest.raises(IndexError, match="index 5000 is out of bounds for dimension 0 with size 5000"):
        tensor.index_select(0, tl.from_numpy(at))
    with pytest.raises(RuntimeError, match="index -1 is out of bounds for dimension 0 with size 5000"):
        tensor.gather(0, tl.full((5000, width), -1))


def test_indices_with_strides():
    rng = np.random.default_rng(10)
    x, at = rng.random((50, 3000)).astype(np.float32), rng.integers(0, 50, (3000, 60))
    positions = tl.from_numpy(at)[:, ::2].t()
    np.testing.assert_array_equal(
        tl.from_numpy(x).gather(0, positions).numpy(), np.take_along_axis(x, at[:, ::2].T, 0)
    )


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32"])
@pytest.mark.parametrize("width", [5, 31, 32, 70, 130])
def test_a_turned_operand_with_rows_that_have_gaps(width, dtype):
    rng = np.random.default_rng(12)
    turned, spaced = (rng.integers(-99, 99, shape).astype(dtype) for shape in ((width, 77), (77, width + 3)))
    a, b = tl.tensor(turned).t(), tl.tensor(spaced)[:, 1 : width + 1]
    want = turned.T + spaced[:, 1 : width + 1]
    np.testing.assert_array_equal((a + b).numpy(), want)
    out = tl.full((77, width + 2), 7, dtype=getattr(tl, dtype))
    tl.add(a, b, out=out[:, 1 : width + 1])
    np.testing.assert_array_equal(out[:, 1 : width + 1].numpy(), want)
    assert (out[:, [0, width + 1]] == 7).all()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("step", [1, 3])
def test_integers_become_half_floats_and_these_integers(dtype, step):
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    numbers = rng.integers(max(info.min, -65504), min(info.max, 65504), (5, 1301), endpoint=True).astype(
        dtype
    )
    halves = tl.tensor(numbers)[:, ::step].half()
    with np.errstate(over="ignore"):
        expected = numbers[:, ::step].astype(np.float32).astype(np.float16)
    np.testing.assert_array_equal(halves.numpy(), expected)
    back = halves.clamp(max(info.min, -65504), min(info.max / 2, 65504))
    np.testing.assert_array_equal(back.to(getattr(tl, dtype)).numpy(), back.numpy().astype(dtype))
