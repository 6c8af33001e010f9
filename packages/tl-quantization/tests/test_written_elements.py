"""Elements of quantized tensors: reads, writes, comparisons, and views of tensors with a scale a channel."""

import numpy as np
import pytest

import tl_core as tl
import tl_quantization as tq
from tl_quantization import creation


@pytest.fixture
def q():
    return tq.quantize_per_tensor(tl.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), 0.5, 10, tq.quint8)


@pytest.fixture
def channels():
    x = tl.arange(24.0).reshape(2, 3, 4)
    scales = tl.tensor([0.5, 1.0, 2.0], dtype=tl.float64)
    return x, tq.quantize_per_channel(x, scales, tl.tensor([0, 1, 2]), 1, tq.qint8)


def test_elements_are_numbers(q):
    assert q[1, 2].item() == 5.0 and float(q[0, 1]) == 1.0
    assert (q > 2.5).tolist() == [[False, False, False], [True, True, True]]
    assert (q == q.clone()).all()


def test_numbers_are_rounded_when_they_are_written(q):
    q[0] = tl.tensor([7.3, 0.2, 1000.0])
    assert q.int_repr().tolist()[0] == [25, 10, 255]
    q[1, 1:] = 1.0
    assert q.dequantize().tolist()[1] == [3.0, 1.0, 1.0]
    q[tl.tensor([0, 1]), tl.tensor([0, 0])] = tl.tensor([1.1, 2.2])
    assert (q.int_repr()[:, 0]).tolist() == [12, 14]


def test_a_quantized_tensor_is_written_by_its_numbers(q):
    q[0] = tq.quantize_per_tensor(tl.tensor([2.0, 2.0, 2.0]), 2.0, 0, tq.quint8)
    assert q.int_repr().tolist()[0] == [14, 14, 14]


@pytest.mark.parametrize(("number", "integer"), [(-1, 8), (1, 12), (2**32, 255), (-(2**32), 0)])
def test_filling_saturates(q, number, integer):
    assert (q.fill_(number).int_repr() == integer).all()
    assert q.q_scale() == 0.5 and q.q_zero_point() == 10


def test_a_mask_chooses_what_is_filled(q):
    mask = tl.tensor([[True, False, False], [False, False, True]])
    filled = q.masked_fill(mask, 4.0)
    assert filled.dequantize().tolist() == [[4.0, 1.0, 2.0], [3.0, 4.0, 4.0]]
    assert q.dequantize().tolist()[0][0] == 0.0


def test_empty_tensors_have_the_scales_of_their_model(q, channels):
    assert tl.empty_like(q).q_scale() == 0.5
    assert creation.empty_quantized([4], q).shape == (4,)
    assert creation.empty_quantized([5, 3], channels[1]).q_per_channel_axis() == 1
    with pytest.raises(RuntimeError, match="dtype must be"):
        tl.empty_like(q, dtype=tq.qint8)
    with pytest.raises(RuntimeError, match="scales must have shape"):
        creation.empty_quantized([5, 4], channels[1])
    with pytest.raises(RuntimeError, match="makes no quantized tensors"):
        q.new([3])


def test_integers_become_quantized_tensors():
    integers = tl.tensor([[1, 2], [3, 4]], dtype=tl.uint8)
    q = creation._make_per_tensor_quantized_tensor(integers, 2.0, 1)
    integers.zero_()  # the tensor has a copy
    assert q.dequantize().tolist() == [[0.0, 2.0], [4.0, 6.0]] and q.dtype is tq.quint8
    zeros = tl.tensor([0, 1])
    q = creation._make_per_channel_quantized_tensor(q.int_repr(), tl.tensor([1.0, 2.0]), zeros, 1)
    assert q.dequantize().tolist() == [[1.0, 2.0], [3.0, 6.0]]
    with pytest.raises(RuntimeError, match="must be of uint8, int8 or int32"):
        creation._make_per_tensor_quantized_tensor(tl.ones(2), 1.0, 0)


def test_uninitialized_tensors_take_numbers():
    q = creation._empty_affine_quantized([2, 2], scale=0.5, zero_point=1, dtype=tq.qint8)
    assert q.copy_(tl.ones(2, 2)).int_repr().tolist() == [[3, 3], [3, 3]]
    q = creation._empty_per_channel_affine_quantized(
        [1, 2], scales=tl.tensor([1.0, 2.0]), zero_points=tl.tensor([0, 0]), axis=1, dtype=tq.qint32
    )
    assert q.fill_(4).int_repr().tolist() == [[4, 2]]
    with pytest.raises(RuntimeError, match="axis must be from 0 to 0"):
        creation._empty_per_channel_affine_quantized([2], scales=tl.ones(2), zero_points=tl.ones(2), axis=1)


@pytest.mark.parametrize(
    ("index", "axis"),
    [((0,), 0), ((slice(1, None),), 1), ((slice(None), slice(1, 3)), 1), ((Ellipsis, 2), 1), ((None,), 2)],
)
def test_views_keep_the_scales_of_their_channels(channels, index, axis):
    x, q = channels
    view = q[index]
    assert view.q_per_channel_axis() == axis
    np.testing.assert_allclose(view.dequantize().numpy(), q.dequantize()[index].numpy())
    assert view.shape == x[index].shape


def test_one_channel_has_one_scale(channels):
    view = channels[1][:, 2]
    assert view.qscheme() is tq.per_tensor_affine and view.q_scale() == 2.0 and view.q_zero_point() == 2
    view[0] = tl.full((4,), 6.0)
    assert channels[1].dequantize()[0, 2].tolist() == [6.0] * 4


def test_squeezing_moves_the_axis(channels):
    q = channels[1].unsqueeze(0)
    assert q.q_per_channel_axis() == 2 and q.squeeze(0).q_per_channel_axis() == 1
    single = tq.quantize_per_channel(tl.ones(1, 2), tl.tensor([1.0]), tl.tensor([0]), 0, tq.qint8)
    with pytest.raises(RuntimeError, match="non-axis dimension"):
        single.squeeze()


def test_an_operator_of_floating_numbers_names_the_remedy(q):
    with pytest.raises(
        NotImplementedError, match=r"'aten::exp' with arguments from the 'QuantizedCPU'.*DeQuantStub"
    ):
        q.exp()


def test_numbers_of_float16_saturate():
    assert creation._saturate_weight_to_fp16(tl.tensor([1e9, -1e9, 1.5])).tolist() == [65504.0, -65504.0, 1.5]
    assert creation._choose_qparams_per_tensor(tl.tensor([-1.0, 254.0])) == (1.0, 1)
