"""Convolutions, their adjoints and sliding blocks against sums over taps in numpy."""

import itertools
import math
import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402
from tl_core.operators import packets as ops  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import row_cases as r  # noqa: E402

DTYPES = ("int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
TOLERANCE = {"bfloat16": 0.05, "float16": 1e-2, "float32": 1e-4, "complex64": 1e-4}
FORWARD = {1: tl.conv1d, 2: tl.conv2d, 3: tl.conv3d}
TRANSPOSED = {1: tl.conv_transpose1d, 2: tl.conv_transpose2d, 3: tl.conv_transpose3d}


def windows(size, out, tap, stride, padding, dilation):
    """(output slices, input slices) of the positions at which a tap reads inside."""
    outer, inner = [], []
    for n, m, t, s, p, d in zip(size, out, tap, stride, padding, dilation, strict=True):
        inside = [q for q in range(m) if 0 <= q * s - p + t * d < n]
        begin, end = (inside[0], inside[-1] + 1) if inside else (0, 0)
        first = begin * s - p + t * d
        outer.append(slice(begin, end))
        inner.append(slice(first, first + (end - begin - 1) * s + 1, s) if inside else slice(0, 0))
    return (..., *outer), (..., *inner)


def convolved(x, w, out, stride, padding, dilation, groups):
    """The convolution, tap by tap."""
    x = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    w = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    y = np.zeros((x.shape[0], groups, w.shape[1], *out), np.result_type(x, w))
    for tap in itertools.product(*map(range, w.shape[3:])):
        to, at = windows(x.shape[3:], out, tap, stride, padding, dilation)
        y[to] += np.einsum("gmc,ngc...->ngm...", w[(..., *tap)], x[at])
    return y.reshape(y.shape[0], y.shape[1] * y.shape[2], *out)


def spread(x, w, out, stride, padding, dilation, groups):
    """The adjoint, tap by tap."""
    x = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    w = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    y = np.zeros((x.shape[0], groups, w.shape[2], *out), np.result_type(x, w))
    for tap in itertools.product(*map(range, w.shape[3:])):
        at, to = windows(out, x.shape[3:], tap, stride, padding, dilation)
        y[to] += np.einsum("gcm,ngc...->ngm...", w[(..., *tap)], x[at])
    return y.reshape(y.shape[0], y.shape[1] * y.shape[2], *out)


def forward_size(size, kernel, stride, padding, dilation):
    each = zip(size, kernel, stride, padding, dilation, strict=True)
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in each]


def transposed_size(size, kernel, stride, padding, dilation, extra):
    each = zip(size, kernel, stride, padding, dilation, extra, strict=True)
    return [(n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, d, e in each]


def close(got, want, dtype):
    tolerance = TOLERANCE.get(dtype, 1e-9)
    scale = max(1.0, float(np.abs(want).max())) if want.size else 1.0
    np.testing.assert_allclose(r.to_numpy(got), want, rtol=0, atol=tolerance * scale)


CASES = [  # batch, channels, outputs, groups, size, kernel, stride, padding, dilation
    (2, 3, 5, 1, (9,), (3,), (1,), (0,), (1,)),
    (1, 17, 33, 1, (40,), (5,), (2,), (2,), (1,)),
    (2, 4, 6, 2, (8, 9), (3, 2), (1, 2), (1, 0), (1, 2)),
    (3, 16, 40, 1, (7, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 64, 20, 1, (5, 33), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 20, 7, 1, (11, 12), (1, 1), (2, 2), (0, 0), (1, 1)),
    (2, 6, 6, 6, (9, 20), (3, 3), (2, 1), (1, 2), (1, 1)),
    (2, 5, 10, 5, (6, 18), (2, 5), (3, 3), (2, 2), (2, 1)),
    (1, 3, 8, 1, (20, 20), (7, 7), (2, 2), (3, 3), (1, 1)),
    (2, 3, 4, 1, (4, 5, 6), (2, 3, 2), (1, 2, 1), (1, 0, 2), (2, 1, 3)),
    (5, 6, 16, 2, (14, 13), (3, 5), (1, 1), (1, 2), (1, 2)),  # steps of one: in planes
    (3, 50, 18, 1, (12, 40), (3, 3), (1, 1), (0, 1), (1, 1)),
    (4, 3, 4, 1, (9, 20), (2, 2), (1, 1), (2, 3), (1, 1)),
    (3, 2, 5, 1, (5, 6, 17), (2, 3, 3), (1, 1, 1), (1, 0, 1), (1, 1, 1)),
    (40, 2, 3, 1, (33,), (1,), (1,), (1,), (1,)),
    (40, 2, 3, 1, (33,), (4,), (1,), (0,), (3,)),
    (0, 3, 4, 1, (5, 5), (3, 3), (1, 1), (0, 0), (1, 1)),
    (2, 0, 4, 1, (5, 5), (3, 3), (1, 1), (0, 0), (1, 1)),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_forward(case, dtype):
    n, channels, outputs, groups, size, kernel, stride, padding, dilation = case
    rng = np.random.default_rng(1)
    x = r.values(rng, (n, channels, *size), dtype)
    w = r.values(rng, (outputs, channels // groups, *kernel), dtype)
    b = r.values(rng, (outputs,), dtype)
    out = forward_size(size, kernel, stride, padding, dilation)
    want = convolved(*map(r.to_numpy, (x, w)), out, stride, padding, dilation, groups)
    conv, how = FORWARD[len(size)], (stride, padding, dilation, groups)
    close(conv(x, w, None, *how), want, dtype)
    want = want + r.to_numpy(b).reshape(-1, *[1] * len(size))
    result = conv(x, w, b, *how)
    close(result, want, dtype)
    assert result.dtype == x.dtype and result.is_contiguous()
    ghost = conv(x.to("meta"), w.to("meta"), b.to("meta"), *how)
    assert (ghost.shape, ghost.stride(), ghost.dtype) == (result.shape, result.stride(), result.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", [case for case in CASES if case[1]])
def test_transposed(case, dtype):
    n, channels, outputs, groups, size, kernel, stride, padding, dilation = case
    rng = np.random.default_rng(2)
    extra = tuple(max(s, d) - 1 for s, d in zip(stride, dilation, strict=True))
    x = r.values(rng, (n, channels, *size), dtype)
    w = r.values(rng, (channels, outputs // groups, *kernel), dtype)
    b = r.values(rng, (outputs,), dtype)
    out = transposed_size(size, kernel, stride, padding, dilation, extra)
    want = spread(*map(r.to_numpy, (x, w)), out, stride, padding, dilation, groups)
    want = want + r.to_numpy(b).reshape(-1, *[1] * len(size))
    close(TRANSPOSED[len(size)](x, w, b, stride, padding, extra, groups, dilation), want, dtype)


@pytest.mark.parametrize("dtype", ("bfloat16", "float32", "float64", "complex64"))
@pytest.mark.parametrize("case", CASES)
def test_backward(case, dtype):
    n, channels, outputs, groups, size, kernel, stride, padding, dilation = case
    rng = np.random.default_rng(3)
    x = r.values(rng, (n, channels, *size), dtype)
    w = r.values(rng, (outputs, channels // groups, *kernel), dtype)
    out = forward_size(size, kernel, stride, padding, dilation)
    g = r.values(rng, (n, outputs, *out), dtype)
    axes = len(size)
    of_x, of_w, of_b = ops.aten.convolution_backward(
        g, x, w, [outputs], stride, padding, dilation, False, [0] * axes, groups, [True, True, True]
    )
    gx, xx, ww = map(r.to_numpy, (g, x, w))
    close(of_x, spread(gx, ww, size, stride, padding, dilation, groups), dtype)
    close(of_b, gx.sum((0, *range(2, 2 + axes))), dtype)
    want = np.zeros((groups, outputs // groups, *ww.shape[1:]), gx.dtype)
    gg, xg = (a.reshape(n, groups, a.shape[1] // groups, *a.shape[2:]) for a in (gx, xx))
    for tap in itertools.product(*map(range, kernel)):
        to, at = windows(size, out, tap, stride, padding, dilation)
        left, right = (a.reshape(*a.shape[:3], math.prod(a.shape[3:])) for a in (gg[to], xg[at]))
        want[(..., *tap)] = np.einsum("ngmq,ngcq->gmc", left, right)
    close(of_w, want.reshape(ww.shape), dtype)


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64", "complex128"))
def test_layouts(dtype):
    rng = np.random.default_rng(4)
    w = r.values(rng, (20, 18, 3, 3), dtype)
    x = r.values(rng, (2, 18, 8, 20), dtype)
    want = convolved(*map(r.to_numpy, (x, w)), (8, 20), (1, 1), (1, 1), (1, 1), 1)
    last = x.contiguous(memory_format=tl.channels_last)
    result = tl.conv2d(last, w, padding=1)
    assert result.is_contiguous(memory_format=tl.channels_last)
    close(result, want, dtype)
    gaps = tl.zeros(4, 18, 16, 60, dtype=x.dtype)[::2, :, ::2, ::3]
    gaps.copy_(x)
    close(tl.conv2d(gaps, w.transpose(2, 3).contiguous().transpose(2, 3), padding=1), want, dtype)
    close(tl.conv2d(x.expand(2, 18, 8, 20), w, padding=1), want, dtype)


def test_padding_names():
    rng = np.random.default_rng(5)
    x, w = r.values(rng, (2, 3, 9, 10), "float64"), r.values(rng, (4, 3, 2, 3), "float64")
    want = convolved(*map(r.to_numpy, (x, w)), (9, 10), (1, 1), (1, 3), (2, 3), 1)
    close(tl.conv2d(x, w, padding="same", dilation=(2, 3)), want, "float64")
    assert r.same(tl.conv2d(x, w, padding="valid"), tl.conv2d(x, w))


def test_unbatched():
    x, w = tl.rand(3, 9, 10), tl.rand(4, 3, 2, 3)
    assert r.same(tl.conv2d(x, w), tl.conv2d(x[None], w)[0])
    assert r.same(
        tl.conv_transpose1d(x[0], tl.rand(9, 2, 3).fill_(1)), tl.conv_transpose1d(x[:1], tl.ones(9, 2, 3))[0]
    )


@pytest.mark.parametrize("shape", [(2, 8, 30, 31), (1, 64, 56, 56), (70, 24, 7, 7), (9, 3, 20, 21)])
def test_threads_change_nothing(shape):
    x, w = tl.randn(*shape), tl.randn(40, shape[1], 3, 3)
    before, results = tl.get_num_threads(), []
    for threads in (1, 2, 4):
        tl.set_num_threads(threads)
        y = tl.conv2d(x, w, padding=1)
        grads = ops.aten.convolution_backward(
            y, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True]
        )
        results.append((y, *grads))
    tl.set_num_threads(before)
    assert all(r.same(a, b) for other in results[1:] for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("size, groups, stride", [(14, 1, 1), (14, 2, 2), (29, 1, 2), (29, 1, 1), (5, 4, 1)])
def test_parts_of_one_image_change_nothing(size, groups, stride):
    x, w = tl.randn(1, 32, size, size), tl.randn(132, 32 // groups, 3, 3)
    before, results = tl.get_num_threads(), []
    for threads in (1, 2, 3, 8, 40):
        tl.set_num_threads(threads)
        results.append(tl.conv2d(x, w, stride=stride, padding=1, groups=groups))
    tl.set_num_threads(before)
    assert all(r.same(results[0], y) for y in results[1:])


def test_an_image_does_not_depend_on_its_batch():
    x, w = tl.randn(40, 50, 6, 9), tl.randn(20, 50, 3, 3)
    assert r.same(tl.conv2d(x[:1], w), tl.conv2d(x, w)[:1])


def test_threads_that_pack_side_by_side_change_nothing():
    """Two tiles of channels, and enough positions that two threads pack them at the same time."""
    x, g, w = tl.randn(64, 1, 16, 16), tl.randn(64, 16, 16, 16), tl.randn(16, 1, 3, 3)
    before, results = tl.get_num_threads(), set()
    tl.set_num_threads(2)
    for _ in range(200):
        parts = tl.ops.aten.convolution_backward(
            g, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False]
        )
        results.add(bytes(memoryview(parts[1])))
    tl.set_num_threads(before)
    assert len(results) == 1


X, W = (1, 3, 5, 5), (4, 3, 3, 3)
WRONG = [
    (lambda: tl.conv2d(tl.rand(X), tl.rand(4, 2, 3, 3)), r"to have 2 channels, but got 3"),
    (
        lambda: tl.conv2d(tl.rand(3, 5), tl.rand(W)),
        r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d",
    ),
    (
        lambda: tl.conv2d(tl.rand(X), tl.rand(4, 3, 7, 7)),
        r"Kernel size can't be greater than actual input size",
    ),
    (lambda: tl.conv2d(tl.rand(X), tl.rand(W), tl.rand(5)), r"bias to be 1-dimensional with 4 elements"),
    (lambda: tl.conv2d(tl.rand(X), tl.rand(W), stride=0), r"non-positive stride is not supported"),
    (lambda: tl.conv2d(tl.rand(X), tl.rand(W), padding=-1), r"negative padding is not supported"),
    (lambda: tl.conv2d(tl.rand(X), tl.rand(W), dilation=0), r"dilation should be greater than zero"),
    (lambda: tl.conv2d(tl.rand(X), tl.rand(W), groups=0), r"non-positive groups is not supported"),
    (lambda: tl.conv2d(tl.rand(X), tl.rand(W), padding="foo"), r"Invalid padding string: 'foo'"),
    (lambda: tl.conv2d(tl.rand(X), tl.rand(W), stride=2, padding="same"), r"not supported for strided"),
    (lambda: tl.conv2d(tl.rand(X), tl.rand(W).double()), r"expected scalar type Float but found Double"),
    (
        lambda: tl.conv_transpose2d(tl.rand(X), tl.rand(3, 4, 3, 3), output_padding=1),
        r"output padding must be",
    ),
    (lambda: tl.conv2d(tl.rand(X), tl.rand(W), padding=2**62), r"overflow"),
    (lambda: tl.conv2d(tl.rand(X), tl.rand(1, 3, 1, 1), stride=2**60, padding=2**60), r"overflow"),
    (lambda: tl.conv_transpose1d(tl.rand(1, 1, 1), tl.rand(1, 1, 2), dilation=2**63 - 1), r"overflow"),
]


@pytest.mark.parametrize("call, message", WRONG)
def test_errors(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_bool_is_refused():
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        tl.conv2d(tl.ones(X, dtype=tl.bool), tl.ones(W, dtype=tl.bool))


BLOCKS = [((6, 7), (2, 3), (1, 1), (0, 0), (1, 1)), ((6, 9), (3, 2), (2, 1), (1, 2), (2, 3))]


@pytest.mark.parametrize("dtype", ("bfloat16", "float32", "float64", "complex64"))
@pytest.mark.parametrize("size, kernel, dilation, padding, stride", BLOCKS)
def test_sliding_blocks(size, kernel, dilation, padding, stride, dtype):
    """Blocks are the convolution with a weight of single ones; the adjoint spreads by the same weight."""
    rng = np.random.default_rng(6)
    x = r.values(rng, (2, 3, *size), dtype)
    area = math.prod(kernel)
    ones = np.zeros((3 * area, 1, *kernel))
    ones.reshape(3, area, area)[:] = np.eye(area)
    out = forward_size(size, kernel, stride, padding, dilation)
    want = convolved(r.to_numpy(x), ones, out, stride, padding, dilation, 3).reshape(2, 3 * area, -1)
    how = (kernel, dilation, padding, stride)
    columns = tl._C._nn.im2col(x, *how)
    close(columns, want, dtype)
    assert r.same(tl._C._nn.im2col(x[0], *how), columns[0])
    back = spread(want.reshape(2, 3 * area, *out), ones, size, stride, padding, dilation, 3)
    close(tl._C._nn.col2im(columns, size, *how), back, dtype)


@pytest.mark.parametrize("stride", [3, 2**62])
def test_stride_of_a_single_position_means_nothing(stride):
    x, w = tl.rand(2, 3, 4, 8)[..., ::2], tl.rand(5, 3, 4, 4)
    full, once = tl.conv2d(x, w), tl.conv2d(x, w, stride=stride)
    assert once.shape == (2, 5, 1, 1)
    assert tl.equal(once, full)
    wide = tl.conv2d(tl.rand(1, 1, 2, 6), tl.rand(1, 1, 2, 6), stride=(stride, 1), padding=(0, 2))
    assert wide.shape == (1, 1, 1, 5)
    back = tl.conv_transpose2d(once, w, stride=stride)
    assert tl.equal(back, tl.conv_transpose2d(once, w))


@pytest.mark.parametrize(
    "how",
    [([1], [2**63 - 2], [1]), ([1], [0], [2**62]), ([2**62], [0], [1]), ([2**60], [0], [2**61 + 2**60])],
)
def test_windows_beyond_all_numbers_are_refused(how):
    x, w, g = tl.rand(1, 1, 5), tl.rand(1, 1, 3), tl.rand(1, 1, 4)
    for call in (
        lambda: ops.aten._convolve(x, w, None, [1, 1, 4], *how, 1),
        lambda: ops.aten._convolve_input(g, w, None, [1, 1, 5], *how, 1),
        lambda: ops.aten._convolve_weight(g, x, [1, 1, 3], *how, 1),
    ):
        with pytest.raises(RuntimeError, match="overflow"):
            call()


@pytest.mark.parametrize("dtype", (tl.float32, tl.float64))
@pytest.mark.parametrize("groups, values", [(1, [8.0, 8.0]), (2, [3.0, 5.0])])
def test_a_step_may_be_far_wider_than_the_image(dtype, groups, values):
    far = 2**50
    x, w = tl.tensor([[[[3.0]], [[5.0]]]], dtype=dtype), tl.ones(2, 2 // groups, 1, 1, dtype=dtype)
    y = tl.conv2d(x, w, stride=(1, far), padding=(0, far), groups=groups)
    assert y.tolist() == [[[[0.0, value, 0.0]] for value in values]]


@pytest.mark.parametrize("padding", [2**30, 2**61])
def test_what_is_read_far_in_the_padding_is_zero(padding):
    x, w, g = tl.rand(2, 8, 5), tl.rand(16, 8, 3), tl.rand(2, 16, 4)
    how = [1], [padding], [1], 1
    assert not ops.aten._convolve(x, w, None, g.shape, *how).any()
    assert not ops.aten._convolve_input(g, w, None, x.shape, *how).any()
    assert not ops.aten._convolve_weight(g, x, w.shape, *how).any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "int64"])
def test_an_image_without_elements_leaves_the_bias(dtype):
    shapes = (2, 8, 0, 6), (16, 8, 2, 2), (16,)
    x, w, bias = (tl.ones(shape, dtype=getattr(tl, dtype)) for shape in shapes)
    out = ops.aten._convolve(x, w, bias, [2, 16, 2, 4], [3, 2], [1, 2], [1, 2], 1)
    assert tl.equal(out, bias[:, None, None].expand(out.shape))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "complex64", "int64"])
def test_steps_of_one_image_channel_or_tap_mean_nothing(dtype):
    x, w = (tl.randint(-5, 5, shape).to(getattr(tl, dtype)) for shape in ((1, 1, 6), (1, 1, 1)))
    far = [tl.as_strided(t, t.shape, [2**62 if n == 1 else 1 for n in t.shape]) for t in (x, w)]
    for convolve in (tl.conv1d, tl.conv_transpose1d):
        assert tl.equal(convolve(*far), convolve(x, w))


def test_taps_further_apart_than_their_weights():
    g, w = tl.rand(1, 2, 2), tl.rand(2, 3, 3)
    x = ops.aten._convolve_input(g, w, None, [1, 3, 4], [2**40], [0], [1], 1)
    assert tl.allclose(x[0, :, :3], tl.einsum("o,oit->it", g[0, :, 0], w)) and not x[..., 3].any()


def test_a_kernel_beyond_the_input_is_said_by_its_sizes():
    message = r"input size per channel: \(3 x 4\)\. Kernel size: \(5 x 3\)\. Kernel size can't be greater"
    with pytest.raises(RuntimeError, match=message):
        tl.conv2d(tl.ones(1, 1, 3, 4), tl.ones(1, 1, 5, 2), dilation=(1, 2))


def test_the_kinds_of_convolution_have_names():
    from tl_core.compat.convolution_backends import _ConvBackend, _select_conv_backend

    def kind(shape, dilation=1, transposed=False):
        n = len(shape) - 2
        weight = tl.ones(2, 2, *[1] * n)
        x = tl.ones(shape)
        return _select_conv_backend(x, weight, None, [1] * n, [0] * n, [dilation] * n, transposed, [0] * n, 1)

    assert kind((1, 2, 3)) is _ConvBackend.Slow2d and kind((1, 2, 3, 3, 3)) is _ConvBackend.Slow3d
    assert kind((1, 2, 3, 3), dilation=2) is _ConvBackend.SlowDilated2d
    assert kind((1, 2, 3, 3, 3), transposed=True) is _ConvBackend.SlowTranspose3d
    assert kind((0, 2, 3)) is _ConvBackend.Empty
