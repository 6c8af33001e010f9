"""Sizes, strides and numbers at the end of their range, which must neither overflow nor be followed."""

import pytest

import tl_core as tl
from tl_core.operators import packets as ops

aten = ops.aten

FAR = 2**60
MOST = 2**63 - 1


def test_the_stride_of_one_element_is_not_followed():
    x = tl.ones(1).as_strided((1, 1, 1, 1), (1, 1, FAR, -1 + FAR))
    assert x.tolist() == [[[[1.0]]]]
    assert tl.conv2d(x, tl.ones(1, 1, 3, 3), padding=1).tolist() == [[[[1.0]]]]
    assert tl.conv2d(x, tl.ones(1, 1, 1, 1), padding=2, stride=2).tolist() == [
        [[[0, 0, 0], [0, 1, 0], [0, 0, 0]]]
    ]


def test_taps_far_outside_meet_nothing():
    x = tl.arange(3.0).reshape(1, 1, 1, 3)
    w = tl.ones(1, 1, 1, 3)
    far = {"padding": (0, FAR), "dilation": (1, FAR)}
    assert tl.conv2d(x, w, **far).tolist() == x.tolist()
    grads = aten.convolution_backward(
        x, x, w, None, [1, 1], [0, FAR], [1, FAR], False, [0, 0], 1, [True, True, False]
    )
    assert grads[0].tolist() == x.tolist()
    assert grads[1].tolist() == [[[[0.0, 5.0, 0.0]]]]


def test_an_empty_tensor_may_be_wide():
    x = tl.rand(0, MOST, MOST)
    assert x.shape == (0, MOST, MOST)
    assert x.is_contiguous()
    assert x.diagonal(0, 1, 2).shape == (0, MOST)
    assert tl.ones(0, 4, FAR * 4 - 1).repeat(1, 1, 2).shape == (0, 4, FAR * 8 - 2)
    assert tl.embedding(tl.ones(3, 0), tl.tensor([2, 0])).shape == (2, 0)


@pytest.mark.parametrize("start", [-(2**63), MOST])
def test_a_range_as_wide_as_its_type(start):
    end, step = -start, 2**62 if start < 0 else -(2**62)
    end = min(end, MOST)
    assert tl.arange(start, end, step).tolist() == list(range(start, end, step))
    with pytest.raises(RuntimeError, match="invalid size, possible overflow"):
        tl.arange(start, end, 1 if start < 0 else -1)


@pytest.mark.parametrize("turned", [False, True])
def test_diagonals_beyond_a_matrix(turned):
    x = tl.full((3, 2), 2.0).t() if turned else tl.full((2, 3), 2.0)
    nothing = tl.zeros_like(x)
    assert tl.triu(x, -MOST - 1).tolist() == tl.tril(x, MOST).tolist() == x.tolist()
    assert tl.tril(x, -MOST - 1).tolist() == tl.triu(x, MOST).tolist() == nothing.tolist()


def test_more_decimals_than_numbers_have():
    assert tl.round(tl.tensor([3.0]), decimals=-MOST - 1).isnan().all()  # 0 times 10 to the most


def test_pieces_larger_than_what_is_cut():
    x = tl.arange(4)
    assert [piece.tolist() for piece in tl.split(x, MOST)] == [x.tolist()]
    assert [piece.tolist() for piece in tl.chunk(x, MOST)] == [[0], [1], [2], [3]]
    with pytest.raises(RuntimeError, match="sum exactly to 4"):
        tl.split(x, [4, MOST])


def test_a_view_of_more_elements_than_can_be_counted():
    with pytest.raises(RuntimeError, match="overflowed"):
        tl.ones(1).expand(4, FAR * 4)


def test_more_repeats_than_a_size_can_count():
    with pytest.raises(RuntimeError, match="overflowed: 9 \\* 9223372036854775807"):
        tl.repeat_interleave(tl.ones(9), MOST)


def test_views_of_wide_tensors_without_elements():
    x = tl.rand(0, 2**31, 2**31)
    assert x[:, 2**30 :, :: 2**30].shape == (0, 2**30, 2)
    assert x[:, 2**30].shape == (0, 2**31)
    assert x.unfold(1, 2**31 - 1, 2**30).shape == (0, 1, 2**31, 2**31 - 1)
    assert x.view(tl.float64).shape == (0, 2**31, 2**30)
    y = tl.rand(MOST, 0, MOST)
    assert y[FAR * 4 :].shape == (FAR * 4 - 1, 0, MOST)
    assert y[FAR * 4 :].add(1).sum() == 0
    assert y.unsqueeze(0).diagonal(0, 1, 3).shape == (1, 0, MOST)


def test_blocks_further_apart_than_the_image_is_wide():
    x = tl.arange(1.0, 7.0).reshape(1, 1, 2, 3)
    one, far = [1, 1], [FAR * 4, FAR * 4]
    assert aten.im2col(x, one, one, [0, 0], far).tolist() == [[[1.0]]]
    assert aten.im2col(x, one, one, one, far).tolist() == [[[0.0]]]  # the corner of the padding


def test_the_derivative_of_a_pooling_of_no_size():
    with pytest.raises(RuntimeError, match="negative dimension"):
        aten._avg_pool_adjoint(tl.ones(1), [-MOST - 1], [1], [1], [0], False, True, None)


def test_windows_further_apart_than_the_input_is_wide():
    x, w, far = tl.tensor([[[1.0, 2.0, 3.0]]]), tl.tensor([[[5.0, 7.0]]]), [FAR * 4]
    assert tl.conv1d(x, w, stride=far).tolist() == [[[19.0]]]
    grads = aten.convolution_backward(
        tl.ones(1, 1, 1), x, w, None, far, [0], [1], False, [0], 1, [True, True, False]
    )
    assert grads[0].tolist() == [[[5.0, 7.0, 0.0]]]
    assert grads[1].tolist() == [[[1.0, 2.0]]]
    assert tl.conv_transpose1d(x[..., :1], w, stride=far).tolist() == [[[5.0, 7.0]]]


@pytest.mark.parametrize("exponent, sign", [(-MOST - 1, -1.0), (MOST + 1, 1.0)])
def test_the_derivative_of_a_power_at_the_ends_of_integers(exponent, sign):
    derivative = aten.pow_backward(tl.ones(1), tl.ones(1), exponent)
    assert derivative.tolist() == [sign * 2.0**63]


def test_pieces_of_less_than_no_size():
    with pytest.raises(
        RuntimeError, match="split_size be non-negative, but got split_size=-9223372036854775808"
    ):
        aten.split_backward([tl.ones(1)], [3], -MOST - 1, 0)


def test_padding_wider_than_memory():
    x = tl.ones(1, 1, 3, 3)
    far = {"padding": (1, FAR), "dilation": (1, FAR)}
    assert tl.conv2d(x, x, **far).tolist() == [[[[2.0] * 3, [3.0] * 3, [2.0] * 3]]]


def test_more_chunks_than_can_be_listed():
    with pytest.raises(RuntimeError, match="cannot split into"):
        tl.zeros(0).chunk(MOST // 2 + 1)


def test_a_slice_further_apart_than_the_tensor_is_wide():
    text = aten.slice_scatter(tl.zeros(3, dtype=tl.int64), tl.ones(1, dtype=tl.int64), 0, 1, 3, FAR * 4)
    assert text.tolist() == [0, 1, 0]


def test_the_weights_derivative_with_padding_wider_than_memory():
    x, far = tl.arange(8.0).reshape(1, 4, 2), [2**40]
    _, grad, _ = aten.convolution_backward(
        tl.ones(1, 4, 2), x, tl.ones(4, 4, 1), None, far, far, [1], False, [0], 1, [False, True, False]
    )
    assert grad.tolist() == [[[1.0 * 0], [2.0], [4.0], [6.0]]] * 4


@pytest.mark.parametrize("dtype", (tl.float32, tl.bfloat16, tl.float16))
def test_products_of_single_rows_and_columns_far_apart(dtype):
    row, column = tl.ones(1, 3, dtype=dtype), tl.ones(3, 1, dtype=dtype)
    far_row = row.as_strided((1, 3), (FAR * 4, 1))
    far_column = column.as_strided((3, 1), (1, FAR * 4))
    assert (far_row @ far_column).tolist() == [[3.0]]
    assert (far_column @ far_row).tolist() == [[1.0] * 3] * 3


def test_lists_of_no_elements():
    assert tl.empty(2, 0, 3).tolist() == [[], []]
    assert tl.empty(2, 3, 0).tolist() == [[[], [], []], [[], [], []]]


def test_gradients_of_other_shapes_are_refused():
    x = tl.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"shape \[\] is not that of the input"):
        aten.logcumsumexp_backward(tl.ones(()), x, x, 1)


def test_rotation_dims_beyond_all_are_refused():
    with pytest.raises(RuntimeError, match="Rotation dim1 out of range"):
        tl.ones(2, 2).rot90(1, (0, -MOST - 1))


def test_gradients_of_distances_fit_the_vectors():
    x = tl.ones(3, 2)
    with pytest.raises(RuntimeError, match="is not that of the distances"):
        aten._distances_gradient(tl.ones(()), x, x, tl.ones(3, 3), 2.0, False, False, False)


def test_a_tensor_stays_as_it_is_where_its_new_shape_is_refused():
    x = tl.ones(3)
    with pytest.raises(RuntimeError, match="more than 64 dimensions"):
        x.resize_([2] + [1] * 64)
    assert x.tolist() == [1.0] * 3 and x.numel() == 3
