"""Convolutions of bytes against sums in int64, at the level that TL_CPU_CAPABILITY selects."""

import itertools
import os

import pytest

import tl_core as tl

np = pytest.importorskip("numpy", reason="the references are numpy's")


def tensor(array, dtype):
    return tl.tensor(array.tolist(), dtype=dtype).reshape(array.shape)


def packed(weight, groups):
    """The weight (rows, channels, ...) as the operator takes it: channels padded to fours, tap by tap."""
    rows, channels = weight.shape[:2]
    lines = weight.reshape(rows, channels, -1).transpose(0, 2, 1)
    if rows == groups and channels == 1:
        return tensor(lines[:, :, 0].T.copy(), tl.int8), tl.zeros(0, dtype=tl.int32)
    padded = np.zeros((rows, lines.shape[1], -(-channels // 4) * 4), np.int64)
    padded[:, :, :channels] = lines
    parts = [tl._pack_int8(tensor(p.reshape(len(p), -1), tl.int8)) for p in np.split(padded, groups)]
    return tl.stack([p for p, _ in parts]), tl.cat([s for _, s in parts])


def convolution(x, w, stride, padding, dilation, groups):
    """By its definition; x is padded with zeros, which are the numbers less their zero point."""
    axes = len(stride)
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    size = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], w.shape[2:], stride, dilation)]
    out = np.zeros((len(x), len(w), *size), np.int64)
    channels, rows = w.shape[1], len(w) // groups
    for tap in itertools.product(*(range(k) for k in w.shape[2:])):
        window = x[
            (slice(None), slice(None), *(slice(t * d, t * d + (n - 1) * s + 1, s)
             for t, d, n, s in zip(tap, dilation, size, stride)))
        ]  # fmt: skip
        for g in range(groups):
            part = window[:, g * channels : (g + 1) * channels]
            out[:, g * rows : (g + 1) * rows] += np.einsum(
                "nc...,oc->no...", part, w[g * rows : (g + 1) * rows, :, *tap]
            )
    assert out.ndim == axes + 2
    return out


CASES = [
    # batch, channels, rows, groups, size, kernel, stride, padding, dilation
    (2, 3, 5, 1, (9,), (3,), (1,), (1,), (1,)),
    (1, 3, 64, 1, (23, 21), (7, 7), (2, 2), (3, 3), (1, 1)),
    (1, 4, 17, 1, (8, 9), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 32, 20, 1, (7, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    (1, 20, 70, 1, (5, 6), (1, 1), (1, 1), (0, 0), (1, 1)),
    (1, 24, 8, 1, (9, 8), (3, 2), (2, 1), (2, 0), (2, 3)),
    (2, 12, 8, 4, (6, 6), (3, 3), (1, 1), (1, 1), (1, 1)),
    (1, 32, 64, 2, (5, 5), (3, 3), (1, 2), (1, 1), (1, 1)),
    (2, 19, 19, 19, (8, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    (1, 80, 80, 80, (9, 9), (3, 3), (2, 2), (0, 1), (1, 1)),
    (1, 3, 6, 3, (5, 5), (3, 3), (1, 1), (1, 1), (1, 1)),
    (1, 5, 4, 1, (4, 5, 6), (2, 3, 3), (1, 2, 1), (1, 0, 2), (1, 1, 2)),
    (0, 3, 4, 1, (5, 5), (3, 3), (1, 1), (1, 1), (1, 1)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
def test_convolutions_round_the_exact_sum_once(case, signed, zeros):
    batch, channels, rows, groups, size, kernel, stride, padding, dilation = case
    rng = np.random.default_rng(sum(kernel) + channels)
    low = -128 if signed else 0
    x = rng.integers(low, low + 256, (batch, channels, *size))
    w = rng.integers(-128, 128, (rows, channels // groups, *kernel))
    w_zero = rng.integers(-90, 90, rows) if zeros else np.zeros(rows, np.int64)
    scales, bias = (
        rng.uniform(0.001, 0.01, rows).astype(np.float32),
        rng.standard_normal(rows).astype(np.float32),
    )
    zero, out_zero = low + 120, low + 77
    ones = (1,) * len(kernel)
    sums = convolution(x - zero, w - w_zero.reshape(-1, 1, *ones), stride, padding, dilation, groups)
    unit, column = np.float32(0.02) * scales, (1, -1, *ones)
    y = (sums.astype(np.float32) + (bias / unit).reshape(column)) * (unit / np.float32(0.4)).reshape(column)
    integers = tensor(x, tl.int8 if signed else tl.uint8)
    for relu in (False, True):
        want = np.clip(np.rint(y) + out_zero, out_zero if relu else low, low + 255)
        for layout in (integers, integers.transpose(1, -1).contiguous().transpose(1, -1)):
            result = tl._int8_convolution(
                layout, 0.02, zero, *packed(w, groups), tensor(scales, tl.float32),
                tensor(w_zero, tl.int32) if zeros else None, tensor(bias, tl.float32), kernel, stride, padding,
                dilation, groups, 0.4, out_zero, relu,
            )  # fmt: skip
            assert result.shape == want.shape
            assert np.array_equal(result.numpy().astype(np.int64), want)
        # Without a scale, the exact sum is scaled and shifted in one rounding.
        exact = sums.astype(np.float32) * unit.astype(np.float64).reshape(column) + bias.astype(
            np.float64
        ).reshape(column)
        floats = tl._int8_convolution(
            integers, 0.02, zero, *packed(w, groups), tensor(scales, tl.float32),
            tensor(w_zero, tl.int32) if zeros else None, tensor(bias, tl.float32), kernel, stride, padding,
            dilation, groups, None, None, relu,
        )  # fmt: skip
        assert floats.dtype is tl.float32
        want = np.maximum(exact, 0) if relu else exact
        assert np.array_equal(floats.numpy(), want.astype(np.float32))


def call(
    x=None, weight=None, kernel=(3, 3), stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, scale=1.0
):
    x = tl.ones(1, 4, 5, 5, dtype=tl.uint8) if x is None else x
    weight = packed(np.ones((2, 4, 3, 3), np.int64), 1) if weight is None else weight
    return tl._int8_convolution(
        x, 1.0, 0, *weight, tl.ones(2), None, None, kernel, stride, padding, dilation, groups, scale, 0
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": tl.ones(1, 4, 5, 5)}, "input must be of type Byte or Char"),
        ({"x": tl.ones(4, 5, 5, dtype=tl.uint8)}, "Expected 4-dimensional input"),
        (
            {"x": tl.ones(1, 8, 5, 5, dtype=tl.uint8)},
            "packed must be a contiguous tensor of int8 with the shape",
        ),
        ({"kernel": (6, 3)}, "Kernel size can't be greater than actual input size"),
        ({"stride": (0, 1)}, "stride must be at least 1"),
        ({"padding": (-1, 1)}, "padding must be at least 0"),
        ({"dilation": (1,)}, "expected dilation to be a list of 2 values"),
        ({"groups": 3}, "groups must divide the channels"),
        ({"scale": -1.0}, "scale must be positive"),
        ({"scale": None}, "scale and zero_point must both be numbers or both be None, got None for scale"),
        ({"kernel": (1, 1, 1, 1)}, "kernel_size must have one to three numbers"),
    ],
)
def test_refused_arguments_are_named(arguments, message):
    with pytest.raises(RuntimeError, match=message):
        call(**arguments)


def test_meta_tensors_have_the_size():
    weight = tuple(w.to("meta") for w in packed(np.ones((2, 4, 3, 3), np.int64), 1))
    y = tl._int8_convolution(
        tl.ones(3, 4, 5, 6, dtype=tl.uint8, device="meta"), 1.0, 0, *weight, tl.ones(2, device="meta"), None, None,
        (3, 3), (1, 2), (1, 0), (1, 1), 1, 1.0, 0,
    )  # fmt: skip
    assert y.shape == (3, 2, 5, 2) and y.is_meta


@pytest.mark.skipif("TL_CPU_CAPABILITY" in os.environ, reason="runs other levels itself")
@pytest.mark.parametrize("level", ["avx2", "default"])
def test_other_levels_have_the_same_sums(level, run_at_level):
    """The tests of this file, in a process of another level."""
    run = run_at_level(level)
    assert run.returncode == 0, run.stdout[-3000:]
