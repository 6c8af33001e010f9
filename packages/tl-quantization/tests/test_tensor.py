"""Quantized tensors: which integers numbers become, and which operators take them."""

import copy
import pickle

import numpy as np
import pytest

import tl_core as tl
import tl_quantization as tq
from tl_nn import functional as F

RANGES = {tq.quint8: (0, 255), tq.qint8: (-128, 127), tq.qint32: (-(2**31), 2**31 - 1)}


def integers(x, scale, zero_point, low, high):
    """What the field defines, in float32 as kernels compute it."""
    inverse = np.float32(1) / np.float32(scale)
    return np.clip(np.rint(x.astype(np.float32) * inverse).astype(np.float64) + zero_point, low, high).astype(
        np.int64
    )


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype(np.float32) * 3


@pytest.mark.parametrize("dtype", RANGES, ids=str)
def test_numbers_become_integers_and_come_back(x, dtype):
    q = tq.quantize_per_tensor(tl.from_numpy(x), 0.05, 3, dtype)
    expected = integers(x, 0.05, 3, *RANGES[dtype])
    assert (q.int_repr().numpy() == expected).all()
    np.testing.assert_allclose(q.dequantize().numpy(), (expected - 3) * np.float32(0.05), rtol=1e-6)
    assert (q.q_scale(), q.q_zero_point(), q.qscheme()) == (0.05, 3, tq.per_tensor_affine)
    assert q.dtype is dtype and q.is_quantized and q.shape == x.shape
    assert str(dtype) in repr(q) and "scale=0.05, zero_point=3" in str(q)


def test_halves_are_rounded_to_even():
    q = tq.quantize_per_tensor(tl.tensor([0.5, 1.5, 2.5, -0.5]), 1.0, 0, tq.qint8)
    assert q.int_repr().tolist() == [0, 2, 2, 0]


def test_integers_of_32_bits_are_cut_off_at_their_ends():
    q = tq.quantize_per_tensor(tl.tensor([1e20, -1e20]), 0.1, 5, tq.qint32)
    assert q.int_repr().tolist() == [2**31 - 1, -(2**31)]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_each_channel_has_its_scale(x, axis):
    n = x.shape[axis]
    scales, zeros = np.linspace(0.02, 0.1, n), np.arange(n)
    q = tq.quantize_per_channel(tl.from_numpy(x), tl.from_numpy(scales), tl.from_numpy(zeros), axis, tq.qint8)
    shape = [1] * x.ndim
    shape[axis] = n
    expected = integers(x, scales.reshape(shape), zeros.reshape(shape), -128, 127)
    assert (q.int_repr().numpy() == expected).all()
    assert q.q_per_channel_axis() == axis % x.ndim and q.qscheme() is tq.per_channel_affine
    assert q.q_per_channel_scales().tolist() == scales.tolist()
    assert q.q_per_channel_zero_points().tolist() == zeros.tolist()
    with pytest.raises(RuntimeError, match="expected a tensor with one scale"):
        q.q_scale()
    with pytest.raises(NotImplementedError, match="scale a channel"):
        q.view(-1)


def test_floating_zero_points_are_added_before_the_rounding():
    table = tl.tensor([[0.0, 1.0], [0.0, 3.0]])
    q = tq.quantize_per_channel(table, tl.tensor([0.1, 0.2]), tl.tensor([0.5, 0.25]), 0, tq.quint8)
    assert q.int_repr().tolist() == [[0, 10], [0, 15]]
    assert q.qscheme() is tq.per_channel_affine_float_qparams


@pytest.mark.parametrize("shape", [(), (0,), (0, 3)])
def test_scalars_and_empty_tensors(shape):
    q = tq.quantize_per_tensor(tl.ones(shape), 0.5, 1, tq.quint8)
    assert q.dequantize().shape == shape and (q.dequantize() == 1).all()


def test_lists_are_taken_one_by_one():
    both = tq.quantize_per_tensor(
        [tl.ones(1), tl.ones(2)], tl.tensor([1.0, 0.5]), tl.tensor([0, 1]), tq.quint8
    )
    assert [q.int_repr().tolist() for q in both] == [[1], [3, 3]]
    assert [t.tolist() for t in tq.dequantize(both)] == [[1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: tq.quantize_per_tensor(tl.ones(1), 1.0, 300, tq.quint8), RuntimeError, "from 0 to 255"),
        (lambda: tq.quantize_per_tensor(tl.ones(1).double(), 1.0, 0, tq.quint8), RuntimeError, "torch.float32"),
        (lambda: tq.quantize_per_tensor(tl.ones(1), 1.0, 0, tl.float32), RuntimeError, "torch.quint8"),
        (lambda: tq.quantize_per_channel(tl.ones(2), tl.ones(3), tl.zeros(2), 0, tq.qint8), RuntimeError, "scales"),
        (lambda: tq.quantize_per_channel(tl.ones(2), tl.ones(2), tl.zeros(2), 1, tq.qint8), RuntimeError, "got 1"),
        (lambda: tl.ones(1).q_scale(), RuntimeError, "q_scale: expected a quantized tensor"),
        (lambda: tq.made_of(tl.ones(1), tq.PerTensor(1.0, 0, tq.qint8)), TypeError, "torch.int8"),
    ],
)  # fmt: skip
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


@pytest.fixture
def q(x):
    return tq.quantize_per_tensor(tl.from_numpy(x), 0.05, 100, tq.quint8)


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t[0, :, 1:], lambda t: t.permute(0, 2, 3, 1), lambda t: t.reshape(6, -1), lambda t: t.flatten(1),
        lambda t: t.transpose(0, 3), lambda t: t.clone(), lambda t: t.contiguous(), lambda t: t.chunk(2, 2)[1],
        lambda t: F.max_pool2d(t, 2), lambda t: t.unsqueeze(0).squeeze(0),
        lambda t: t.index_select(1, tl.tensor([2, 0])),
    ],
)  # fmt: skip
def test_what_chooses_elements_keeps_the_scale(q, view):
    choice = view(q)
    assert (
        type(choice) is tl.Tensor
        and choice.is_quantized
        and choice.q_scale() == 0.05
        and choice.q_zero_point() == 100
    )
    assert choice.int_repr().tolist() == view(q.int_repr()).tolist()
    assert choice.dequantize().tolist() == view(q.dequantize()).tolist()


def test_a_view_shares_the_integers(q):
    q[0].copy_(tl.full((3, 4, 5), 1.0))
    assert (q.int_repr()[0] == 120).all()
    assert q.permute(3, 2, 1, 0).dtype is tq.quint8


@pytest.mark.parametrize(
    ("function", "scale", "zero"),
    [(F.relu, 0.05, 100), (tl.sigmoid, 1 / 256, 0), (tl.tanh, 2 / 256, 128), (F.hardsigmoid, 1 / 256, 0),
     (lambda t: F.adaptive_avg_pool2d(t, 2), 0.05, 100), (lambda t: t.mean((2, 3)), 0.05, 100),
     (lambda t: tl.cat([t, t]), 0.05, 100), (lambda t: F.interpolate(t, scale_factor=2), 0.05, 100),
     (lambda t: F.leaky_relu(t, 0.1), 0.05, 100), (lambda t: t.clamp(-0.5, 1.0), 0.05, 100)],
)  # fmt: skip
def test_what_computes_is_exact_up_to_a_step(q, function, scale, zero):
    result = function(q)
    assert (result.q_scale(), result.q_zero_point()) == (scale, zero)
    expected = np.clip(function(q.dequantize()).numpy(), -zero * scale, (255 - zero) * scale)
    assert np.abs(result.dequantize().numpy() - expected).max() <= scale / 2 + 1e-6


def test_other_operators_ask_for_numbers(q):
    for call in (lambda: q + q, lambda: tl.exp(q), lambda: q @ q):
        with pytest.raises(NotImplementedError, match="dequantize"):
            call()
    with pytest.raises(RuntimeError, match="call dequantize"):
        tl.ones(2, 3, 4, 5).copy_(q)


def test_equality_and_copies(q):
    assert tl.equal(q, q.clone()) and not tl.equal(
        q, tq.quantize_per_tensor(q.dequantize(), 0.05, 101, tq.quint8)
    )
    assert not tl.equal(q, q.dequantize())
    for other in (copy.deepcopy(q), pickle.loads(pickle.dumps(q))):
        assert tl.equal(q, other) and other.untyped_storage().data_ptr() != q.untyped_storage().data_ptr()


def test_dynamic_scales_cover_all_numbers(x):
    q = tq.quantize_per_tensor_dynamic(tl.from_numpy(x), tq.quint8, False)
    assert np.abs(q.dequantize().numpy() - x).max() <= q.q_scale() / 2 * 1.001
    narrow = tq.quantize_per_tensor_dynamic(tl.from_numpy(x), tq.quint8, True)
    assert narrow.int_repr().max().item() <= 127
    assert tq.quantize_per_tensor_dynamic(tl.zeros(0), tq.quint8, False).shape == (0,)


def test_named_functions_of_quantized_tensors(q):
    line = q[0]
    assert (
        tq.quantized_max_pool1d(line, [2]).int_repr().tolist() == tl.max_pool1d(line.int_repr(), 2).tolist()
    )
    assert tq.quantized_max_pool2d(q, [2, 2]).shape == (2, 3, 2, 2)
    mean, var = tl.tensor([0.1, 0.2, 0.3]), tl.tensor([1.0, 2.0, 3.0])
    result = tq.quantized_batch_norm(q, None, None, mean, var, 1e-5, 0.1, 50)
    expected = (q.dequantize() - mean[:, None, None]) / (var[:, None, None] + 1e-5).sqrt()
    assert float((result.dequantize() - expected.clamp(-5.0, 20.5)).abs().max()) <= 0.0501


def test_lines_of_80_characters():
    """The text of PyTorch 2.13."""
    assert repr(tq.quantize_per_tensor(tl.ones(3), 0.1, 2, tq.quint8)) == (
        "tensor([1., 1., 1.], size=(3,), dtype=torch.quint8,\n"
        "       quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=2)"
    )
    assert repr(tq.quantize_per_tensor(tl.ones(3), 0.014379084811491125, 139, tq.quint8)).endswith(
        "\n       quantization_scheme=torch.per_tensor_affine, scale=0.014379084811491125,\n       zero_point=139)"
    )
    assert repr(per_channel()).endswith(
        "\n       quantization_scheme=torch.per_channel_affine,\n       scale=tensor([0.5000, 0.2500], "
        "dtype=torch.float64),\n       zero_point=tensor([1, 2]), axis=0)"
    )


def test_moving_keeps_the_elements_and_converting_is_refused():
    for moving in (tq.quantize_per_tensor(tl.ones(3), 0.5, 2, tq.quint8), per_channel()):
        assert moving.cpu() is moving and moving.to("cpu") is moving
        assert tl.equal(moving.to("cpu", copy=True), moving)
        with pytest.raises(RuntimeError, match=r"isn't a quantized type; call dequantize\(\)"):
            moving.to(tl.float64)
        other = tq.qint8 if moving.dtype is tq.quint8 else tq.quint8
        with pytest.raises(NotImplementedError, match=r"call dequantize\(\)"):
            moving.to(other)


def per_channel():
    return tq.quantize_per_channel(tl.ones(2, 3), tl.tensor([0.5, 0.25]), tl.tensor([1, 2]), 0, tq.qint8)
