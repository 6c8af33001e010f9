"""Gradients through tensors whose dimensions have names: right, and without names."""

import pytest

import tl_autograd
import tl_core as tl


def test_the_example_of_the_manual():
    x = tl.tensor([1.0, 2.0, 3.0], names=("D",))
    weight = tl.tensor([3.0, 2.5, 1.0], names=("D",), requires_grad=True)
    loss = (x - weight).abs()
    assert loss.names == ("D",) and loss.requires_grad
    loss.backward(tl.tensor([1.0, 2.0, 3.0]))
    assert weight.grad.names == (None,) and weight.grad.tolist() == [1, 2, -3]
    weight.grad.zero_()
    loss = (x - weight).abs()
    loss.backward(tl.tensor([1.0, 2.0, 3.0]).refine_names("C"))
    assert weight.grad.tolist() == [1, 2, -3]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: (x @ w).softmax("M").sum("N"),
        lambda x, w: (x * x.mean("D", keepdim=True)).var("N"),
        lambda x, w: x.flatten(["N", "D"], "all").cumsum("all"),
        lambda x, w: w.t().align_to("D", "M", "K").squeeze("K").logsumexp(["D", "M"]),
        lambda x, w: x.select("N", 0).exp() * w.sum("M"),
    ],
)
def test_gradients_are_those_without_names(f):
    tl.manual_seed(0)
    x, w = tl.randn(3, 4, dtype=tl.float64), tl.randn(4, 2, dtype=tl.float64)

    def named(x, w):
        return f(x.rename("N", "D"), w.rename("D", "M")).rename(None)

    inputs = (x.requires_grad_(), w.requires_grad_())
    assert tl_autograd.gradcheck(named, inputs)
    assert tl_autograd.gradgradcheck(named, inputs)


def test_renaming_is_in_the_graph():
    x = tl.ones(2, 3, requires_grad=True)
    x.rename("N", "C").sum("N").rename(None).backward(tl.tensor([1.0, 2.0, 3.0]))
    assert x.grad.tolist() == [[1, 2, 3], [1, 2, 3]]
    leaf = tl.ones(2, requires_grad=True).rename_("N")
    assert leaf.is_leaf and leaf.names == ("N",)


def test_names_are_off_in_the_backward_only():
    x = tl.ones(2, names=("N",), requires_grad=True)
    records = []
    y = x * 2
    y.register_hook(lambda g: records.append(g.names))
    y.backward(tl.ones(2))
    assert records == [(None,)] and (x * 2).names == ("N",)
    with pytest.raises(RuntimeError, match="not yet supported with named tensors"):
        x.view(2)
