"""Convolutions of 3 x 3 taps and many channels, which AVX-512 computes by Winograd's algorithm, against numpy."""

import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from test_convolution import convolved, forward_size, spread  # noqa: E402

# images, channels, rows, size, padding, groups
SHAPES = [
    (2, 33, 40, (13, 17), 1, 1),
    (3, 32, 32, (9, 9), 0, 1),
    (3, 64, 48, (7, 8), 1, 1),
    (4, 64, 64, (9, 11), 2, 2),
    (1, 128, 37, (14, 14), 1, 1),
    (1, 40, 33, (60, 3), 1, 1),
]
UNIT = 2.0**-24


def drawn(shape, seed):
    return tl.tensor(np.random.default_rng(seed).standard_normal(shape), dtype=tl.float32)


def check(result, exact, magnitude):
    assert (np.abs(result.double().numpy() - exact) <= 8 * UNIT * magnitude + UNIT * np.abs(exact)).all()


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_forward(shape, channels_last):
    n, channels, rows, size, padding, groups = shape
    x, w, b = drawn((n, channels, *size), 0), drawn((rows, channels // groups, 3, 3), 1), drawn((rows,), 2)
    if channels_last:
        x = x.contiguous(memory_format=tl.channels_last)
    result = tl.conv2d(x, w, b, padding=padding, groups=groups)
    arguments = (1, 1), (padding, padding), (1, 1), groups
    out, bias = forward_size(size, (3, 3), *arguments[:3]), b.double().numpy()[:, None, None]
    x, w = x.double().numpy(), w.double().numpy()
    check(
        result,
        convolved(x, w, out, *arguments) + bias,
        convolved(abs(x), abs(w), out, *arguments) + abs(bias),
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_transposed(shape):
    n, channels, rows, size, padding, groups = shape
    x, w = drawn((n, rows, *size), 0), drawn((rows, channels // groups, 3, 3), 1)
    result = tl.conv_transpose2d(x, w, padding=padding, groups=groups)
    x, w = x.double().numpy(), w.double().numpy()
    arguments = result.shape[2:], (1, 1), (padding, padding), (1, 1), groups
    check(result, spread(x, w, *arguments), spread(abs(x), abs(w), *arguments))


def test_whole_numbers_are_exact():
    rng = np.random.default_rng(3)
    x, w = rng.integers(-8, 9, (2, 32, 12, 12)), rng.integers(-8, 9, (32, 32, 3, 3))
    result = tl.conv2d(tl.tensor(x).float(), tl.tensor(w).float(), padding=1)
    assert np.array_equal(result.numpy(), convolved(x, w, (12, 12), (1, 1), (1, 1), (1, 1), 1))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_values_that_are_not_finite_reach_their_windows(value):
    x, w = tl.ones(1, 32, 16, 16), tl.ones(32, 32, 3, 3)
    x[0, 3, 5, 7] = value
    reached = tl.zeros(32, 16, 16, dtype=tl.bool)
    reached[:, 4:7, 6:9] = True
    assert tl.equal(~tl.conv2d(x, w, padding=1)[0].isfinite(), reached)
    x[0, 3, 5, 7], w[2, 4, 1, 1] = 1.0, value
    row = tl.zeros(32, 16, 16, dtype=tl.bool)
    row[2] = True
    assert tl.equal(~tl.conv2d(x, w, padding=1)[0].isfinite(), row)


def test_large_numbers_do_not_overflow_on_the_way():
    x, w = tl.full((1, 32, 16, 16), 2.0**126), tl.full((32, 32, 3, 3), 2.0**-110)
    assert tl.conv2d(x, w, padding=1).max().item() == 9 * 32 * 2.0**16


def test_threads_do_not_change_results():
    x, w = drawn((3, 64, 30, 30), 0), drawn((64, 64, 3, 3), 1)
    threads, results = tl.get_num_threads(), []
    for n in (1, 2, 5):
        tl.set_num_threads(n)
        results.append(tl.conv2d(x, w, padding=1).view(tl.int32).tolist())
    tl.set_num_threads(threads)
    assert results[0] == results[1] == results[2]
