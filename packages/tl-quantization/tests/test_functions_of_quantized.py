import numpy as np
import pytest

import tl_core as tl
import tl_quantization as tq
from tl_core.operators.packets import quantized
from tl_core.testing import assert_close
from tl_nn.functional import gelu, interpolate
from tl_quantization import functions
from tl_quantization.creation import _make_per_tensor_quantized_tensor


def test_facts_as_functions():
    x = tq.quantize_per_tensor(tl.tensor([0.5, 1.0]), 0.5, 2, tq.qint8)
    assert functions.q_scale(x) == 0.5
    assert functions.q_zero_point(x) == 2
    assert functions.int_repr(x).tolist() == [3, 4]
    y = tq.quantize_per_channel(tl.ones(2, 2), tl.tensor([1.0, 0.5]), tl.tensor([0, 1]), 0, tq.qint8)
    assert functions.q_per_channel_axis(y) == 0
    assert functions.q_per_channel_scales(y).tolist() == [1.0, 0.5]
    assert functions.q_per_channel_zero_points(y).tolist() == [0, 1]


def test_largest_elements_of_boxes():
    x = tq.quantize_per_tensor(tl.arange(64.0).view(1, 1, 4, 4, 4), 0.5, 0, tq.qint32)
    result = functions.quantized_max_pool3d(x, [2, 2, 2])
    assert_close(result.dequantize(), tl.max_pool3d(x.dequantize(), [2, 2, 2]))


SCALES = [(0.1, 0, tq.quint8), (0.0081, 3, tq.quint8), (1 / 3, -7, tq.qint8)]


def draw_integers(dtype, shape):
    low = -128 if dtype is tq.qint8 else 0
    return np.random.default_rng(0).integers(low, low + 256, shape)


def quantized_tensor(integers, scale, zero_point, dtype):
    plain = tl.tensor(integers.tolist(), dtype=tl.int8 if dtype is tq.qint8 else tl.uint8)
    return _make_per_tensor_quantized_tensor(plain, scale, zero_point)


def rounded(numbers, scale, zero_point, dtype):
    """The integers of float32 numbers: product and sum are rounded once, as by a fused multiplication."""
    low = -128 if dtype is tq.qint8 else 0
    inverse = np.float64(np.float32(1) / np.float32(scale))
    steps = (numbers.astype(np.float32).astype(np.float64) * inverse + zero_point).astype(np.float32)
    return np.clip(np.rint(steps), low, low + 255)


@pytest.mark.parametrize(("scale", "zero_point", "dtype"), SCALES)
def test_means_of_rows_are_exact(scale, zero_point, dtype):
    integers = draw_integers(dtype, (500, 3, 4))
    q = quantized_tensor(integers, scale, zero_point, dtype)
    assert np.array_equal(q.mean(-1).int_repr().numpy(), np.rint(integers.mean(-1)))
    assert np.array_equal(
        q.mean((1, 2), True).int_repr().numpy(), np.rint(integers.mean((1, 2), keepdims=True))
    )
    assert (q.mean(-1).q_scale(), q.mean(-1).q_zero_point()) == (scale, zero_point)


@pytest.mark.parametrize(("scale", "zero_point", "dtype"), SCALES)
def test_means_and_deviations_are_rounded_as_quantize_rounds(scale, zero_point, dtype):
    integers = draw_integers(dtype, (2, 3000))  # the sum of two numbers does not depend on their order
    q = quantized_tensor(integers, scale, zero_point, dtype)
    numbers = (integers - zero_point).astype(np.float32) * np.float32(scale)
    means = (numbers[0] + numbers[1]) / np.float32(2)
    assert np.array_equal(q.mean(0).int_repr().numpy(), rounded(means, scale, zero_point, dtype))
    deviations = numbers.astype(np.float64).std(0, ddof=1)
    expected = rounded(deviations, scale, zero_point, dtype)
    assert np.abs(q.std(0).int_repr().numpy() - expected).max() <= 1  # halves that float32 can't tell
    assert np.mean(q.std(0).int_repr().numpy() != expected) < 0.001


def test_gelu_has_the_scale_of_its_input():
    """The numbers are those of PyTorch 2.13."""
    q = tq.quantize_per_tensor(tl.arange(-6.0, 6.0).reshape(3, 4) / 3, 0.1, 10, tq.quint8)
    result = gelu(q)
    expected = [[-0.2, -0.2, -0.2, -0.2], [-0.2, -0.1, 0.0, 0.2], [0.5, 0.8, 1.2, 1.6]]
    assert_close(result.dequantize(), tl.tensor(expected))
    assert (result.q_scale(), result.q_zero_point()) == (0.1, 10)


@pytest.mark.parametrize("dtype", [tl.int8, tl.uint8, tl.int32])
def test_the_nearest_elements_of_all_types(dtype):
    smallest = tl.iinfo(dtype).min
    plain = tl.tensor([[[[smallest, 3], [77, 100]]]], dtype=dtype)
    result = interpolate(_make_per_tensor_quantized_tensor(plain, 0.1, 2), scale_factor=2)
    expected = np.repeat(np.repeat(plain.numpy(), 2, 2), 2, 3)
    assert np.array_equal(result.int_repr().numpy(), expected)


def test_a_sum_with_floating_numbers_is_refused():
    q = tq.quantize_per_tensor(tl.ones(3), 0.1, 0, tq.quint8)
    for name in ("add", "add_relu", "mul", "mul_relu"):
        with pytest.raises(NotImplementedError, match=r"Could not run 'quantized::(add|mul)'"):
            getattr(quantized, name)(q, tl.ones(3), 0.1, 0)
