"""What would lead a kernel outside of memory is refused before it runs, or kept apart from what the kernel writes."""

import sys

import pytest

import tl_core as tl
from tl_core.operators import packets as ops

aten = ops.aten


def test_what_is_read_at_an_index_may_be_written_over_it():
    x = tl.tensor([2, 1, 0])
    assert tl.take(tl.tensor([7, 8, 9]), x, out=x).tolist() == [9, 8, 7]
    x = tl.tensor([2, 1, 0])
    assert tl.gather(tl.tensor([7, 8, 9]), 0, x, out=x).tolist() == [9, 8, 7]
    x = tl.tensor([2, 1, 0])
    assert tl.index_select(tl.tensor([7, 8, 9]), 0, x, out=x).tolist() == [9, 8, 7]


def test_an_input_is_not_resized_under_the_kernel():
    a, b = tl.ones(5, 6), tl.ones(6)
    for call in (lambda: tl.mv(a, b, out=a), lambda: tl.dot(b, b, out=b), lambda: tl.sum(a, 0, out=a)):
        with pytest.raises(RuntimeError, match=r"argument 'out' of shape .* is also an input"):
            call()
    assert a.shape == (5, 6) and b.shape == (6,)
    assert tl.add(b, b, out=b).tolist() == [2.0] * 6


@pytest.mark.parametrize(
    "call",
    [
        lambda: tl.gather(tl.ones(3), 0, tl.zeros(3, dtype=tl.int64, device="meta")),
        lambda: tl.ones(3).index_put_([tl.tensor([0])], tl.ones(1, device="meta")),
        lambda: tl.masked_select(tl.ones(3), tl.ones(3, dtype=tl.bool, device="meta")),
        lambda: tl.lstm_cell(
            tl.ones(1, 3),
            [tl.ones(1, 4), tl.ones(1, 4, device="meta")],
            tl.ones(16, 3),
            tl.ones(16, 4),
        ),
    ],
)
def test_tensors_on_two_devices(call):
    with pytest.raises((RuntimeError, NotImplementedError), match=r"device|meta"):
        call()


def test_a_cell_with_one_of_its_biases():
    x, h, c = tl.rand(2, 3), tl.rand(2, 4), tl.rand(2, 4)
    w_ih, w_hh, b, none = tl.rand(16, 3), tl.rand(16, 4), tl.rand(16), tl.zeros(16)
    for source, both in (((b, None), (b, none)), ((None, b), (none, b)), ((None, None), (none, none))):
        result, want = (tl.lstm_cell(x, [h, c], w_ih, w_hh, *biases) for biases in (source, both))
        assert tl.allclose(result[0], want[0]) and tl.allclose(result[1], want[1])
    with pytest.raises(RuntimeError, match="weights must be matrices"):
        tl.lstm_cell(x, [h, c], b, w_hh)


REFUSED = {
    "_matrix_exp_backward": lambda: aten._matrix_exp_backward(tl.ones(3), tl.ones(3)),
    "_matrix_exp_backward of another size": lambda: aten._matrix_exp_backward(tl.eye(2), tl.eye(3)),
    "_border_adjoint": lambda: aten._border_adjoint(tl.ones(2, 6), [2, 4], [3], "reflect"),
    "_border_adjoint of another size": lambda: aten._border_adjoint(tl.ones(2, 6), [2, 4], [1, 2], "reflect"),
    "_put_by_index": lambda: aten._put_by_index(tl.ones(1), tl.zeros(1, dtype=tl.int64), [2], 2**62),
    "_adaptive_avg_pool_adjoint": lambda: aten._adaptive_avg_pool_adjoint(tl.ones(2, 3), [2, 5], 2**63 - 1),
    "_max_pool": lambda: aten._max_pool(tl.ones(1, 2, 2, 2, 2), [1] * 4, [1] * 4, [0] * 4, [1] * 4, False),
    "_norm_double_backward": lambda: aten._norm_double_backward(
        None, None, None, tl.ones(2, 3), tl.ones(2, 3), None, tl.ones(3), None, [2, 3], [0], [3], 0.1, True
    ),
    "_cross_entropy_double_backward": lambda: aten._cross_entropy_double_backward(
        tl.ones(()), tl.ones(()), tl.ones(()), tl.ones(()), tl.tensor(0), None, 1, -100
    ),
    "_grid_sample": lambda: aten._grid_sample(tl.ones(1, 2, 3, 5), tl.ones(1, 2, 2, 2), 0, 0, True, [0]),
    "index_select_backward": lambda: aten.index_select_backward(tl.ones(2), [2] * 9, 8, tl.tensor([0])),
    "as_strided_backward": lambda: aten.as_strided_backward(tl.ones(2), [5], [], 0, [2], [1], 0),
    "norm of a type": lambda: tl.norm(tl.ones(3), 2, 0, dtype=tl.bool),
    "linalg_cross": lambda: aten.linalg_cross(tl.ones(()), tl.ones(())),
    "combinations": lambda: tl.combinations(tl.arange(1), 2**62, True),
    "scatter into another type": lambda: tl.scatter(
        tl.ones(3), 0, tl.tensor([0]), tl.ones(1), out=tl.ones(3, dtype=tl.int64)
    ),
    "im2col": lambda: aten.im2col(tl.ones(1, 2, 2), [2**40, 2**40], [1, 1], [2**41, 2**41], [1, 1]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_sizes_that_do_not_fit(name):
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        REFUSED[name]()


def test_sums_are_read_where_they_lie():
    """The sums of a loss need not be dense."""
    x, target, g = tl.rand(4, 3), tl.tensor([0, 2, 1, 0]), tl.ones(4)
    _, sums, total = aten._cross_entropy(x, target, None, 0, -100)
    spread = tl.stack([sums, sums * 9], 1)[:, 0]
    want, result = (
        aten._cross_entropy_backward(g, x, s, total, target, None, 0, -100) for s in (sums, spread)
    )
    assert tl.equal(want, result)


def test_a_refused_scatter_has_written_nothing() -> None:
    x, indices = tl.zeros(5000), tl.arange(5000)
    indices[-1] = 5000
    for refused in (lambda: x.scatter_(0, indices, 1.0), lambda: x.scatter_add_(0, indices, tl.ones(5000))):
        with pytest.raises(RuntimeError, match="5000"):
            refused()
        assert x.sum() == 0


def test_a_gradient_without_elements_is_refused() -> None:
    with pytest.raises(RuntimeError, match="grad_output to have non-zero size for non-batch dimensions"):
        tl._C._call_operator(("_adaptive_avg_pool_adjoint",), tl.ones(1, 0, 1, 1), [1, 2, 3, 4], 3)
    batch = tl._C._call_operator(("_adaptive_avg_pool_adjoint",), tl.ones(0, 2, 1, 1), [0, 2, 3, 4], 2)
    assert batch.shape == (0, 2, 3, 4)


@pytest.mark.parametrize("sizes", [(), (3,), (2, 2)])
def test_a_gradient_of_ctc_losses_needs_three_axes(sizes):
    """The formula in operators, which is what differentiated calls compute, checks what the kernel does."""
    numbers, losses = tl.zeros(2, dtype=tl.int64), tl.ones(2)
    with pytest.raises(RuntimeError, match="expected log_probs of shape"):
        tl._C._call_operator(
            ("_ctc_gradient",), losses, tl.ones(sizes), numbers, numbers, numbers, losses, losses, 0
        )


def test_a_step_as_large_as_there_is() -> None:
    x, w = tl.ones(1, 1, 3), tl.ones(1, 1, 2)
    assert tl.conv1d(x, w, stride=sys.maxsize, padding=1).tolist() == [[[1.0]]]


def test_more_bins_than_there_are_numbers() -> None:
    with pytest.raises(RuntimeError, match="overflow"):
        tl.histogram(tl.ones(3), sys.maxsize)


def test_any_byte_is_a_bool() -> None:
    t = tl.tensor([0, 1, 2, 190], dtype=tl.uint8).view(tl.bool)
    assert t.tolist() == [False, True, True, True]
    assert t[3].item() is True


@pytest.mark.parametrize(
    "name, other, message",
    [
        ("grad", tl.rand(2, 4), "expected a gradient with rows of 3 numbers, but got one of size"),
        ("grad", tl.rand(()), "expected a gradient with rows of 3 numbers"),
        ("weight", tl.rand(()), "'weight' must be 2-D"),
        ("indices", tl.zeros(2, 2, dtype=tl.int64), "input has to be a 1D Tensor"),
        ("offset2bag", tl.zeros(4, dtype=tl.int64), "argument 'offset2bag' must be of type int64 and shape"),
        ("bag_size", tl.zeros(3, dtype=tl.int64), "argument 'bag_size' must be of type int64 and shape"),
        ("max_indices", tl.zeros(2, dtype=tl.int64), "argument 'max_indices' must be of type int64"),
        ("mode", 3, "mode must be 0"),
        ("per_sample_weights", tl.rand(2), "mode='sum'"),
    ],
)
def test_the_gradient_of_bags(name, other, message):
    weight, indices, offsets = tl.rand(5, 3), tl.tensor([0, 1, 4]), tl.tensor([0, 2])
    bags = ops.aten._embedding_bag(weight, indices, offsets, False, 2, False, None, False)
    source = {"grad": tl.rand(2, 3), "weight": weight, "indices": indices}
    source |= dict(zip(("offset2bag", "bag_size", "max_indices"), bags[1:], strict=True))
    source |= {"per_sample_weights": None, "scale_grad_by_freq": False, "mode": 2, "sparse": False}
    source |= {"padding_idx": -1, "want_weight": True, "want_factors": False}
    assert ops.aten._embedding_bag_backward(**source)[0].shape == (5, 3)
    with pytest.raises(RuntimeError, match=message):
        ops.aten._embedding_bag_backward(**source | {name: other})


def test_parts_of_a_single_number_with_any_step() -> None:
    z = tl.as_strided(tl.tensor([1 + 2j]), (1,), (2**62,))
    assert tl.view_as_real(z).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("sizes", [(), (3,)])
def test_rows_of_matrices_refuse_fewer_dimensions(sizes):
    """The row behind `lstsq`, which transforms call, and the public function."""
    x = tl.ones(sizes)
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        tl._C._call_operator(("_linalg_lstsq",), x, tl.ones(3, 2), 1e-7, "gelsd")
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        tl.linalg.lstsq(x, tl.ones(3, 2))


@pytest.mark.parametrize("function", [tl.fft.fftfreq, tl.fft.rfftfreq])
def test_more_frequencies_than_memory_holds(function):
    with pytest.raises(RuntimeError, match="overflow"):
        function(sys.maxsize)


def test_strides_of_an_empty_transform():
    with pytest.raises(RuntimeError, match="overflow"):
        tl.fft.irfft(tl.ones(2, 0, 2, dtype=tl.complex64), n=2**62, dim=0)
