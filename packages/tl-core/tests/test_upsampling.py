"""Interpolation against matrices of weights spelled out in numpy."""

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402
from tl_core.functions import nn as nn  # noqa: E402


def source(o, n, m, align):
    if align:
        return o * (n - 1) / (m - 1) if m > 1 else 0.0
    return (o + 0.5) * n / m - 0.5


def cubic(x, a):
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def weights(kind, n, m, align):
    """Row o holds the weights of output o."""
    out = np.zeros((m, n))
    for o in range(m):
        x = source(o, n, m, align)
        if kind == "nearest":
            out[o, min(o * n // m, n - 1)] = 1
        elif kind == "exact":
            out[o, min(int((o + 0.5) * n / m), n - 1)] = 1
        elif kind == "linear":
            x = min(max(x, 0), n - 1)
            i = min(int(x), max(n - 2, 0))
            out[o, i] += 1 - (x - i)
            out[o, min(i + 1, n - 1)] += x - i
        elif kind == "cubic":
            i = int(np.floor(x))
            for k in range(-1, 3):
                out[o, min(max(i + k, 0), n - 1)] += cubic(x - i - k, -0.75)
        else:
            step = ((n - 1) / (m - 1) if m > 1 else 0.0) if align else n / m
            stretch = max(step, 1.0)
            center = step * (o + 0.5)
            reach = (2 if kind == "smooth cubic" else 1) * stretch
            first, last = max(int(center - reach + 0.5), 0), min(int(center + reach + 0.5), n)
            for i in range(first, last):
                t = (i - center + 0.5) / stretch
                out[o, i] = cubic(t, -0.5) if kind == "smooth cubic" else max(1 - abs(t), 0)
            out[o] /= out[o].sum()
    return out


def expected(x, kind, size, align=False):
    for axis, m in enumerate(size):
        matrix = weights(kind, x.shape[2 + axis], m, align)
        x = np.moveaxis(np.tensordot(matrix, x, (1, 2 + axis)), 0, 2 + axis)
    return x


CASES = [
    *((f"upsample_nearest{n}d", "nearest", n, (False,)) for n in (1, 2, 3)),
    *((f"_upsample_nearest_exact{n}d", "exact", n, (False,)) for n in (1, 2, 3)),
    ("upsample_linear1d", "linear", 1, (False, True)),
    ("upsample_bilinear2d", "linear", 2, (False, True)),
    ("upsample_trilinear3d", "linear", 3, (False, True)),
    ("upsample_bicubic2d", "cubic", 2, (False, True)),
    ("_upsample_bilinear2d_aa", "smooth linear", 2, (False,)),
    ("_upsample_bicubic2d_aa", "smooth cubic", 2, (False,)),
]
SIZES = [(8, 12, 10), (3, 2, 4), (7, 5, 1), (4, 6, 5), (40, 33, 17)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("name", "kind", "n", "aligns"), CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_against_matrices(name, kind, n, aligns, size, dtype):
    x = np.random.default_rng(0).standard_normal((2, 3, *(4, 6, 5)[:n])).astype(dtype)
    formats = [tl.contiguous_format, *{2: [tl.channels_last], 3: [tl.channels_last_3d]}.get(n, [])]
    for align in aligns:
        choice = (align,) if len(aligns) > 1 or "aa" in name else ()
        for layout in formats:
            t = tl.from_numpy(x).contiguous(memory_format=layout)
            result = getattr(nn, name)(t, size[:n], *choice)
            assert result.is_contiguous(memory_format=layout)
            tolerance = 2e-5 if dtype == np.float32 else 1e-12
            np.testing.assert_allclose(
                result.contiguous().numpy(),
                expected(x, kind, size[:n], align),
                rtol=tolerance,
                atol=tolerance,
            )


def test_factors_say_where_elements_lie():
    x = np.arange(5.0).reshape(1, 1, 5)
    result = nn.upsample_linear1d(tl.from_numpy(x), None, False, [1.5]).numpy()
    spots = (np.arange(7) + 0.5) / 1.5 - 0.5
    np.testing.assert_allclose(result[0, 0], np.interp(spots, np.arange(5), np.arange(5.0)))


def fixed_point(matrix):
    """Integers of 16 bits, and by which power of two they are too large."""
    bits = 0
    while bits < 22 and 0.5 + matrix.max() * 2.0 ** (bits + 1) < 2**15:
        bits += 1
    return np.trunc(matrix * 2.0**bits + np.copysign(0.5, matrix)).astype(np.int64), bits


def image(x, kind, size):
    """The columns of an image, then its rows, rounded to bytes after each."""
    for axis, m in ((3, size[1]), (2, size[0])):
        matrix, bits = fixed_point(weights(kind, x.shape[axis], m, False))
        sums = np.moveaxis(np.tensordot(x.astype(np.int64), matrix.T, (axis, 0)), -1, axis)
        x = np.clip((sums + (1 << bits - 1)) >> bits, 0, 255)
    return x


@pytest.mark.parametrize("kind", ["linear", "cubic", "smooth linear", "smooth cubic"])
@pytest.mark.parametrize("size", [(9, 11), (3, 4), (17, 2), (5, 21)])
def test_images_are_resampled_in_fixed_point(kind, size):
    x = np.random.default_rng(1).integers(0, 256, (2, 3, 17, 21)).astype(np.uint8)
    function = getattr(nn, next(name for name, other, n, _ in CASES if (other, n) == (kind, 2)))
    for layout in (tl.contiguous_format, tl.channels_last):
        result = function(tl.from_numpy(x).contiguous(memory_format=layout), size, False)
        assert result.dtype is tl.uint8 and result.is_contiguous(memory_format=layout)
        np.testing.assert_array_equal(result.numpy(), image(x, kind, size))


# What PyTorch 2.13 makes of ((arange(30) * 37 + 11) % 256).view(1, 1, 5, 6), by mode, antialias and size.
RECORDED = {
    ("bilinear", False, (3, 4)): "494178b0d0483f7797cf863e",
    ("bilinear", False, (6, 7)): "0b28486887a7c4b2382f4f6e8eabd59e473251718eb9d6964b3555729dbada9a42395683a0c0e0a41f3c",
    ("bilinear", True, (3, 4)): "4f3e73a7c06b4472a0c7773d",
    ("bilinear", True, (6, 7)): "0b28486887a7c4b2382f4f6e8eabd59e473251718eb9d6964b3555729dbada9a42395683a0c0e0a41f3c",
    ("bicubic", False, (3, 4)): "443b7cb4d740417992e08338",
    ("bicubic", False, (6, 7)): "00244a6a8aacc8c31c19547193afedb22914567591b5faa82d1b597398b1ffa92433557f9bbcfeb2053c",
    ("bicubic", True, (3, 4)): "4d3279adcd6837759ed77235",
    ("bicubic", True, (6, 7)): "02274a6988a9c6c02321516f90ade5ac321e53728fb7ef9d362457739ab6f4a22d3455819ebef4b20d3c",
}  # fmt: skip


@pytest.mark.parametrize(("mode", "smooth", "size"), RECORDED)
def test_images_are_those_of_the_reference(mode, smooth, size):
    x = ((tl.arange(30) * 37 + 11) % 256).to(tl.uint8).view(1, 1, 5, 6)
    name = f"_upsample_{mode}2d_aa" if smooth else f"upsample_{mode}2d"
    assert bytes(getattr(nn, name)(x, size, False).flatten().tolist()).hex() == RECORDED[mode, smooth, size]


def test_an_image_of_the_same_size_is_a_copy():
    x = tl.arange(12, dtype=tl.uint8).view(1, 1, 3, 4)
    result = nn.upsample_bilinear2d(x, (3, 4), False)
    assert tl.equal(result, x) and result.data_ptr() != x.data_ptr()


def test_the_adjoint_is_the_transpose():
    g = np.random.default_rng(2).standard_normal((1, 2, 9, 4))
    result = nn.upsample_bilinear2d_backward(tl.from_numpy(g), (9, 4), (1, 2, 5, 7), False).numpy()
    high, wide = weights("linear", 5, 9, False), weights("linear", 7, 4, False)
    np.testing.assert_allclose(result, np.einsum("oi,ncop,pj->ncij", high, g, wide), rtol=1e-12)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_halves(name):
    x = tl.arange(6).reshape(1, 1, 6).to(getattr(tl, name))
    result = nn.upsample_linear1d(x, 11, True).to(tl.float32).numpy()
    np.testing.assert_allclose(result[0, 0], np.arange(11) / 2, atol=0.02)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: nn.upsample_nearest2d(x, (0, 2)), "should be greater than 0"),
        (lambda x: nn.upsample_nearest2d(x, (2, 2, 2)), "expected output_size equals to 2"),
        (lambda x: nn.upsample_nearest1d(x, 4), "expected input_size equals to 3"),
        (lambda x: nn.upsample_bilinear2d(x[:, :0], (2, 2), False), "Non-empty 4D data tensor"),
        (
            lambda x: nn.upsample_nearest2d(x, (2, 2), [1.0, 1.0]),
            "exactly one of output_size and scale_factors",
        ),
        (lambda x: nn.upsample_nearest2d(x, (2**40, 2**40)), "overflow"),
    ],
)
def test_errors(call, words):
    with pytest.raises(RuntimeError, match=words):
        call(tl.zeros(1, 2, 3, 4))


def test_types_that_are_not_numbers_between():
    with pytest.raises(NotImplementedError, match="upsample_bilinear2d"):
        nn.upsample_bilinear2d(tl.zeros(1, 1, 2, 2, dtype=tl.int32), (3, 3), False)
