"""How numbers become integers and come back, bit for bit, against closed forms in numpy.

The forms were compared once with PyTorch 2.13 on 7 million numbers of 8 bits and 4 million of 32, halves, infinities
and nan among them: they agree bit for bit, except where that converts infinities or numbers beyond 2**63 to integers
without a check: per channel with floating zero points, here saturated.
"""

import numpy as np
import pytest

import tl_core as tl
import tl_quantization as tq
from tl_quantization.packed.linear import PackedLinear
from tl_quantization.tensor import made_of
from tl_quantization.tensor_quantizer import PerTensor

RNG = np.random.default_rng(0)
TYPES = {tq.quint8: (0, 255), tq.qint8: (-128, 127), tq.qint32: (-(2**31), 2**31 - 1)}
SCALES = [0.05, 1.0, 0.5, 1 / 3, 7.7, 2.0**-10, 0.0078431, 1e-30, 1e30]
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1e30, -1e30, 3e38, 1e-45, 2**31, -(2**31)], np.float32)
single = np.float32


def numbers(scale):
    """Ordinary numbers, all halves and their neighbours, and the special ones."""
    halves = ((np.arange(-600, 600) + 0.5) * single(scale)).astype(single)
    near = [np.nextafter(halves, single(side)) for side in (np.inf, -np.inf)]
    ordinary = (RNG.normal(size=20_000) * scale * 50).astype(single)
    return np.concatenate([ordinary, halves, *near, SPECIAL, SPECIAL * single(scale)])


def saturated(values, low, high, of_nan):
    return np.where(np.isnan(values), of_nan, np.clip(values.astype(np.float64), low, high)).astype(np.int64)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@np.errstate(all="ignore")
def test_one_scale(scale, dtype):
    x, (low, high), inverse = numbers(scale), TYPES[dtype], single(1) / single(scale)
    for zero in (z for z in (0, 1, 3, 64, 127, 128, 255, -1, -128, 100_000) if low <= z <= high):
        q = tq.quantize_per_tensor(tl.from_numpy(x), scale, zero, dtype)
        if dtype is tq.qint32:
            expected = saturated(np.rint(x * inverse + single(zero)), low, high, low)
        else:
            fused = (x.astype(np.float64) * np.float64(inverse) + zero).astype(single)
            expected = saturated(np.rint(fused), low, high, high)
        np.testing.assert_array_equal(q.int_repr().numpy(), expected)
        steps = (expected - zero).astype(np.int32)
        np.testing.assert_array_equal(q.dequantize().numpy(), steps.astype(single) * single(scale))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("floating", [False, True])
@np.errstate(all="ignore")
def test_a_scale_for_each_channel(axis, dtype, floating):
    if floating and dtype is tq.qint32:
        with pytest.raises(RuntimeError, match="zero_points"):
            tq.quantize_per_channel(tl.ones(2, 2), tl.ones(2), tl.zeros(2), 0, dtype)
        return
    shape = [40, 30, 30]
    shape[axis] = 9
    x = (RNG.normal(size=shape) * 20).astype(single)
    x.flat[::2] = (np.rint(x.flat[::2]) + 0.5) * 0.5
    x.flat[: SPECIAL.size] = SPECIAL
    scales = RNG.uniform(0.01, 1, size=9)
    scales[:4] = 0.5
    zeros = RNG.uniform(-20, 20, size=9).astype(single) if floating else RNG.integers(0, 100, size=9)
    q = tq.quantize_per_channel(tl.from_numpy(x), tl.from_numpy(scales), tl.from_numpy(zeros), axis, dtype)
    along = [1, 1, 1]
    along[axis] = 9
    (low, high), s, z = TYPES[dtype], scales.reshape(along), zeros.reshape(along)
    shifted = np.rint(x * (single(1) / s.astype(single)) + z.astype(single))
    expected = saturated(shifted, low, high, low if dtype is tq.qint32 else 0)
    np.testing.assert_array_equal(q.int_repr().numpy(), expected)
    assert q.q_per_channel_scales().dtype is (tl.float32 if floating else tl.float64)
    steps = expected.astype(single) - z.astype(single)
    back = steps * s.astype(single) if floating else (steps.astype(np.float64) * s).astype(single)
    np.testing.assert_array_equal(q.dequantize().numpy(), back)


@pytest.mark.parametrize("scale", SCALES[:7])
@pytest.mark.parametrize(("low", "high"), [(0, 255), (-128, 127), (0, 15)])
@np.errstate(all="ignore")
def test_fake_quantization(scale, low, high):
    x, inverse = numbers(scale), single(1) / single(scale)
    for zero in (low, 0, 3, high):
        leaf = tl.from_numpy(x).requires_grad_()
        y = tq.fake_quantize_per_tensor_affine(leaf, scale, zero, low, high)
        y.sum().backward()
        steps = np.rint(x * inverse).astype(np.float64) + zero
        value = (saturated(steps, low, high, low) - zero).astype(single) * single(scale)
        np.testing.assert_array_equal(y.detach().numpy(), value)
        np.testing.assert_array_equal(leaf.grad.numpy(), (steps >= low) & (steps <= high))


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@np.errstate(all="ignore")
def test_fake_quantization_with_a_scale_for_each_channel(dtype, floating):
    """Numbers of steps that no int64 holds, infinity among them, count as the least; float64 keeps its precision."""
    scales = np.array([0.1, 0.5, 1 / 3, 1e-3], single)
    zeros = np.array([3, 0, 100, 7], single if floating else np.int32)
    x = np.stack([numbers(float(s)) for s in scales]).astype(dtype)
    leaf = tl.from_numpy(x).requires_grad_()
    y = tq.fake_quantize_per_channel_affine(leaf, tl.from_numpy(scales), tl.from_numpy(zeros), 0, 0, 255)
    y.sum().backward()
    s, z = scales[:, None], zeros[:, None]
    steps = x * (single(1) / s)
    if floating:
        steps = np.rint((steps + z).astype(single)).astype(np.float64)
    else:
        steps = np.rint(steps).astype(np.float64) + z
    value = saturated(np.where(np.abs(steps) < 2.0**63, steps, 0), 0, 255, 0) - z.astype(np.float64)
    wide = np.float64 if floating or dtype is np.float64 else single
    np.testing.assert_array_equal(y.detach().numpy(), (value.astype(wide) * s).astype(dtype))
    np.testing.assert_array_equal(leaf.grad.numpy(), (steps >= 0) & (steps <= 255))


def test_wrong_arguments():
    x, scales = tl.ones(2, 2), tl.ones(2)
    with pytest.raises(RuntimeError, match="axis"):
        tq.quantize_per_channel(x, scales, tl.zeros(2, dtype=tl.int64), -1, tq.quint8)
    with pytest.raises(RuntimeError, match=r"torch\.uint8"):
        tq.quantize_per_tensor(x, 1.0, 0, tl.uint8)
    with pytest.raises(NotImplementedError, match="floating"):
        tq.fake_quantize_per_tensor_affine(tl.ones(2, dtype=tl.int64), 1.0, 0, 0, 255)
    zeros = tl.zeros(2, dtype=tl.int32)
    for arguments in ((scales.double(), zeros, 0), (scales, zeros.long(), 0), (scales, zeros, -1)):
        with pytest.raises(RuntimeError):
            tq.fake_quantize_per_channel_affine(x, *arguments, 0, 255)


# Ranges and what PyTorch 2.13 chooses for quint8, qint8, and qint8 with a bit unused.
CHOSEN = [
    ((-1.0, 2.0), (0.011764705882352941, 85), (0.011764705882352941, -43), (0.023622047244094488, -22)),
    ((0.0, 255.0), (1.0, 0), (1.0, -128), (2.0078740157480315, -64)),
    ((0.0, 0.0), (0.1, 0), (0.1, 127), (0.1, 63)),
    (
        (-1e-30, 2e-30),
        (6.0999998822808266e-05, 85),
        (6.0999998822808266e-05, -43),
        (6.0999998822808266e-05, -22),
    ),
]


@pytest.mark.parametrize(("limits", "of_quint8", "of_qint8", "reduced"), CHOSEN)
def test_dynamic_scales(limits, of_quint8, of_qint8, reduced):
    for expected, dtype, is_reduced in (
        (of_quint8, tq.quint8, 0),
        (of_qint8, tq.qint8, 0),
        (reduced, tq.qint8, 1),
    ):
        q = tq.quantize_per_tensor_dynamic(tl.tensor(limits), dtype, bool(is_reduced))
        assert (q.q_scale(), q.q_zero_point()) == expected
    with pytest.raises(RuntimeError, match="finite"):
        tq.quantize_per_tensor_dynamic(tl.tensor([1.0, float("inf")]), tq.quint8, False)


def test_the_fused_module_begins_anew_where_its_bounds_are_infinite():
    module = tq.default_fused_act_fake_quant()
    module(tl.tensor([-1.0, float("inf")]))
    module(tl.tensor([-1.0, 3.0]))
    watched = module.activation_post_process
    assert (watched.min_val.item(), watched.max_val.item()) == (-1, 3)
    assert module.scale.item() == single(4 / 255)
    module(tl.tensor([-1.0, float("nan")]))
    module(tl.tensor([-1.0, 3.0]))
    assert bool(watched.max_val.isnan()) and bool(module.scale.isnan().all())


def test_the_fused_module_has_a_rule_of_its_own_for_symmetric_scales():
    x = tl.tensor([-1.0, 0.5, 2.0])
    module = tq.default_fused_wt_fake_quant()
    module(x)
    assert module.scale.item() == single(2.0 / 127) and module.zero_point.item() == 0
    assert module.calculate_qparams()[0].item() == single(2.0 / 127.5)
    assert tq.default_weight_fake_quant()(x).tolist() != module(x).tolist()


@pytest.mark.parametrize("weight", [127, -128])
def test_sums_beyond_32_bits_are_exact(weight):
    """Of 140,000 products of the largest bytes, whose sum has 33 bits."""
    columns = 140_000
    w = made_of(tl.full((3, columns), weight, dtype=tl.int8), PerTensor(1.0, 0, tq.qint8))
    x = made_of(tl.full((2, columns), 255, dtype=tl.uint8), PerTensor(1.0, 0, tq.quint8))
    total = 255 * weight * columns
    result = PackedLinear(w, None).of_bytes(x, abs(total) / 100, 128).int_repr()
    assert (result == 128 + (100 if weight > 0 else -100)).all()
