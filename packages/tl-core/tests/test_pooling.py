"""Pooling against windows spelled out in numpy."""

import itertools

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402
from tl_core.functions import nn as nn  # noqa: E402
from tl_core.operators.packets import aten  # noqa: E402

WINDOWS = [
    # kernel, stride, padding, dilation, ceil_mode
    ((2, 2), (2, 2), (0, 0), (1, 1), False),
    ((3, 3), (2, 2), (1, 1), (1, 1), False),
    ((3, 3), (1, 1), (1, 1), (1, 1), False),
    ((2, 3), (3, 1), (1, 0), (2, 2), True),
    ((1, 5), (1, 4), (0, 2), (1, 1), True),
    ((3, 2), (2, 3), (1, 1), (1, 1), True),
]
SHAPES = [(2, 3, 9, 11), (1, 2, 40, 70), (3, 7, 6), (0, 2, 9, 9), (2, 17, 5, 33)]


def outputs(size, kernel, stride, padding, dilation, ceil):
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-room // stride) if ceil else room // stride) + 1
    return count - 1 if ceil and (count - 1) * stride >= size + padding else count


def windows(size, kernel, stride, padding, dilation, ceil):
    """The positions in each window along one axis."""
    count = outputs(size, kernel, stride, padding, dilation, ceil)
    spots = [[o * stride - padding + k * dilation for k in range(kernel)] for o in range(count)]
    return [[i for i in spot if 0 <= i < size] for spot in spots]


def reference_max(x, axes):
    """The maxima of the windows of the last axes, and their positions in the plane."""
    grid = x.shape[-len(axes) :]
    shape = (*x.shape[: -len(axes)], *(len(a) for a in axes))
    values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    for at in np.ndindex(shape):
        lead, spots = at[: -len(axes)], itertools.product(*(a[i] for a, i in zip(axes, at[-len(axes) :])))
        best, index = None, -1
        for spot in spots:
            v = x[(*lead, *spot)]
            if best is None or v > best or v != v:
                best, index = v, int(np.ravel_multi_index(spot, grid))
        values[at], indices[at] = best, index
    return values, indices


def reference_mean(x, axes, divisors):
    shape = (*x.shape[: -len(axes)], *(len(a) for a in axes))
    out = np.empty(shape, np.float64)
    for at in np.ndindex(shape):
        lead, here = at[: -len(axes)], at[-len(axes) :]
        spots = itertools.product(*(a[i] for a, i in zip(axes, here)))
        out[at] = sum(float(x[(*lead, *spot)]) for spot in spots) / divisors(here)
    return out


def random(shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def axes_of(x, window):
    kernel, stride, padding, dilation, ceil = window
    n = len(kernel)
    return [windows(x.shape[a - n], kernel[a], stride[a], padding[a], dilation[a], ceil) for a in range(n)]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_maxima(shape, window, dtype):
    x = random(shape, dtype)
    values, indices = reference_max(x, axes_of(x, window))
    result, at = nn.max_pool2d_with_indices(tl.from_numpy(x), *window)
    np.testing.assert_array_equal(result.numpy(), values)
    np.testing.assert_array_equal(at.numpy(), indices)
    np.testing.assert_array_equal(tl.max_pool2d(tl.from_numpy(x), *window).numpy(), values)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_channels_last_is_kept(window):
    x = random((2, 5, 9, 11))
    values, indices = reference_max(x, axes_of(x, window))
    t = tl.from_numpy(x).contiguous(memory_format=tl.channels_last)
    output, at = nn.max_pool2d_with_indices(t, *window)
    for result, expected in ((output, values), (at, indices)):
        assert result.is_contiguous(memory_format=tl.channels_last)
        np.testing.assert_array_equal(result.contiguous().numpy(), expected)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_maxima_of_integers(dtype):
    x = np.random.default_rng(1).integers(0, 100, (2, 7, 8)).astype(dtype)
    values, indices = reference_max(x, axes_of(x, WINDOWS[1]))
    result, at = nn.max_pool2d_with_indices(tl.from_numpy(x), *WINDOWS[1])
    assert str(result.dtype) == f"torch.{dtype}"
    np.testing.assert_array_equal(result.numpy(), values)
    np.testing.assert_array_equal(at.numpy(), indices)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_halves(name):
    x = tl.from_numpy(random((2, 3, 8, 9))).to(getattr(tl, name))
    wide = x.to(tl.float64).numpy()
    expected, _ = reference_max(wide, axes_of(wide, ((3, 3), (2, 2), (1, 1), (1, 1), False)))
    np.testing.assert_array_equal(tl.max_pool2d(x, 3, 2, 1).to(tl.float64).numpy(), expected)
    mean = nn.avg_pool2d(x, 2).to(tl.float64).numpy()
    np.testing.assert_allclose(mean, reference_mean(wide, axes_of(wide, WINDOWS[0]), lambda _: 4), atol=0.02)


def test_nan_is_the_largest_and_the_first_of_equals_wins():
    x = np.zeros((1, 4, 6), np.float32)
    x[0, 1, 1] = x[0, 0, 3] = np.nan
    for kernel in ((2, 2), (4, 6), (1, 2)):
        window = (kernel, kernel, (0, 0), (1, 1), False)
        values, indices = reference_max(x, axes_of(x, window))
        result, at = nn.max_pool2d_with_indices(tl.from_numpy(x), *window)
        np.testing.assert_array_equal(result.numpy(), values)
        np.testing.assert_array_equal(at.numpy(), indices)


def test_infinities_stay():
    x = np.full((1, 3, 20), -np.inf, np.float32)
    result, at = nn.max_pool2d_with_indices(tl.from_numpy(x), (2, 2), 1)
    assert (result.numpy() == -np.inf).all()
    np.testing.assert_array_equal(
        at.numpy(), reference_max(x, axes_of(x, ((2, 2), (1, 1), (0, 0), (1, 1), False)))[1]
    )


@pytest.mark.parametrize("shape", [(2, 3, 50), (4, 129), (70, 2, 6)])
def test_one_dimension(shape):
    x = random(shape)
    axes = [windows(shape[-1], 3, 2, 1, 1, False)]
    values, indices = reference_max(x, axes)
    result, at = tl.max_pool1d_with_indices(tl.from_numpy(x), 3, 2, 1)
    np.testing.assert_array_equal(result.numpy(), values)
    np.testing.assert_array_equal(at.numpy(), indices)
    np.testing.assert_array_equal(tl.max_pool1d(tl.from_numpy(x), 3, 2, 1).numpy(), values)
    mean = tl.avg_pool1d(tl.from_numpy(x), 3, 2, 1, False, False)
    np.testing.assert_allclose(
        mean.numpy(), reference_mean(x, axes, lambda at: len(axes[0][at[0]])), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("layout", ["contiguous_format", "channels_last_3d"])
def test_three_dimensions(layout):
    x = random((2, 3, 5, 6, 7))
    window = ((2, 3, 2), (2, 1, 2), (1, 1, 0), (1, 1, 2), False)
    values, indices = reference_max(x, axes_of(x, window))
    t = tl.from_numpy(x).contiguous(memory_format=getattr(tl, layout))
    result, at = nn.max_pool3d_with_indices(t, *window)
    np.testing.assert_array_equal(result.contiguous().numpy(), values)
    np.testing.assert_array_equal(at.contiguous().numpy(), indices)
    mean = nn.avg_pool3d(t, (2, 3, 2), (2, 1, 2), (1, 1, 0)).contiguous().numpy()
    flat = ((2, 3, 2), (2, 1, 2), (1, 1, 0), (1, 1, 1), False)
    np.testing.assert_allclose(mean, reference_mean(x, axes_of(x, flat), lambda _: 12), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("include_pad", [True, False])
@pytest.mark.parametrize("ceil", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shape", [(2, 3, 9, 11), (1, 2, 40, 70)])
def test_means(shape, dtype, ceil, include_pad):
    x = np.random.default_rng(2).integers(-9, 9, shape).astype(dtype)
    kernel, stride, padding = (3, 2), (2, 3), (1, 1)
    axes = axes_of(x, (kernel, stride, padding, (1, 1), ceil))

    def divisor(at):
        product = 1
        for a in range(2):
            start = at[a] * stride[a] - padding[a]
            end = min(start + kernel[a], shape[a - 2] + padding[a])
            product *= end - start if include_pad else len(axes[a][at[a]])
        return product

    expected = reference_mean(x, axes, divisor)
    result = nn.avg_pool2d(tl.from_numpy(x), kernel, stride, padding, ceil, include_pad).numpy()
    if dtype == np.int64:
        np.testing.assert_array_equal(result, np.trunc(expected))
    else:
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)


def test_a_divisor_of_ones_own():
    x = random((2, 4, 4))
    result = nn.avg_pool2d(tl.from_numpy(x), 2, divisor_override=3).numpy()
    sums = x[:, ::2, ::2] + x[:, 1::2, ::2] + x[:, ::2, 1::2] + x[:, 1::2, 1::2]
    np.testing.assert_allclose(result, sums / 3, rtol=1e-5)


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (7, 9), (12, 4), (2, 0)])
@pytest.mark.parametrize("layout", ["contiguous_format", "channels_last"])
def test_adaptive(size, layout):
    x = random((2, 3, 7, 9))
    axes = [
        [list(range(o * n // m, -(-(o + 1) * n // m))) for o in range(m)] for n, m in zip(x.shape[2:], size)
    ]
    t = tl.from_numpy(x).contiguous(memory_format=getattr(tl, layout))
    values, indices = reference_max(x, axes)
    result, at = nn.adaptive_max_pool2d(t, size)
    np.testing.assert_array_equal(result.contiguous().numpy(), values)
    np.testing.assert_array_equal(at.contiguous().numpy(), indices)
    mean = reference_mean(x, axes, lambda o: len(axes[0][o[0]]) * len(axes[1][o[1]]))
    np.testing.assert_allclose(
        nn.adaptive_avg_pool2d(t, size).contiguous().numpy(), mean, rtol=1e-5, atol=1e-6
    )


def test_fractional():
    x = random((2, 3, 9, 11))
    samples = np.random.default_rng(3).random((2, 3, 2)).astype(np.float32)

    def starts(u, n, m, k):
        alpha = (n - k) / (m - 1)
        return [*(int((i + u) * alpha) - int(u * alpha) for i in range(m - 1)), n - k]

    result, at = nn.fractional_max_pool2d(tl.from_numpy(x), (2, 3), (5, 4), tl.from_numpy(samples))
    for n, c in np.ndindex(2, 3):
        u = samples[n, c].astype(np.float64)
        axes = [
            [list(range(s, s + k)) for s in starts(v, size, m, k)]
            for v, size, m, k in zip(u[::-1], (9, 11), (5, 4), (2, 3))
        ]
        values, indices = reference_max(x[n, c], axes)
        np.testing.assert_array_equal(result[n, c].numpy(), values)
        np.testing.assert_array_equal(at[n, c].numpy(), indices)


def test_unpooled_images_lie_as_the_maxima_do():
    maxima, indices = nn.max_pool2d_with_indices(tl.ones(2, 3, 4, 4), 2)
    last = maxima.to(memory_format=tl.channels_last)
    for values in (maxima, last):
        for where in (indices, indices.to(memory_format=tl.channels_last)):
            assert nn.max_unpool2d(values, where, (4, 4)).is_contiguous(
                memory_format=tl.channels_last if values is last else tl.contiguous_format
            )


def test_unpooling_puts_maxima_back():
    x = random((2, 3, 6, 8))
    top, at = nn.max_pool2d_with_indices(tl.from_numpy(x), 2)
    back = nn.max_unpool2d(top, at, (6, 8)).numpy()
    value = np.zeros_like(x).reshape(2, 3, -1)
    np.put_along_axis(value, at.numpy().reshape(2, 3, -1), top.numpy().reshape(2, 3, -1), -1)
    np.testing.assert_array_equal(back.reshape(2, 3, -1), value)


@pytest.mark.parametrize("index", [-2, 48, 2**62])
def test_an_index_outside_of_the_plane_is_refused(index):
    with pytest.raises(RuntimeError, match="invalid max index"):
        nn.max_unpool2d(tl.ones(1, 2, 2), tl.full((1, 2, 2), index), (6, 8))


def test_results_do_not_depend_on_threads():
    x = tl.from_numpy(random((5, 7, 65, 66)))
    outcomes = []
    before = tl.get_num_threads()
    for threads in (1, 2, 5):
        tl.set_num_threads(threads)
        pooled, at = nn.max_pool2d_with_indices(x, 3, 2, 1)
        outcomes.append((pooled.numpy().copy(), at.numpy().copy(), nn.avg_pool2d(x, 3, 2, 1).numpy().copy()))
    tl.set_num_threads(before)
    for other in outcomes[1:]:
        for one, two in zip(outcomes[0], other):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("strides", ["transposed", "sliced", "offset"])
def test_layouts(strides):
    dense = random((4, 9, 10))
    result = {
        "transposed": tl.from_numpy(dense.transpose(0, 2, 1).copy()).transpose(1, 2),
        "sliced": tl.from_numpy(np.repeat(np.repeat(dense, 2, 1), 3, 2))[:, ::2, ::3],
        "offset": tl.from_numpy(np.concatenate([[0], dense.ravel()]).astype(np.float32))[1:].reshape(
            4, 9, 10
        ),
    }[strides]
    np.testing.assert_array_equal(
        tl.max_pool2d(result, 2).numpy(), tl.max_pool2d(tl.from_numpy(dense), 2).numpy()
    )
    np.testing.assert_array_equal(
        nn.avg_pool2d(result, 2).numpy(), nn.avg_pool2d(tl.from_numpy(dense), 2).numpy()
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: tl.max_pool2d(x, 0), "kernel_size must be greater than zero"),
        (lambda x: tl.max_pool2d(x, 2, 0), "stride must be greater than zero"),
        (lambda x: tl.max_pool2d(x, 2, 2, -1), "pad must be non-negative"),
        (lambda x: tl.max_pool2d(x, 2, 2, 2), "pad should be at most half"),
        (lambda x: tl.max_pool2d(x, 9), "Output size is too small"),
        (
            lambda x: tl.max_pool2d(x, (1, 2, 3)),
            "kernel_size must either be a single int, or a tuple of two ints",
        ),
        (lambda x: tl.max_pool2d(x[0, 0], 2), "Expected 3D or 4D"),
        (lambda x: tl.max_pool2d(x, 2, 1, 1, 2**62), "overflow"),
        (lambda x: tl.max_pool2d(x, 1, 1, 0, 2**63 - 1), "dilation 9223372036854775807 cannot be counted"),
        (lambda x: nn.avg_pool2d(x, 2, divisor_override=0), "divisor must be not zero"),
        (lambda x: nn.adaptive_avg_pool2d(x, (-1, 2)), "greater than or equal to 0"),
    ],
)
def test_errors(call, words):
    with pytest.raises(RuntimeError, match=words):
        call(tl.zeros(1, 2, 5, 5))


@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_types_without_an_order(dtype):
    with pytest.raises(NotImplementedError, match="max_pool2d"):
        tl.max_pool2d(tl.zeros(1, 4, 4, dtype=getattr(tl, dtype)), 2)


def test_out_and_meta():
    x = tl.from_numpy(random((1, 4, 6)))
    out = tl.empty(0)
    assert nn.avg_pool2d(x, 2, out=out) is out
    np.testing.assert_array_equal(out.numpy(), nn.avg_pool2d(x, 2).numpy())
    assert tl.max_pool2d(tl.empty(2, 3, 9, 9, device="meta"), 3, 2, 1).shape == (2, 3, 5, 5)
    assert nn.adaptive_avg_pool2d(tl.empty(2, 3, 9, 9, device="meta"), (2, 3)).shape == (2, 3, 2, 3)


def test_results_without_elements():
    x = tl.ones(2, 3, 6, 6)
    samples = tl.full((2, 3, 2), 0.5)
    values, indices = nn.fractional_max_pool2d(x, (2, 2), (0, 1), samples)
    assert values.shape == indices.shape == (2, 3, 0, 1)
    with pytest.raises(RuntimeError, match="pool height 2 too large relative to input height 6"):
        nn.fractional_max_pool2d(x, (2, 2), (6, 3), samples)
    with pytest.raises(RuntimeError, match="pool width 2 too large relative to input width 6"):
        nn.fractional_max_pool2d(x, (2, 2), (3, 6), samples)


@pytest.mark.parametrize("name", ["adaptive_max_pool2d", "adaptive_max_pool3d", "adaptive_avg_pool2d"])
@pytest.mark.parametrize("dtype", [tl.uint8, tl.int32, tl.int64])
def test_adaptive_windows_of_integers_are_refused(name, dtype):
    n = int(name[-2])
    with pytest.raises(NotImplementedError, match=f'"{name}" not implemented'):
        getattr(nn, name)(tl.ones(3, *[4] * n, dtype=dtype), [2] * n)


def test_maxima_of_one_sample_keep_channels_last():
    x = tl.arange(2 * 4 * 5 * 6 * 7.0).view(2, 4, 5, 6, 7).contiguous(memory_format=tl.channels_last_3d)
    alone, at = nn.max_pool3d_with_indices(x[0], (2, 3, 2))
    both, both_at = nn.max_pool3d_with_indices(x, (2, 3, 2))
    assert alone.equal(both[0]) and at.equal(both_at[0])
    for one in (alone, at):
        assert one.unsqueeze(0).is_contiguous(memory_format=tl.channels_last_3d)


@pytest.mark.parametrize("of_input", [tl.contiguous_format, tl.channels_last])
@pytest.mark.parametrize("of_gradient", [tl.contiguous_format, tl.channels_last])
def test_gradients_of_means_have_the_inputs_memory_format(of_input, of_gradient):
    x = tl.rand(2, 3, 4, 6).contiguous(memory_format=of_input)
    g = tl.rand(2, 3, 2, 3).contiguous(memory_format=of_gradient)
    want = np.kron(g.numpy(), np.full((2, 2), 0.25, dtype=np.float32))
    for result in (
        aten._adaptive_avg_pool2d_backward(g, x),
        aten.avg_pool2d_backward(g, x, [2, 2], [2, 2], [0, 0], False, True, None),
    ):
        assert np.array_equal(result.numpy(), want)
        assert result.is_contiguous(memory_format=of_input)


# Rows whose windows are told by numbers, and windows that are read along the row.
LONG_ROWS = [(3, 3, 0, 1), (5, 2, 2, 1), (2, 1, 1, 3), (100, 7, 40, 1), (64, 64, 0, 1), (70, 1, 35, 2)]


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
@pytest.mark.parametrize("kernel, stride, padding, dilation", LONG_ROWS)
def test_long_rows_of_maxima(kernel, stride, padding, dilation, dtype):
    x = np.random.default_rng(0).integers(-9, 9, (2, 777)).astype(str(dtype).rpartition(".")[2])
    x[0, 40:60:3] = np.nan
    x[1, 300:500] = -np.inf
    axis = windows(777, kernel, stride, padding, dilation, False)
    values, indices = reference_max(x, [axis])
    result, at = aten.max_pool1d_with_indices(tl.tensor(x), kernel, stride, padding, dilation)
    assert np.array_equal(result.numpy(), values, equal_nan=True)
    assert np.array_equal(at.numpy(), indices)
    plain = aten.max_pool1d(tl.tensor(x), kernel, stride, padding, dilation)
    assert np.array_equal(plain.numpy(), values, equal_nan=True)


@pytest.mark.parametrize("outputs_", [1, 3, 12, 13, 300])
def test_long_rows_of_adaptive_windows(outputs_):
    x = np.random.default_rng(0).standard_normal((3, 801))
    x[1, 5] = np.nan
    axis = [list(range(o * 801 // outputs_, -((o + 1) * -801 // outputs_))) for o in range(outputs_)]
    values, indices = reference_max(x, [axis])
    result, at = aten.adaptive_max_pool1d(tl.tensor(x), outputs_)
    assert np.array_equal(result.numpy(), values, equal_nan=True)
    assert np.array_equal(at.numpy(), indices)
    means = reference_mean(x, [axis], lambda here: len(axis[here[0]]))
    assert np.allclose(aten.adaptive_avg_pool1d(tl.tensor(x), outputs_).numpy(), means, 1e-12, equal_nan=True)


@pytest.mark.parametrize("kernel, stride, padding, dilation", LONG_ROWS)
@pytest.mark.parametrize("padded", [True, False])
def test_long_rows_of_means(kernel, stride, padding, dilation, padded):
    x = np.random.default_rng(0).standard_normal((2, 777))
    axis = windows(777, kernel, stride, padding, 1, False)
    sizes = [kernel if padded else len(spots) for spots in axis]
    means = reference_mean(x, [axis], lambda here: sizes[here[0]])
    result = aten.avg_pool1d(tl.tensor(x), kernel, stride, padding, False, padded)
    assert np.allclose(result.numpy(), means, 1e-12, 1e-14)


def test_results_do_not_depend_on_plans():
    """A map is applied alike with a plan and without one, and in pieces."""
    x = tl.rand(40, 3, 20000)
    for pool in (lambda t: aten.adaptive_avg_pool1d(t, 9000), lambda t: aten.adaptive_max_pool1d(t, 9000)[0]):
        assert tl.equal(pool(x)[:1], pool(x[:1]))
    linear = [aten.upsample_linear1d(t, [34000], False) for t in (x, x[:1])]
    nearest = [aten.upsample_nearest1d(t, [34000]) for t in (x, x[:1])]
    assert tl.equal(linear[0][:1], linear[1])
    assert tl.equal(nearest[0][:1], nearest[1])


@pytest.mark.parametrize("name", ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"])
def test_the_mean_of_complex_numbers(name):
    n = int(name[-2])
    array = np.random.default_rng(1).normal(size=(2, 3, *(4, 5, 2)[:n], 2)).view(np.complex128)[..., 0]
    result = getattr(aten, name).default(tl.from_numpy(array), [1] * n)
    np.testing.assert_allclose(result.numpy(), array.mean(tuple(range(2, 2 + n)), keepdims=True), rtol=1e-14)
