"""Convolutions of bfloat16, which processors with tiles compute by them, against sums over taps in numpy.

A result differs from the exact sum by the rounding to bfloat16 and by that of a float32 sum.
"""

import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from test_convolution import convolved, forward_size, spread  # noqa: E402

# images, channels, rows, size, kernel, stride, padding, dilation, groups
SHAPES = [
    (2, 40, 24, (13, 17), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    (3, 33, 32, (9, 9), (3, 3), (2, 2), (1, 1), (1, 1), 1),
    (2, 64, 48, (7, 7), (1, 1), (1, 1), (0, 0), (1, 1), 1),
    (2, 64, 48, (8, 9), (1, 1), (2, 2), (0, 0), (1, 1), 1),
    (1, 24, 40, (12, 12), (3, 3), (1, 1), (2, 2), (2, 2), 1),
    (5, 9, 11, (6, 5), (3, 2), (2, 1), (1, 1), (1, 1), 1),
    (2, 16, 16, (20, 21), (5, 5), (3, 3), (2, 2), (1, 1), 1),
    (2, 32, 64, (6, 6), (3, 3), (1, 1), (1, 1), (1, 1), 2),
    (2, 16, 24, (50,), (4,), (2,), (3,), (1,), 1),
    (1, 16, 24, (5, 6, 7), (3, 3, 3), (1, 2, 1), (1, 1, 1), (1, 1, 1), 1),
    (1, 16, 16, (3, 3), (3, 3), (1, 1), (0, 0), (1, 1), 1),
    (17, 8, 8, (4, 4), (2, 2), (4, 4), (0, 0), (1, 1), 1),
]


def drawn(shape, seed):
    x = np.random.default_rng(seed).standard_normal(shape)
    return tl.tensor(x).bfloat16()


def check(result, exact, magnitude):
    error = np.abs(result.double().numpy() - exact)
    assert (error <= np.abs(exact) * 2.0**-8 + magnitude * 2.0**-20).all()


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_forward(shape, channels_last):
    n, channels, rows, size, kernel, stride, padding, dilation, groups = shape
    x, w, b = drawn((n, channels, *size), 0), drawn((rows, channels // groups, *kernel), 1), drawn((rows,), 2)
    if channels_last and len(size) == 2:
        x = x.contiguous(memory_format=tl.channels_last)
    call = {1: tl.conv1d, 2: tl.conv2d, 3: tl.conv3d}[len(size)]
    result = call(x, w, b, stride, padding, dilation, groups)
    out = forward_size(size, kernel, stride, padding, dilation)
    bias = b.double().numpy().reshape(-1, *[1] * len(size))
    x, w = x.double().numpy(), w.double().numpy()
    exact = convolved(x, w, out, stride, padding, dilation, groups) + bias
    check(result, exact, convolved(abs(x), abs(w), out, stride, padding, dilation, groups) + abs(bias))


@pytest.mark.parametrize("shape", SHAPES)
def test_transposed(shape):
    n, channels, rows, size, kernel, stride, padding, dilation, groups = shape
    x, w = drawn((n, rows, *size), 0), drawn((rows, channels // groups, *kernel), 1)
    call = {1: tl.conv_transpose1d, 2: tl.conv_transpose2d, 3: tl.conv_transpose3d}[len(size)]
    result = call(x, w, None, stride, padding, 0, groups, dilation)
    x, w = x.double().numpy(), w.double().numpy()
    arguments = result.shape[2:], stride, padding, dilation, groups
    check(result, spread(x, w, *arguments), spread(abs(x), abs(w), *arguments))


def test_threads_do_not_change_results():
    x, w = drawn((3, 64, 30, 30), 0), drawn((64, 64, 3, 3), 1)
    threads, results = tl.get_num_threads(), []
    for n in (1, 2, 5):
        tl.set_num_threads(n)
        results.append(tl.conv2d(x, w, padding=1).view(tl.int16).tolist())
    tl.set_num_threads(threads)
    assert results[0] == results[1] == results[2]


def test_values_that_are_not_finite():
    """They reach the positions whose windows hold them, and no others."""
    x, w = tl.ones(1, 32, 8, 40).bfloat16(), tl.ones(16, 32, 3, 3).bfloat16()
    x[0, 5, 4, 20] = float("nan")
    x[0, 6, 0, 0] = float("inf")
    result = tl.conv2d(x, w, padding=1).float()
    nan = tl.zeros(16, 8, 40, dtype=tl.bool)
    nan[:, 3:6, 19:22] = True
    assert tl.equal(result.isnan()[0], nan)
    infinite = tl.zeros(16, 8, 40, dtype=tl.bool)
    infinite[:, :2, :2] = True
    assert tl.equal(result.isinf()[0], infinite)
