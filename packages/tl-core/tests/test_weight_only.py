"""Products with weights of 8 and 4 bits against float64, at the level that TL_CPU_CAPABILITY selects."""

import os

import pytest

import tl_core as tl

np = pytest.importorskip("numpy", reason="the references are numpy's")

TYPES = {tl.float32: 1e-6, tl.bfloat16: 1 / 128, tl.float16: 1 / 1024}


def drawn(rng, dtype, *shape):
    """Numbers of a type, and their values in float64."""
    x = tl.tensor(rng.standard_normal(shape).tolist(), dtype=dtype)
    return x, x.float().numpy().astype(np.float64)


def assert_close(got, want, size, tolerance):
    """Within a share of the sum of the magnitudes of the products."""
    assert got.shape == want.shape
    assert (np.abs(got.float().numpy() - want) <= tolerance * (size + 1e-3)).all()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 1, 1), (1, 7, 33), (3, 4, 64), (6, 9, 100), (0, 3, 5), (2, 3, 0)]
)
def test_int8_weights_are_multiplied_as_numbers(dtype, m, n, k):
    rng = np.random.default_rng(m + n + k)
    w = rng.integers(-128, 128, (n, k))
    (a, numbers), (scales, factors) = drawn(rng, dtype, m, k), drawn(rng, dtype, n)
    result = tl._weight_int8pack_mm(
        a.reshape(m, k), tl.tensor(w.tolist(), dtype=tl.int8).reshape(n, k), scales
    )
    assert result.dtype is dtype
    numbers = numbers.reshape(m, k)
    size = np.abs(numbers) @ np.abs(w).T * np.abs(factors)
    assert_close(result, numbers @ w.T * factors, size, TYPES[dtype])


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("group", [32, 64])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 16, 64), (2, 80, 128), (7, 48, 192), (0, 16, 64)])
def test_int4_weights_have_a_scale_and_a_zero_for_each_group(dtype, group, m, n, k):
    rng = np.random.default_rng(m + n + k + group)
    w = rng.integers(0, 16, (n, k))
    (a, numbers), (factors, values) = drawn(rng, dtype, m, k), drawn(rng, dtype, k // group, n, 2)
    packed = tl._convert_weight_to_int4pack_for_cpu(tl.tensor(w.tolist(), dtype=tl.int32), 1)
    assert packed.shape == (n, k // 2) and packed.dtype is tl.uint8
    result = tl._weight_int4pack_mm_for_cpu(a.reshape(m, k), packed, group, factors)
    scale, zero = (np.repeat(values[..., i], group, 0).T for i in (0, 1))
    weight = (w - 8) * scale + zero
    size = np.abs(numbers.reshape(m, k)) @ (np.abs((w - 8) * scale) + np.abs(zero)).T
    assert_close(result, numbers.reshape(m, k) @ weight.T, size, TYPES[dtype])


def test_packing_int4_of_any_even_number_of_terms():
    w = np.random.default_rng(0).integers(0, 16, (16, 30))
    packed = tl._convert_weight_to_int4pack_for_cpu(tl.tensor(w.tolist(), dtype=tl.int32), 1).numpy()
    values = sorted(np.concatenate([packed.ravel() & 15, packed.ravel() >> 4]).tolist())
    assert values == sorted(w.ravel().tolist())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda a, w: tl._weight_int8pack_mm(a.double(), w, a[0, :2]),
            "expect A to be either 32-bit or 16-bit",
        ),
        (lambda a, w: tl._weight_int8pack_mm(a, w.float(), a[0, :2]), "expect B to be int8 tensor"),
        (lambda a, w: tl._weight_int8pack_mm(a[:, :3], w, a[0, :2]), r"expect B.size\(1\) == 3"),
        (lambda a, w: tl._weight_int8pack_mm(a, w, a[0]), "expect scales to be 1d tensor with size 2"),
        (
            lambda a, w: tl._weight_int8pack_mm(a, w, a[0, :2].half()),
            "expected scalar type Float but found Half",
        ),
        (lambda a, w: tl._convert_weight_to_int4pack_for_cpu(a, 1), "expect weight to be kInt"),
        (lambda a, w: tl._convert_weight_to_int4pack_for_cpu(w.int(), 1), "expect N to be dividable by 16"),
        (lambda a, w: int4(a, columns=17), r"expect B.size\(1\) to be K/2"),
        (lambda a, w: int4(a, group=48), "expect qGroupSize to be 32, 64, 128 or 256, got 48"),
        (lambda a, w: int4(a, group=64), "expect K to be divisible by qGroupSize"),
        (lambda a, w: int4(a, factors=(2, 16, 2)), r"3d tensor with sizes \[1, 16, 2\]"),
    ],
)
def test_refused_arguments_are_named(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(tl.ones(2, 32), tl.ones(2, 32, dtype=tl.int8))


def int4(a, columns=16, group=32, factors=(1, 16, 2)):
    return tl._weight_int4pack_mm_for_cpu(a, tl.zeros(16, columns, dtype=tl.uint8), group, tl.ones(factors))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("shape", [(), (0,), (37,), (3, 70)])
def test_bytes_of_numbers_and_back(signed, shape):
    rng = np.random.default_rng(len(shape))
    low = -128 if signed else 0
    x = np.asarray(rng.standard_normal(shape) * 20, np.float32)
    zero, inverse = low + 99, np.float32(1) / np.float32(0.3)
    exact = x.astype(np.longdouble) * np.longdouble(inverse) + zero
    want = np.clip(np.rint(exact.astype(np.float32)), low, low + 255)
    tensor = tl.tensor(x.tolist(), dtype=tl.float32).reshape(shape)
    result = tl._quantize_bytes(tensor, 0.3, zero, signed)
    assert result.dtype is (tl.int8 if signed else tl.uint8) and np.array_equal(result.numpy(), want)
    numbers = tl._dequantize_bytes(result, 0.3, zero)
    assert np.array_equal(numbers.numpy(), (want - zero).astype(np.float32) * np.float32(0.3))
    other = (result.int() // 2).to(result.dtype)
    second = (other.numpy().astype(np.int64) - 5).astype(np.float32) * np.float32(0.7)
    for relu in (False, True):
        total = np.rint((numbers.numpy() + second) * (np.float32(1) / np.float32(0.9))) + 11
        summed = tl._add_bytes(result, 0.3, zero, other, 0.7, 5, 0.9, 11, relu)
        assert np.array_equal(summed.numpy(), np.clip(total, 11 if relu else low, low + 255))


def test_numbers_without_an_integer():
    x = tl.tensor([float("nan"), float("inf"), -float("inf"), 3e38, -3e38])
    assert tl._quantize_bytes(x, 0.1, 3, False).tolist() == [255, 255, 0, 255, 0]
    assert tl._quantize_bytes(x, 0.1, 3, True).tolist() == [127, 127, -128, 127, -128]


def test_bytes_keep_the_layout_of_a_tensor():
    x = tl.arange(24, dtype=tl.float32).reshape(2, 3, 4)
    for view in (x.transpose(0, 2), x[:, :, ::2], x.expand(2, 3, 4)[:1].expand(5, 3, 4)):
        result = tl._quantize_bytes(view, 0.5, 1, False)
        assert result.tolist() == tl._quantize_bytes(view.contiguous(), 0.5, 1, False).tolist()
        assert tl._dequantize_bytes(result, 0.5, 1).tolist() == view.tolist()
    assert tl._quantize_bytes(x.transpose(0, 2), 0.5, 1, False).stride() == (1, 4, 12)
    one, two = (
        tl._quantize_bytes(v, 0.5, 1, False) for v in (x.transpose(0, 2), x.transpose(0, 2).contiguous())
    )
    assert tl._add_bytes(one, 0.5, 1, two, 0.5, 1, 1.0, 0).tolist() == (2 * x).transpose(0, 2).tolist()


@pytest.mark.skipif("TL_CPU_CAPABILITY" in os.environ, reason="runs other levels itself")
@pytest.mark.parametrize("level", ["avx2", "default"])
def test_other_levels(level, run_at_level):
    """The tests of this file, in a process of another level."""
    run = run_at_level(level)
    assert run.returncode == 0, run.stdout[-3000:]
