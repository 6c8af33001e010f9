"""Gradients through rows that are made of other operators."""

import pytest

import tl_autograd
import tl_core as tl

LENGTHS = tl.tensor([2, 0, 3])


def test_a_density_by_edges_has_no_gradient():
    edges = [tl.tensor([0.0, 1.0, 3.0], requires_grad=True)] * 2
    points = tl.tensor([[0.5, 0.5], [2.0, 0.5]], requires_grad=True)
    hist = tl.histogramdd(points, edges, density=True).hist
    assert not hist.requires_grad and hist.tolist() == [[0.5, 0.0], [0.25, 0.0]]


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_segments(reduce):
    x = tl.tensor([1.5, -2.0, 0.5, 3.0, 4.0], dtype=tl.float64, requires_grad=True)

    def reduced(x):
        return tl.segment_reduce(x, reduce, lengths=LENGTHS, initial=1)

    assert tl_autograd.gradcheck(reduced, (x,))
    result = reduced(x)
    (by_row,) = tl_autograd.grad(result.sum(), x)
    grad = tl.ones(3, dtype=tl.float64)
    by_function = tl.ops.aten._segment_reduce_backward(
        grad, result.detach(), x.detach(), reduce, lengths=LENGTHS, initial=1
    )
    tl.testing.assert_close(by_row, by_function)


def test_sequences_with_time_first():
    tl.manual_seed(0)
    operands = [
        tl.randn(*sizes, dtype=tl.float64, requires_grad=True) for sizes in ((5, 2, 3), (3, 3, 4), (4,))
    ]
    assert tl_autograd.gradcheck(lambda *t: tl.conv_tbc(*t, 1), operands)
    result = tl.conv_tbc(*operands, 1)
    by_row = tl_autograd.grad(result.sum(), operands)
    by_function = tl.ops.aten.conv_tbc_backward(tl.ones_like(result), *(t.detach() for t in operands), 1)
    for a, b in zip(by_row, by_function, strict=True):
        tl.testing.assert_close(a, b)
