"""Padding against numpy's."""

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402
from tl_core.functions import nn as nn  # noqa: E402

MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def widths(pad, ndim):
    """As numpy takes them, from the first dimension on."""
    pairs = [(pad[2 * k], pad[2 * k + 1]) for k in range(len(pad) // 2)][::-1]
    return [(0, 0)] * (ndim - len(pairs)) + pairs


def cut(x, pad):
    """What negative widths leave, and the positive rest."""
    pairs = widths(pad, x.ndim)
    inside = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, pairs))
    return x[inside], [(max(a, 0), max(b, 0)) for a, b in pairs]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("shape", "pad"),
    [((2, 7), (3, 2)), ((2, 3, 7), (6, 0)), ((2, 5, 6), (1, 2, 3, 4)), ((2, 3, 5, 6), (0, 5, 4, 0)),
     ((2, 3, 4, 5), (1, 2, 3, 0, 1, 1)), ((1, 2, 3, 4, 5), (2, 1, 0, 3, 2, 2)), ((0, 2, 5, 6), (1, 2, 3, 4))],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_from_the_tensor_itself(mode, shape, pad, dtype):
    x = (
        (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
        if dtype != "uint8"
        else np.arange(np.prod(shape)).reshape(shape).astype(np.uint8)
    )
    expected = np.pad(x, widths(pad, x.ndim), mode=MODES[mode])
    np.testing.assert_array_equal(nn.pad(tl.from_numpy(x), pad, mode).numpy(), expected)


@pytest.mark.parametrize("mode", ["constant", "circular", "replicate"])
@pytest.mark.parametrize("pad", [(-2, 3), (1, -1), (-1, -2), (2, 0, -1, 1), (-1, 2, 1, -1)])
def test_negative_widths_cut(mode, pad):
    x = np.arange(60.0).reshape(2, 5, 6)
    inside, rest = cut(x, pad)
    expected = np.pad(inside, rest, mode=MODES.get(mode, "constant"))
    if mode == "replicate":  # the border is repeated as if nothing had been cut
        full = np.pad(x, [(max(a, 0), max(b, 0)) for a, b in widths(pad, 3)], mode="edge")
        expected = full[
            tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(full.shape, widths(pad, 3)))
        ]
    np.testing.assert_array_equal(nn.pad(tl.from_numpy(x), pad, mode).numpy(), expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "complex64"])
@pytest.mark.parametrize("pad", [(1, 2), (1, 0, 0, 3), (2, 2, 1, 1, 0, 4), ()])
def test_constant(dtype, pad):
    x = np.ones((2, 3, 4), dtype)
    value = 1 if dtype == "bool" else 7
    expected = np.pad(x, widths(pad, 3), constant_values=value)
    np.testing.assert_array_equal(tl.constant_pad_nd(tl.from_numpy(x), pad, value).numpy(), expected)


def test_channels_last_is_kept():
    x = tl.zeros(2, 3, 4, 5).contiguous(memory_format=tl.channels_last)
    for mode in ("constant", *MODES):
        assert nn.pad(x, (1, 1, 2, 2), mode).is_contiguous(memory_format=tl.channels_last)


def test_strided_input_and_meta():
    x = np.arange(40.0).reshape(5, 8)
    t = tl.from_numpy(x).t()[::2]
    np.testing.assert_array_equal(
        nn.pad(t, (1, 1), "reflect").numpy(), np.pad(x.T[::2], [(0, 0), (1, 1)], mode="reflect")
    )
    assert nn.pad(tl.empty(2, 5, device="meta"), (1, 2), "circular").shape == (2, 8)


@pytest.mark.parametrize(
    ("pad", "mode", "kind", "words"),
    [
        ((1, 2, 3), "constant", RuntimeError, "divisible by 2"),
        ((1,) * 8, "constant", RuntimeError, "two times the input dimension"),
        ((-3, -4), "constant", RuntimeError, "negative output size"),
        ((6, 0), "reflect", RuntimeError, "Padding size should be less"),
        ((7, 0), "circular", RuntimeError, "wrapping around more than once"),
        ((-3, -3), "replicate", RuntimeError, "too small"),
        ((1, 1), "mirror", NotImplementedError, "Unrecognised padding mode mirror"),
        ((1, 1, 1, 1, 1, 1), "reflect", NotImplementedError, "non-constant padding"),
        ((2**62, 2**62), "constant", RuntimeError, "overflow"),
    ],
)
def test_errors(pad, mode, kind, words):
    with pytest.raises(kind, match=words):
        nn.pad(tl.zeros(2, 4, 6), pad, mode)


def test_a_value_goes_with_the_constant_mode_only():
    with pytest.raises(RuntimeError, match="doesn't take in value"):
        nn.pad(tl.zeros(2, 4), (1, 1), "reflect", 2.0)
