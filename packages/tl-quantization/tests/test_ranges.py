"""The ranges of observed numbers and of integers: ends, sides of zero, limits of types, rejected settings."""

import numpy as np
import pytest

import tl_autograd  # noqa: F401 - rounding records
import tl_core as tl
import tl_quantization as tq

EPS = np.finfo(np.float32).eps
# A type of integers with the smallest and the largest of them.
LIMITS = {
    tq.quint8: (0, 255),
    tq.qint8: (-128, 127),
    tl.uint8: (0, 255),
    tl.int8: (-128, 127),
    tl.int16: (-(2**15), 2**15 - 1),
    tl.uint16: (0, 2**16 - 1),
    tq.qint32: (-(2**31), 2**31 - 1),
    tl.int32: (-(2**31), 2**31 - 1),
}
RANGES = [
    (0.5, 2.0),
    (1.5, 1.5),
    (-2.0, -0.5),
    (-0.75, 0.0),
    (0.0, 3.0),
    (-1.0, 3.0),
    (-0.25, 0.125),
    (0.0, 0.0),
]


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("kind", [tq.MinMaxObserver, tq.MovingAverageMinMaxObserver])
def test_affine_integers_cover_zero_and_the_numbers(low, high, dtype, kind):
    observer = kind(dtype=dtype)
    observer(tl.tensor([low, high]))
    scale, zero = observer.calculate_qparams()
    bottom, top = LIMITS[dtype]
    low, high = min(low, 0.0), max(high, 0.0)
    step = max((high - low) / (top - bottom), EPS)
    assert scale.tolist() == pytest.approx([step], rel=1e-6) and scale.shape == zero.shape == (1,)
    tolerance = 0 if top - bottom < 2**16 else 2**9  # of float32
    assert abs(zero.item() - np.clip(bottom - np.rint(low / step), bottom, top)) <= tolerance


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("dtype", LIMITS, ids=str)
def test_symmetric_integers_have_zero_in_the_middle(low, high, dtype):
    observer = tq.MinMaxObserver(dtype=dtype, qscheme=tq.per_tensor_symmetric)
    observer(tl.tensor([low, high]))
    scale, zero = observer.calculate_qparams()
    bottom, top = LIMITS[dtype]
    bound = max(abs(min(low, 0.0)), abs(max(high, 0.0)))
    assert scale.item() == pytest.approx(max(bound / ((top - bottom) / 2), EPS), rel=1e-6)
    assert zero.item() == (top + 1) // 2 + (bottom // 2 if bottom else 0)


@pytest.mark.parametrize("kind", [tq.PerChannelMinMaxObserver, tq.MovingAveragePerChannelMinMaxObserver])
@pytest.mark.parametrize("scheme", [tq.per_channel_affine, tq.per_channel_symmetric])
def test_each_channel_has_its_range(kind, scheme):
    observer = kind(ch_axis=0, dtype=tq.qint8, qscheme=scheme)
    observer(tl.tensor(RANGES))
    scale, zero = (x.numpy() for x in observer.calculate_qparams())
    low, high = np.minimum([r[0] for r in RANGES], 0), np.maximum([r[1] for r in RANGES], 0)
    if scheme is tq.per_channel_symmetric:
        np.testing.assert_allclose(scale, np.maximum(np.maximum(-low, high) / 127.5, EPS), rtol=1e-6)
        assert not zero.any()
    else:
        step = np.maximum((high - low) / 255, EPS)
        np.testing.assert_allclose(scale, step, rtol=1e-6)
        np.testing.assert_array_equal(zero, np.clip(-128 - np.rint(low / step), -128, 127))


@pytest.mark.parametrize(("low", "high"), [(-10, 20), (0, 100), (-5, 0), (-1, 1)])
def test_the_middle_of_integers_of_a_program(low, high):
    for dtype in (tq.quint8, tl.uint8):
        observer = tq.MinMaxObserver(
            dtype=dtype, qscheme=tq.per_tensor_symmetric, quant_min=low, quant_max=high
        )
        observer(tl.tensor([-1.0, 2.0]))
        scale, zero = observer.calculate_qparams()
        assert zero.item() == (low + high) // 2
        assert scale.item() == pytest.approx(2.0 / ((high - low) / 2))


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
def test_integers_of_a_program_fit_their_type(dtype):
    bottom, top = LIMITS[dtype]
    for low, high in ((bottom, top), (-1, 1), (0, 1), (-1, 0)):
        observer = tq.MinMaxObserver(dtype=dtype, quant_min=low, quant_max=high)
        assert (observer.quant_min, observer.quant_max, observer.has_customized_qrange) == (low, high, True)
    for low, high in ((1, 5), (-5, -1), (0, 0), (3, -3)):
        with pytest.raises(AssertionError, match=r"quant_min and quant_max|quant_min must be less"):
            tq.MinMaxObserver(dtype=dtype, quant_min=low, quant_max=high)
    if dtype in (tq.qint8, tl.int8, tq.qint32, tl.int32):
        count = top - bottom + 1
        for low, high in ((bottom, top + 1), (bottom - 1, top), (0, count), (-count, 0)):
            with pytest.raises(AssertionError, match=f"at most {count} integers"):
                tq.MinMaxObserver(dtype=dtype, quant_min=low, quant_max=high)
        for low, high in ((0, count - 1), (1 - count, 0)):
            assert tq.MinMaxObserver(dtype=dtype, quant_min=low, quant_max=high).quant_max == high


@pytest.mark.parametrize("least", [1e-3, 0.5])
def test_a_scale_has_a_least_value(least):
    for scheme in (tq.per_tensor_affine, tq.per_tensor_symmetric):
        observer = tq.MinMaxObserver(qscheme=scheme, eps=least)
        observer(tl.tensor([-1e-6, 1e-6]))
        assert observer.calculate_qparams()[0].item() == pytest.approx(least)


def test_a_constant_has_a_histogram():
    for value, low, high in ((2.0, 0.0, 2.0), (-3.0, -3.0, 0.0)):
        observer = tq.HistogramObserver(bins=16)
        observer(tl.full((10,), value))
        assert observer.min_val.item() == observer.max_val.item() == value
        scale, zero = observer.calculate_qparams()
        assert scale.item() == pytest.approx((high - low) / 255, rel=1e-5)
        assert zero.item() == round(-low / scale.item())
        observer(tl.full((5,), value + 1.0))
        assert float(observer.histogram.sum()) == 15
        assert (observer.min_val.item(), observer.max_val.item()) == (value, value + 1.0)
        assert observer.histogram[0].item() == 10 and observer.histogram[-1].item() == 5


# ---- rejected arguments of rounding ----------------------------------------------------------------------------------

X = tl.linspace(-1.0, 1.0, 6).reshape(2, 3)
ONE = (0.1, 0, 0, 15)
EACH = (tl.tensor([0.1, 0.2]), tl.zeros(2, dtype=tl.int32), 0, 0, 15)


@pytest.mark.parametrize(
    "dtype", [tl.bool, tl.uint8, tl.int8, tl.int16, tl.int32, tl.int64, tl.complex64], ids=str
)
@pytest.mark.parametrize(
    ("function", "arguments"),
    [(tq.fake_quantize_per_tensor_affine, ONE), (tq.fake_quantize_per_channel_affine, EACH)],
    ids=["tensor", "channel"],
)
def test_only_floating_numbers_are_rounded(function, arguments, dtype):
    with pytest.raises(NotImplementedError, match="floating"):
        function(X.to(dtype), *arguments)


@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16, tl.float32, tl.float64], ids=str)
def test_rounding_preserves_the_type(dtype):
    for function, arguments in (
        (tq.fake_quantize_per_tensor_affine, ONE),
        (tq.fake_quantize_per_channel_affine, EACH),
    ):
        result = function(X.to(dtype), *arguments)
        assert result.dtype is dtype and result.shape == X.shape


def replaced(position, value):
    return (*EACH[:position], value, *EACH[position + 1 :])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *((replaced(0, EACH[0].to(dtype)), "scale must be of") for dtype in (tl.float64, tl.float16, tl.int32)),
        *((replaced(1, EACH[1].to(dtype)), "zero_point must be of") for dtype in (tl.int64, tl.int8, tl.float64)),
        *((replaced(2, axis), "axis must be from 0 to 1") for axis in (-1, 2)),
        (replaced(2, 1), "scale must have shape"),
        (replaced(0, tl.ones(3)), "scale must have shape"),
        (replaced(1, tl.zeros(3, dtype=tl.int32)), "zero_point must have shape"),
        *((replaced(1, tl.tensor([0, zero], dtype=tl.int32)), "`zero_point` must be between") for zero in (-1, 16)),
        (replaced(3, 16), "`quant_min` should be less than or equal to"),
    ],
)  # fmt: skip
def test_rejected_arguments_of_channels(arguments, message):
    with pytest.raises(RuntimeError, match=message):
        tq.fake_quantize_per_channel_affine(X, *arguments)


def test_zero_points_at_the_ends():
    for zero in (0, 15):
        zeros = tl.full((2,), zero, dtype=tl.int32)
        each = tq.fake_quantize_per_channel_affine(X, tl.full((2,), 0.1), zeros, 0, 0, 15)
        assert tl.equal(each, tq.fake_quantize_per_tensor_affine(X, 0.1, zero, 0, 15))
        assert tl.allclose(each, ((X / 0.1).round() + zero).clamp(0, 15).sub(zero) * 0.1)
    for zero in (-1, 16):
        with pytest.raises(RuntimeError, match="`zero_point` must be between"):
            tq.fake_quantize_per_tensor_affine(X, 0.1, zero, 0, 15)
    with pytest.raises(RuntimeError, match="`quant_min` should be less than or equal to"):
        tq.fake_quantize_per_tensor_affine(X, 0.1, 0, 1, 0)
    assert not tq.fake_quantize_per_tensor_affine(X, 0.1, 0, 0, 0).any()
