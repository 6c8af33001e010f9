"""Fake quantization that learns its scale, and that follows a moving average; numbers recorded from PyTorch."""

from __future__ import annotations

import pytest

import tl_core
import tl_quantization.composite_operators  # noqa: F401 - the operators of aten
from tl_core.operators.packets import aten
from tl_quantization.learnable_fake_quantization import (
    _fake_quantize_learnable_per_channel_affine,
    _fake_quantize_learnable_per_tensor_affine,
)
from tl_quantization.observed_fake_quantization import (
    choose_qparams_optimized,
    fused_moving_avg_obs_fake_quant,
)

NUMBERS = [
    *(3.0819921493530273, -0.586857795715332, -4.357578754425049, 1.1368625164031982),
    *(-2.1690447330474854, -2.7971909046173096, 0.8066936731338501, 1.6760526895523071),
    *(-1.4385151863098145, -0.80668705701828, -1.1932706832885742, 0.3640729784965515),
]
X = tl_core.tensor(NUMBERS).reshape(3, 4)
GRAD = tl_core.arange(1.0, 13.0).reshape(3, 4) / 10
# The zero point, the largest and the smallest result, where the input's gradient is 0, that of scale and zero point.
RECORDED = [
    (0.4, 1.75, -2.0, [0, 2, 4, 5], -5.481680393218994, -0.1875),
    (0.5, 1.75, -2.0, [0, 2, 5, 7], -1.7809514999389648, -0.22499999403953552),
    (1.5, 1.25, -2.5, [0, 2, 5, 7], -2.6809515953063965, -0.22499999403953552),
    (2.5, 1.25, -2.5, [0, 2, 3, 7], 0.48516762256622314, -0.20000000298023224),
    (-1.2, 2.0, -1.75, [0, 2, 4, 5], -5.481680393218994, -0.1875),
    (20.0, 0.0, -3.75, [0, 2, 3, 6, 7, 11], -2.3616859912872314, -0.4375000298023224),
]


def _leaves(*values):
    return [tl_core.tensor(value).requires_grad_() for value in values]


@pytest.mark.parametrize(("zero", "most", "least", "cut", "of_scale", "of_zero"), RECORDED)
def test_one_scale(zero, most, least, cut, of_scale, of_zero):
    x, (scale, zero_point) = X.clone().requires_grad_(), _leaves([0.25], [zero])
    y = _fake_quantize_learnable_per_tensor_affine(x, scale, zero_point, -8, 7, 0.5)
    y.backward(GRAD)
    assert (y.max().item(), y.min().item()) == (most, least)
    assert (x.grad == 0).reshape(-1).nonzero().reshape(-1).tolist() == cut
    assert scale.grad.tolist() == pytest.approx([of_scale], rel=1e-5)
    assert zero_point.grad.tolist() == pytest.approx([of_zero], rel=1e-5)


def test_a_scale_a_channel():
    x, (scale, zero_point) = X.clone().requires_grad_(), _leaves([0.25, 0.5, 0.1], [0.5, -1.5, 9.0])
    y = _fake_quantize_learnable_per_channel_affine(x, scale, zero_point, 0, -8, 7, 0.5)
    y.backward(GRAD)
    assert y.amin(1).tolist() == pytest.approx([-2.0, -3.0, -1.4])
    assert scale.grad.tolist() == pytest.approx([-0.72474694, -0.04269083, 0.16974212], rel=1e-5)
    assert zero_point.grad.tolist() == pytest.approx([-0.05, 0.0, -0.06])
    turned = _fake_quantize_learnable_per_channel_affine(X.t(), scale, zero_point, 1, -8, 7)
    assert turned.t().tolist() == y.tolist()


def test_what_does_not_fit_is_refused():
    one = tl_core.ones(1)
    with pytest.raises(RuntimeError, match="zero_point must be of floating"):
        _fake_quantize_learnable_per_tensor_affine(X, one, tl_core.zeros(1, dtype=tl_core.int32), 0, 255)
    with pytest.raises(RuntimeError, match="scale must hold one number"):
        _fake_quantize_learnable_per_tensor_affine(X, tl_core.ones(2), one, 0, 255)


OBSERVED = [  # by rows, symmetric, averages before; averages, scales and zero points after
    (False, False, float("inf"), -4.357578754425049, [0.029174787923693657], [149]),
    (False, True, -1.0, -1.335757851600647, [0.010435608215630054], [128]),
    (
        *(True, True, [-1.0, -2.0, -3.0], [-1.335757851600647, -2.079719066619873, -2.8438515663146973]),
        *([0.010435608215630054, 0.016247805207967758, 0.022217590361833572], [128, 128, 128]),
    ),
    (
        *(True, False, [], [-4.357578754425049, -2.7971909046173096, -1.4385151863098145]),
        *([0.029174787923693657, 0.01754213124513626, 0.007068973034620285], [149, 159, 203]),
    ),
]


@pytest.mark.parametrize(("rows", "symmetric", "before", "after", "scales", "zeros"), OBSERVED)
def test_a_moving_average(rows, symmetric, before, after, scales, zeros):
    low, high = tl_core.tensor(before), -tl_core.tensor(before)
    scale, zero = tl_core.ones(1), tl_core.zeros(1, dtype=tl_core.int32)
    on, x = tl_core.tensor([1]), X.clone().requires_grad_()
    arguments = (on, on, low, high, scale, zero, 0.1, 0, 255, 0, rows, symmetric)
    y = fused_moving_avg_obs_fake_quant(x, *arguments)
    assert low.tolist() == pytest.approx(after)
    assert scale.tolist() == pytest.approx(scales) and zero.tolist() == zeros
    assert y.sub(X).abs().max().item() < 1e-9 + scale.max().item() * (
        0.51 if before in ([], float("inf")) else 999
    )
    y.sum().backward()
    assert set(x.grad.reshape(-1).tolist()) <= {0.0, 1.0}
    off = tl_core.tensor([0])
    assert fused_moving_avg_obs_fake_quant(X, off, off, *arguments[2:]).tolist() == X.tolist()


def test_the_range_that_loses_least():
    flat = X.reshape(-1)
    high, low = choose_qparams_optimized(flat, 12, 200, 0.16, 4)
    assert (high.item(), low.item()) == pytest.approx((3.0820, -4.1716), abs=1e-4)
    high, low = choose_qparams_optimized(flat, 12, 200, 0.16, 8)
    assert (high.item(), low.item()) == pytest.approx((3.0820, -4.3576), abs=1e-4)
    with pytest.raises(RuntimeError, match="numel is 13"):
        choose_qparams_optimized(flat, 13, 200, 0.16, 8)


def test_the_operators_of_aten():
    result, mask = aten.fake_quantize_per_tensor_affine_cachemask(X, 0.25, 0, -8, 7)
    assert (~mask).reshape(-1).nonzero().reshape(-1).tolist() == [0, 2, 4, 5]
    assert result.tolist() == aten.fake_quantize_per_tensor_affine(X, 0.25, 0, -8, 7).tolist()
    gradient = aten.fake_quantize_per_tensor_affine_cachemask_backward(tl_core.ones(3, 4), mask)
    assert gradient.bool().tolist() == mask.tolist()
    q = aten.quantize_per_tensor(X, 0.1, 0, tl_core.qint8)
    assert q.int_repr()[0, 0].item() == 31
