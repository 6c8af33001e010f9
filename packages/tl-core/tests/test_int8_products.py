"""Products of bytes: each kernel against sums in int64, at the level that TL_CPU_CAPABILITY selects."""

import os

import pytest

import tl_core as tl

np = pytest.importorskip("numpy", reason="the references are numpy's")

SIZES = [
    (1, 1, 1),
    (1, 16, 4),
    (3, 17, 5),
    (6, 64, 64),
    (7, 65, 63),
    (13, 130, 33),
    (1, 100, 257),
    (2, 48, 0),
    (70, 20, 40),
]


def integers(rng, low, high, *shape):
    return rng.integers(low, high, shape, endpoint=True)


def tensor(array, dtype):
    return tl.tensor(array.tolist(), dtype=dtype).reshape(array.shape)


def packed(weight):
    return tl._pack_int8(tensor(weight, tl.int8))


def exact_fma(x, y, z):
    """fma of float32: the product is exact in long double, whose sum keeps 64 bits."""
    return (x.astype(np.longdouble) * y.astype(np.longdouble) + z.astype(np.longdouble)).astype(np.float32)


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_packed_weights_hold_every_element_once(m, n, k):
    weight = integers(np.random.default_rng(0), -128, 127, n, k)
    panels, sums = packed(weight)
    lines = panels.numpy().reshape(-(-n // 16), -(-k // 4), 16, 4).transpose(0, 2, 1, 3)
    matrix = lines.reshape(-(-n // 16) * 16, -(-k // 4) * 4)
    assert np.array_equal(matrix[:n, :k], weight)
    assert not matrix[n:].any() and not matrix[:, k:].any()
    assert np.array_equal(sums.numpy()[:n], weight.sum(1))
    transposed = tl._pack_int8(tensor(weight.T.copy(), tl.int8).t())
    assert tl.equal(transposed[0], panels) and tl.equal(transposed[1], sums)


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
def test_int8_linear_rounds_the_exact_sum_once(m, n, k, signed, zeros):
    rng = np.random.default_rng(m + n + k)
    low = -128 if signed else 0
    x, w = integers(rng, low, low + 255, m, k), integers(rng, -128, 127, n, k)
    zero, out_zero = low + 131, low + 77
    scales = rng.uniform(0.001, 0.01, n).astype(np.float32)
    w_zero = integers(rng, -100, 100, n) if zeros else np.zeros(n, np.int64)
    bias = rng.standard_normal(n).astype(np.float32)
    sums = (x - zero) @ (w - w_zero[:, None]).T
    unit = np.float32(0.02) * scales
    y = (sums.astype(np.float32) + bias / unit) * (unit / np.float32(0.05))
    for relu in (False, True):
        want = np.clip(np.rint(y) + out_zero, out_zero if relu else low, low + 255)
        result = tl._int8_linear(
            tensor(x, tl.int8 if signed else tl.uint8), 0.02, zero, *packed(w), tensor(scales, tl.float32),
            tensor(w_zero, tl.int32) if zeros else None, tensor(bias, tl.float32), 0.05, out_zero, relu,
        )  # fmt: skip
        assert np.array_equal(result.numpy().astype(np.int64), want)
        floats = tl._int8_linear(
            tensor(x, tl.int8 if signed else tl.uint8), 0.02, zero, *packed(w), tensor(scales, tl.float32),
            tensor(w_zero, tl.int32) if zeros else None, tensor(bias, tl.float32), None, None, relu,
        )  # fmt: skip
        exact = sums.astype(np.float32) * unit.astype(np.float64) + bias
        assert np.array_equal(floats.numpy(), (np.maximum(exact, 0) if relu else exact).astype(np.float32))


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
@pytest.mark.parametrize("reduce_range", [False, True])
def test_dynamic_linear_adds_the_bias_to_the_exact_sum(m, n, k, reduce_range):
    rng = np.random.default_rng(m * n + k)
    top = 127 if reduce_range else 255
    x = rng.standard_normal((m, k)).astype(np.float32)
    w, scales = integers(rng, -128, 127, n, k), rng.uniform(0.001, 0.01, n).astype(np.float32)
    bias = rng.standard_normal(n).astype(np.float32)
    result = tl._int8_linear_dynamic(
        tensor(x, tl.float32),
        *packed(w),
        tensor(scales, tl.float32),
        None,
        tensor(bias, tl.float32),
        reduce_range,
    )
    low, high = (min(x.min(), 0.0), max(x.max(), 0.0)) if x.size else (0.0, 0.0)
    scale = np.float32((float(high) - float(low)) / top) if x.size else np.float32(0.1)
    zero = 0
    if x.size:
        of_low, of_high = float(low) / float(scale), float(high) / float(scale)
        zero = round(
            -of_low
            if abs(of_low) > abs(of_high) - top and -abs(of_low) < top - abs(of_high)
            else top - of_high
        )
    quantized = np.clip(np.rint(exact_fma(x, np.float32(1) / scale, np.float32(zero))), 0, 255).astype(
        np.int64
    )
    sums = (quantized - zero) @ w.T
    want = exact_fma(sums.astype(np.float32), scales * scale, np.broadcast_to(bias, (m, n)))
    assert np.array_equal(result.numpy(), want)


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_int_mm_is_exact(m, n, k):
    rng = np.random.default_rng(n)
    a, b = integers(rng, -128, 127, m, k), integers(rng, -128, 127, k, n)
    for right in (tensor(b, tl.int8), tensor(b.T.copy(), tl.int8).t()):
        assert np.array_equal(tl._int_mm(tensor(a, tl.int8), right).numpy(), a @ b)
    padded = tl.zeros(m, 2 * k + 2, dtype=tl.int8)
    padded[:, 1 : 2 * k + 1 : 2] = tensor(a, tl.int8)
    strided = padded[:, 1 : 2 * k + 1 : 2]
    assert np.array_equal(tl._int_mm(strided, tensor(b, tl.int8)).numpy(), a @ b)


def test_more_terms_than_int32_holds():
    k = 66_000
    x, w = tl.full((1, k), 255, dtype=tl.uint8), tl.full((1, k), -128, dtype=tl.int8)
    result = tl._int8_linear(x, 1.0, 0, *tl._pack_int8(w), tl.ones(1), None, None, 2.0**24, 200)
    assert int(result) == 200 + round(-255 * 128 * k / 2**24)
    y = tl._int8_linear_dynamic(tl.ones(1, k), *tl._pack_int8(w), tl.ones(1), reduce_range=False)
    assert float(y) == pytest.approx(-128.0 * k, rel=1e-6)


def static(x, weight, scales, input_scale=1.0, zero_point=0):
    return tl._int8_linear(x, input_scale, 0, *weight, scales, None, None, 1.0, zero_point)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, s: tl._int8_linear_dynamic(tl.ones(2, 4).double(), *p, s), "input must be of type Float"),
        (lambda p, s: tl._int8_linear_dynamic(tl.ones(2, 9), *p, s), "packed must be a contiguous tensor"),
        (lambda p, s: tl._int8_linear_dynamic(tl.tensor(1.0), *p, s), "at least one dimension"),
        (lambda p, s: tl._int8_linear_dynamic(tl.ones(2, 4), *p, s.double()), "scales must have 3 elements of"),
        (lambda p, s: tl._int8_linear_dynamic(tl.ones(2, 4), *p, s, None, s[:2]), "bias must have 3 elements"),
        (lambda p, s: tl._int8_linear_dynamic(tl.full((2, 4), float("nan")), *p, s), "must be finite.*NaN"),
        (lambda p, s: tl._int8_linear_dynamic(tl.full((2, 4), float("inf")), *p, s), "must be finite"),
        (lambda p, s: static(tl.ones(2, 4), p, s), "input must be of type Byte or Char"),
        (lambda p, s: static(tl.ones(2, 4, dtype=tl.uint8), p, s, input_scale=0.0), "input_scale must be"),
        (lambda p, s: static(tl.ones(2, 4, dtype=tl.uint8), p, s, zero_point=300), "zero_point must be"),
        (lambda p, s: tl._pack_int8(tl.ones(3, dtype=tl.int8)), "weight must be a matrix"),
        (lambda p, s: tl._pack_int8(tl.ones(3, 3)), "weight must be of type int8"),
    ],
)  # fmt: skip
def test_refused_arguments_are_named(call, message):
    weight = tl._pack_int8(tl.ones(3, 4, dtype=tl.int8))
    with pytest.raises(RuntimeError, match=message):
        call(weight, tl.ones(3))


def test_shapes_of_inputs_stay():
    weight, scales = tl._pack_int8(tl.ones(3, 4, dtype=tl.int8)), tl.ones(3)
    for shape in ((4,), (0, 4), (2, 5, 4), (2, 0, 4)):
        assert tl._int8_linear_dynamic(tl.ones(shape), *weight, scales).shape == (*shape[:-1], 3)
        meta = tl._int8_linear_dynamic(
            tl.ones(shape, device="meta"), *(w.to("meta") for w in weight), scales.to("meta")
        )
        assert meta.shape == (*shape[:-1], 3)
    x = tl.arange(24, dtype=tl.float32).reshape(4, 6)
    assert tl.equal(
        tl._int8_linear_dynamic(x.t(), *weight, scales),
        tl._int8_linear_dynamic(x.t().contiguous(), *weight, scales),
    )


@pytest.mark.skipif("TL_CPU_CAPABILITY" in os.environ, reason="runs other levels itself")
@pytest.mark.parametrize("level", ["avx2", "default"])
def test_other_levels_have_the_same_sums(level, run_at_level):
    """The tests of this file, in a process of another level."""
    run = run_at_level(level)
    assert run.returncode == 0, run.stdout[-3000:]
