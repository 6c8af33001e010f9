"""Functions of each number, sums, windows and joints of quantized tensors: the integers, against formulas in numpy.

The formulas were compared once with PyTorch 2.13, on 4,000 calls with scales of one or two digits, where halves are
frequent. PyTorch computes the last elements of a tensor by another formula than whole vectors. Here are the vectors'.
"""

from itertools import pairwise

import numpy as np
import pytest

import tl_core as tl
import tl_quantization as tq
from tl_core.operators import packets
from tl_nn import functional as F
from tl_quantization.creation import _make_per_tensor_quantized_tensor
from tl_quantization.operators import join, map_numbers

single = np.float32
LIMITS = {tq.quint8: (0, 255), tq.qint8: (-128, 127)}
QUANTIZERS = [(0.3, 67), (0.05, 3), (0.684504, 54), (0.2, 120)]


def every_byte(dtype, scale, zero, repeats=7):
    low, high = LIMITS[dtype]
    integers = np.tile(np.arange(low, high + 1), repeats)
    plain = tl.from_numpy(integers.astype(np.uint8 if low == 0 else np.int8))
    return integers, _make_per_tensor_quantized_tensor(plain, scale, zero)


def fused(integers, scale, zero):
    """fma(integer, scale, -scale * zero): float64 is exact here."""
    shift = single(single(scale) * single(-zero))
    return (integers.astype(np.float64) * np.float64(single(scale)) + np.float64(shift)).astype(single)


def as_integers(x, scale, zero, dtype):
    steps = np.rint(x.astype(single) * (single(1) / single(scale)))
    return np.clip(steps + zero, *LIMITS[dtype]).astype(np.int64)


FUNCTIONS = {
    "leaky_relu": lambda x: np.where(x > 0, x, x * single(0.1)),
    "hardswish": lambda x: x * np.clip(x + single(3), 0, 6).astype(single) / single(6),
    "threshold": lambda x: np.where(x > single(0.5), x, single(0.1)),
}


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("scale, zero", QUANTIZERS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_each_number(name, scale, zero, dtype):
    integers, q = every_byte(dtype, scale, zero)
    to = (scale, zero) if name == "threshold" else (0.2, 30)
    result = {
        "leaky_relu": lambda: packets.quantized.leaky_relu(q, 0.1, False, *to),
        "hardswish": lambda: packets.quantized.hardswish(q, *to),
        "threshold": lambda: F.threshold(q, 0.5, 0.1),
    }[name]()
    assert (result.q_scale(), result.q_zero_point(), result.dtype) == (*to, dtype)
    expected = as_integers(FUNCTIONS[name](fused(integers, scale, zero)), *to, dtype)
    np.testing.assert_array_equal(result.int_repr().numpy(), expected)


def test_a_function_is_computed_once_for_each_byte():
    _, q = every_byte(tq.quint8, 0.5, 7)
    sizes = []

    def square(x):
        sizes.append(x.numel())
        return x * x

    result = map_numbers(square, q.reshape(7, 256).t(), tq.PerTensor(4.0, 1, tq.quint8))
    assert sizes == [256] and result.shape == (256, 7) and result.stride() == (1, 256)
    numbers = (np.arange(256) - 7) * 0.5
    np.testing.assert_array_equal(
        result.int_repr()[:, 3].numpy(), np.clip(np.rint(numbers**2 / 4) + 1, 0, 255)
    )


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("count", [1, 31, 32, 33, 1001])
def test_bytes_behind_the_last_vector_are_mapped(dtype, count):
    integers, q = every_byte(dtype, 0.5, 7)
    order = np.random.default_rng(count).permutation(integers.size)[:count]
    result = map_numbers(tl.neg, q[tl.from_numpy(order)], tq.PerTensor(0.25, 3, dtype))
    expected = np.clip(-(integers[order] - 7) * 2 + 3, *LIMITS[dtype])
    np.testing.assert_array_equal(result.int_repr().numpy(), expected)


def test_integers_of_32_bits_are_mapped_one_by_one():
    q = tq.quantize_per_tensor(tl.tensor([-1000.0, 0.5]), 0.25, 0, tq.qint32)
    assert map_numbers(tl.abs, q, tq.PerTensor(0.5, 3, tq.qint32)).int_repr().tolist() == [2003, 4]


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("relu", [False, True])
@np.errstate(all="ignore")
def test_sums(dtype, relu):
    for (scale, zero), (other_scale, other_zero) in pairwise(QUANTIZERS):
        integers, q = every_byte(dtype, scale, zero)
        other, r = every_byte(dtype, other_scale, other_zero)
        order = np.random.default_rng(0).permutation(other.size)
        other, r = other[order], r[tl.from_numpy(order)]
        for out_scale, out_zero in ((0.2, 30), (1e-30, 0), (0.5, 100)):
            name = "add_relu" if relu else "add"
            total = getattr(packets.quantized, name)(q, r, out_scale, out_zero)
            numbers = fused(integers, scale, zero) + fused(other, other_scale, other_zero)
            expected = as_integers(np.maximum(numbers, 0) if relu else numbers, out_scale, out_zero, dtype)
            np.testing.assert_array_equal(total.int_repr().numpy(), expected)
            rows = getattr(packets.quantized, name)(q.reshape(7, 256), r[:256], out_scale, out_zero)
            first = fused(integers[:256], scale, zero) + fused(other[:256], other_scale, other_zero)
            expected = as_integers(np.maximum(first, 0) if relu else first, out_scale, out_zero, dtype)
            np.testing.assert_array_equal(rows.int_repr()[0].numpy(), expected)


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
def test_bounds_are_integers(dtype):
    """-1 / 0.08 and 2 / 0.08 are -12.5 and 25 steps: one is a half, which is rounded with the zero point."""
    integers, q = every_byte(dtype, 0.08, 53)
    low, high = np.rint(single(-1) * (single(1) / single(0.08)) + single(53)), 53 + 25
    for result in (q.clamp(-1, 2), F.hardtanh(q, -1.0, 2.0), tl.clamp(q, min=-1, max=2)):
        np.testing.assert_array_equal(result.int_repr().numpy(), np.clip(integers, low, high))
    np.testing.assert_array_equal(q.clamp(max=2).int_repr().numpy(), np.minimum(integers, high))
    wide = tq.quantize_per_tensor(tl.tensor([-9.0, 1.0, 9.0]), 0.08, 53, tq.qint32)
    assert wide.clamp(-1, 2).int_repr().tolist() == [low, 66, high]
    assert tl.equal(q.clamp(tl.tensor(-0.96), tl.tensor(2.0)), q.clamp(-0.96, 2))


def image(channels, layout, seed=0):
    integers = np.random.default_rng(seed).integers(0, 256, (2, channels, 8, 8), np.uint8)
    q = _make_per_tensor_quantized_tensor(tl.from_numpy(integers), 0.3, 67)
    return integers.astype(np.int64), q.contiguous(memory_format=layout)


def windows(integers):
    """The sums of squares of 2 by 2."""
    return integers.reshape(2, integers.shape[1], 4, 2, 4, 2).sum((3, 5))


@pytest.mark.parametrize("channels", [3, 16])
def test_average_pools_round_the_mean_of_integers(channels):
    integers, q = image(channels, tl.contiguous_format)
    means = np.rint(windows(integers) / 4)
    for result in (F.avg_pool2d(q, 2), F.adaptive_avg_pool2d(q, 4)):
        np.testing.assert_array_equal(result.int_repr().numpy(), means)
    last = q.contiguous(memory_format=tl.channels_last)
    np.testing.assert_array_equal(F.adaptive_avg_pool2d(last, 4).int_repr().numpy(), means)
    shifted = means if channels < 8 else np.rint(windows(integers) / 4 - 67) + 67
    np.testing.assert_array_equal(F.avg_pool2d(last, 2).int_repr().numpy(), shifted)
    boxes = F.avg_pool3d(q.unsqueeze(2), (1, 2, 2)).squeeze(2)
    np.testing.assert_array_equal(boxes.int_repr().numpy(), shifted)
    rows = F.avg_pool1d(q[:, :, 0], 2)
    np.testing.assert_array_equal(
        rows.int_repr().numpy(), np.rint(integers[:, :, 0].reshape(2, channels, 4, 2).mean(-1))
    )


def test_zeros_of_the_padding_count():
    q = _make_per_tensor_quantized_tensor(tl.full((1, 1, 2, 2), 77, dtype=tl.uint8), 0.3, 67)
    with_zeros = np.rint(67 + 10 / np.array([4]))
    assert (F.avg_pool2d(q, 2, 2, 1).int_repr().numpy() == with_zeros).all()
    assert (F.avg_pool2d(q, 2, 2, 1, count_include_pad=False).int_repr().numpy() == 77).all()


@pytest.mark.parametrize("relu", [False, True])
def test_joints(relu):
    (one, q), (two, r) = image(16, tl.contiguous_format), image(16, tl.contiguous_format, seed=1)
    both = np.concatenate([one, two], 1)
    plain = (both - 67).astype(single) * single(0.3)
    inverse = single(1) / single(0.2)
    expected = np.clip(np.rint((plain.astype(np.float64) * inverse + 30).astype(single)), 30 * relu, 255)
    joined = join([q, r], 1, tq.PerTensor(0.2, 30, tq.quint8), relu)
    np.testing.assert_array_equal(joined.int_repr().numpy(), expected)
    images = [t.contiguous(memory_format=tl.channels_last) for t in (q, r)]
    numbers = fused(both, 0.3, 67)
    expected = as_integers(np.maximum(numbers, 0) if relu else numbers, 0.2, 30, tq.quint8)
    joined = join(images, 1, tq.PerTensor(0.2, 30, tq.quint8), relu)
    np.testing.assert_array_equal(joined.int_repr().numpy(), expected)
    assert joined.is_contiguous(memory_format=tl.channels_last)


def test_cat_and_stack_round_as_quantize_does():
    integers, q = image(16, tl.contiguous_format)
    for result in (tl.cat([q, q], 2), tl.stack([q, q])):
        assert (result.q_scale(), result.q_zero_point()) == (0.3, 67)
        assert set(np.unique(result.int_repr().numpy())) == set(np.unique(integers))


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
def test_numbers_beyond_32_bits_are_clamped(dtype):
    """Both ends and nan, at each place of a vector and behind the last vector."""
    low, high = LIMITS[dtype]
    special = np.array([np.inf, -np.inf, 1e30, -1e30, 2**31, -(2**31), 3e38, np.nan, 0], single)
    x = np.resize(special, 9 * 71)
    for zero in (low, 5, high):
        q = tq.quantize_per_tensor(tl.from_numpy(x), 1.0, zero, dtype)
        ends = np.where(np.isnan(x) | (x > 0), high, np.where(x < 0, low, zero))
        np.testing.assert_array_equal(q.int_repr().numpy(), ends)
        again = tq.PerTensor(1.0, zero, dtype).requantized(tl.from_numpy(x)).numpy()
        np.testing.assert_array_equal(again, np.where(np.isnan(x), 0, ends))


@pytest.mark.parametrize("mode", ["zeros", "border"])
def test_sampled_grids_interpolate_integers(mode):
    """The point between four pixels is the mean of them, and what lies outside is the number 0 or the border."""
    q = _make_per_tensor_quantized_tensor(tl.tensor([[[[10, 20], [31, 40]]]], dtype=tl.uint8), 0.3, 67)
    grid = tl.tensor([[[[0.0, 0.0], [-0.5, -0.5], [9.0, 9.0]]]])
    result = F.grid_sample(q, grid, padding_mode=mode, align_corners=False)
    assert (result.q_scale(), result.q_zero_point()) == (0.3, 67)
    assert result.int_repr().flatten().tolist() == [25, 10, 67 if mode == "zeros" else 40]


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
def test_the_sigmoid_of_a_zero_point_is_a_half(dtype):
    """The numbers of a sigmoid are those of `dequantize`: by fma, the zero point of a large scale isn't exactly 0."""
    high = LIMITS[dtype][1]
    q = tq.quantize_per_tensor(tl.tensor([0.0, -1e9]), 4188.7607421875, high, dtype)
    assert tl.sigmoid(q).dequantize().tolist() == [0.5, 0]
    assert packets.quantized.sigmoid(q, 1 / 128, 0).dequantize().tolist() == [0.5, 0]


def test_functions_with_a_known_range_have_steps_of_32_bits():
    """Recorded from PyTorch 2.13, whose sigmoid ends at a half: 2**31 steps of 2**-32."""
    q = tq.quantize_per_tensor(tl.tensor([-1.0, 0.0, 1.0]), 1.0, 0, tq.qint32)
    one, two = tl.sigmoid(q), tl.tanh(q)
    assert (one.q_scale(), one.q_zero_point(), two.q_scale(), two.q_zero_point()) == (
        2.0**-32,
        0,
        2.0**-31,
        0,
    )
    np.testing.assert_allclose(one.dequantize().numpy(), [0.26894143, 0.5, 0.5], rtol=1e-6)
    np.testing.assert_allclose(two.dequantize().numpy(), [-0.7615942, 0, 0.7615942], rtol=1e-6)


@pytest.mark.parametrize("name", ["add", "add_relu", "mul", "mul_relu"])
def test_sums_and_products_with_out(name):
    q = tq.quantize_per_tensor(tl.tensor([-2.0, 0.5, 3.0]), 0.5, 10, tq.quint8)
    operator = getattr(packets.quantized, name)
    for other in (q, 2.0):
        out = tl.relu(q)  # with the scale and the zero point of q
        result = operator(q, other, out=out)
        numbers = [-2.0, 0.5, 3.0]
        second = numbers if other is q else [2.0] * 3
        values = [a + b if name.startswith("add") else a * b for a, b in zip(numbers, second, strict=True)]
        expected = [max(v, 0) if name.endswith("relu") else v for v in values]
        assert result is out
        np.testing.assert_allclose(out.dequantize().numpy(), expected, atol=0.25)


def test_nearest_and_reflected_elements_are_chosen():
    integers, q = image(3, tl.contiguous_format)
    exact = F.interpolate(q, scale_factor=2, mode="nearest-exact")
    np.testing.assert_array_equal(exact.int_repr().numpy(), integers.repeat(2, 2).repeat(2, 3))
    reflected = packets.aten.reflection_pad2d(q, (1, 2, 3, 1))
    padded = np.pad(integers, ((0, 0), (0, 0), (3, 1), (1, 2)), mode="reflect")
    np.testing.assert_array_equal(reflected.int_repr().numpy(), padded)
    rows = packets.aten.reflection_pad1d.out(q[:, :, 0], (1, 2), out=q[:, :, 0].clone())
    np.testing.assert_array_equal(rows.int_repr().numpy(), padded[:, :, 3])
