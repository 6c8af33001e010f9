"""Sampling at points against scipy's, and rearrangements against numpy's."""

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")
ndimage = pytest.importorskip("scipy.ndimage", reason="the references are scipy's")

import tl_core as tl  # noqa: E402
from tl_core.operators import packets as ops  # noqa: E402

aten = ops.aten

METHODS = {"bilinear": 0, "nearest": 1, "bicubic": 2}
OUTSIDE = {"zeros": 0, "border": 1, "reflection": 2}


def positions(points, sizes, align):
    """Points in units of half sizes as indices, the first axis first."""
    out = []
    for k, size in enumerate(sizes[::-1]):
        x = points[..., k]
        out.append((x + 1) / 2 * (size - 1) if align else ((x + 1) * size - 1) / 2)
    return np.stack(out[::-1])


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize(
    ("outside", "mode"), [("zeros", "constant"), ("border", "nearest"), ("reflection", None)]
)
@pytest.mark.parametrize("sizes", [(5, 7), (1, 3), (4, 5, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_linear(sizes, outside, mode, align, dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, *sizes)).astype(dtype)
    points = rng.uniform(-2, 2, (2, 2, *sizes[1:], len(sizes))).astype(dtype)
    result = tl.grid_sampler(tl.from_numpy(x), tl.from_numpy(points), 0, OUTSIDE[outside], align).numpy()
    mode = mode or ("mirror" if align else "reflect")
    for n, c in np.ndindex(2, 3):
        where = positions(points[n].astype(np.float64), sizes, align)
        image = x[n, c].astype(np.float64)
        if mode == "constant":  # scipy cuts off half an element before the border
            image, where = np.pad(image, 1), where + 1
        expected = ndimage.map_coordinates(image, where, order=1, mode=mode)
        np.testing.assert_allclose(result[n, c], expected, atol=1e-4 if dtype == np.float32 else 1e-10)


def test_nearest():
    rng = np.random.default_rng(1)
    x, points = rng.standard_normal((1, 2, 6, 5)), rng.uniform(-1, 1, (1, 4, 4, 2))
    result = tl.grid_sampler(tl.from_numpy(x), tl.from_numpy(points), 1, 0, True).numpy()
    rows, columns = np.rint(positions(points[0], (6, 5), True)).astype(int)
    np.testing.assert_array_equal(result[0], x[0][:, rows, columns])


@pytest.mark.parametrize("sizes", [(9, 11), (4, 5, 6)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_points_and_channels(sizes, dtype):
    """More than the kernels take at once, and none of the counts whole vectors."""
    rng = np.random.default_rng(4)
    x, points = (
        rng.standard_normal((2, 19, *sizes)),
        rng.uniform(-1.3, 1.3, (2, *[7] * len(sizes), len(sizes))),
    )
    x, points = x.astype(dtype), points.astype(dtype)
    result = tl.grid_sampler(tl.from_numpy(x), tl.from_numpy(points), 0, OUTSIDE["border"], True).numpy()
    for n, c in np.ndindex(2, 19):
        where = positions(points[n].astype(np.float64), sizes, True)
        expected = ndimage.map_coordinates(x[n, c].astype(np.float64), where, order=1, mode="nearest")
        np.testing.assert_allclose(result[n, c], expected, atol=1e-4 if dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("method", METHODS.values())
@pytest.mark.parametrize("outside", OUTSIDE.values())
@pytest.mark.parametrize("sizes", [(9, 11), (1, 5), (4, 5, 6)])
def test_adjoint(sizes, outside, method):
    """<A x, y> = <x, A* y>."""
    if len(sizes) == 3 and method == METHODS["bicubic"]:
        pytest.skip("cubic in two dimensions only")
    rng = np.random.default_rng(5)
    points = tl.from_numpy(rng.uniform(-1.5, 1.5, (2, *[9] * len(sizes), len(sizes))))
    x = tl.from_numpy(rng.standard_normal((2, 19, *sizes)))
    y = tl.from_numpy(rng.standard_normal((2, 19, *[9] * len(sizes))))
    rest = (method, outside, False, [0] * len(sizes))
    there = (aten._grid_sample(x, points, *rest) * y).sum().item()
    back = (aten._grid_sample_adjoint(y, points, x.shape, *rest) * x).sum().item()
    assert there == pytest.approx(back, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", [METHODS["bilinear"], METHODS["bicubic"]])
@pytest.mark.parametrize("outside", OUTSIDE.values())
@pytest.mark.parametrize("sizes", [(9, 11), (4, 5, 6)])
def test_derivative(sizes, outside, method):
    """By differences of what is sampled, along each coordinate."""
    if len(sizes) == 3 and method == METHODS["bicubic"]:
        pytest.skip("cubic in two dimensions only")
    rng, d = np.random.default_rng(6), len(sizes)
    points = rng.uniform(-1.2, 1.2, (2, *[9] * d, d))
    x = tl.from_numpy(rng.standard_normal((2, 5, *sizes)))
    y = rng.standard_normal((2, 5, *[9] * d))
    rest = (method, outside, False, [0] * d)
    result = aten._grid_sample_derivative(tl.from_numpy(y), x, tl.from_numpy(points), *rest).numpy()
    for k in range(d):
        step = 1e-6 * np.eye(d)[k]
        after, before = (
            aten._grid_sample(x, tl.from_numpy(points + s), *rest).numpy() for s in (step, -step)
        )
        np.testing.assert_allclose(result[..., k], ((after - before) / 2e-6 * y).sum(1), rtol=1e-4, atol=1e-6)


def test_what_is_not_read_does_not_count():
    """An element beside the one that a point at the border reads."""
    x = tl.tensor([[[[1.0, float("inf"), float("nan"), 2.0]]]])
    points = tl.tensor([[[[-1.1, 0.0], [1.1, 0.0], [-3.0, 0.0]]]])
    result = tl.grid_sampler(x, points, 0, OUTSIDE["zeros"], False)
    np.testing.assert_allclose(result.flatten().numpy(), [0.3, 0.6, 0], rtol=1e-5)
    back = aten._grid_sample_adjoint(tl.ones(1, 1, 1, 3), points, x.shape, 0, 0, False, [0, 0])
    np.testing.assert_allclose(back.flatten().numpy(), [0.3, 0, 0, 0.3], rtol=1e-5)


def cubic(x, a=-0.75):
    """The kernel of Keys, 1981."""
    x = np.abs(x)
    near, far = (a + 2) * x**3 - (a + 3) * x**2 + 1, a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize(
    ("outside", "padding"), [("zeros", "constant"), ("border", "edge"), ("reflection", None)]
)
def test_cubic(outside, padding, align):
    rng = np.random.default_rng(2)
    image, points = rng.standard_normal((9, 8)), rng.uniform(-1.2, 1.2, (1, 5, 5, 2))
    wide = np.pad(image, 6, mode=padding or ("reflect" if align else "symmetric"))
    expected = np.zeros((5, 5))
    rows, columns = positions(points[0], (9, 8), align)
    for (i, j), value in np.ndenumerate(wide):
        expected += value * cubic(rows - (i - 6)) * cubic(columns - (j - 6))
    result = tl.grid_sampler(
        tl.from_numpy(image[None, None]), tl.from_numpy(points), 2, OUTSIDE[outside], align
    )
    np.testing.assert_allclose(result[0, 0].numpy(), expected, atol=1e-10)


@pytest.mark.parametrize("method", METHODS.values())
@pytest.mark.parametrize("outside", OUTSIDE.values())
@pytest.mark.parametrize("align", [False, True])
def test_nan_stands_for_minus_one(method, outside, align):
    image, nan = tl.arange(1.0, 13.0).reshape(1, 1, 3, 4), float("nan")
    first, second = [[0.25, nan], [nan, -0.5], [nan, nan]], [[0.25, -1.0], [-1.0, -0.5], [-1.0, -1.0]]
    result, want = (tl.grid_sampler(image, tl.tensor([[p]]), method, outside, align) for p in (first, second))
    assert result.tolist() == want.tolist()


@pytest.mark.parametrize("strange", [float("inf"), -1e30, 1e9])
@pytest.mark.parametrize("method", METHODS.values())
@pytest.mark.parametrize("outside", OUTSIDE.values())
def test_points_that_are_no_coordinates(strange, method, outside):
    points = tl.full((1, 2, 2, 2), strange, requires_grad=False)
    out = tl.grid_sampler(tl.ones(1, 1, 3, 3), points, method, outside, False)
    assert out.shape == (1, 1, 2, 2)
    if outside == 0:
        assert out.tolist() == tl.zeros(1, 1, 2, 2).tolist()


@pytest.mark.parametrize(
    ("input", "grid", "words"),
    [
        ((1, 1, 3), (1, 2, 1), "4D or 5D input"),
        ((1, 1, 3, 3), (1, 2, 2, 3), "size 2 in last dimension"),
        ((2, 1, 3, 3), (1, 2, 2, 2), "same batch size"),
        ((1, 1, 0, 3), (1, 2, 2, 2), "non-empty spatial"),
    ],
)
def test_errors(input, grid, words):
    with pytest.raises(RuntimeError, match=words):
        tl.grid_sampler(tl.zeros(input), tl.zeros(grid), 0, 0, False)
    with pytest.raises(RuntimeError, match="bicubic interpolation only supports 4D"):
        tl.grid_sampler(tl.zeros(1, 1, 2, 2, 2), tl.zeros(1, 1, 1, 1, 3), 2, 0, False)


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("size", [(4, 5), (1, 3), (2, 3, 4)])
def test_affine_grid(size, align):
    n = len(size)
    theta = np.random.default_rng(3).standard_normal((2, n, n + 1))
    ends = [np.zeros(1) if m == 1 else np.linspace(-1, 1, m) * (1 if align else (m - 1) / m) for m in size]
    mesh = np.stack([*np.meshgrid(*ends, indexing="ij")[::-1], np.ones(size)], -1)
    expected = np.einsum("bij,...j->b...i", theta, mesh)
    result = tl.affine_grid_generator(tl.from_numpy(theta), (2, 1, *size), align).numpy()
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_pixel_shuffle():
    x = np.arange(2 * 18 * 2 * 4).reshape(2, 18, 2, 4)
    expected = x.reshape(2, 2, 3, 3, 2, 4).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 12)
    result = tl.pixel_shuffle(tl.from_numpy(x), 3)
    np.testing.assert_array_equal(result.numpy(), expected)
    np.testing.assert_array_equal(tl.pixel_unshuffle(result, 3).numpy(), x)


def test_channel_shuffle():
    x = np.arange(2 * 6 * 3).reshape(2, 6, 3)
    expected = x.reshape(2, 3, 2, 3).swapaxes(1, 2).reshape(2, 6, 3)
    for shuffle in (tl.channel_shuffle, tl.native_channel_shuffle):
        np.testing.assert_array_equal(shuffle(tl.from_numpy(x), 3).numpy(), expected)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tl.pixel_shuffle(tl.zeros(3, 2), 2), "at least 3 dimensions"),
        (lambda: tl.pixel_shuffle(tl.zeros(5, 2, 2), 2), "divisible by the square"),
        (lambda: tl.pixel_shuffle(tl.zeros(4, 2, 2), 0), "positive upscale_factor"),
        (lambda: tl.pixel_unshuffle(tl.zeros(1, 3, 2), 2), "height to be divisible"),
        (lambda: tl.channel_shuffle(tl.zeros(1, 5, 2), 2), "divisible by groups"),
        (lambda: tl.channel_shuffle(tl.zeros(1, 4), 2), "> 2 dims"),
    ],
)
def test_rearranging_errors(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()
