"""Losses of classes against scipy."""

import numpy
import pytest
from scipy.special import log_softmax

import tl_core as tl
import tl_nn.functional as F


def expected(x, target, weight, ignore, reduction, log):
    scores = log_softmax(x, 1) if log else x
    w = numpy.ones(x.shape[1]) if weight is None else weight
    counted = target != ignore
    safe = numpy.where(counted, target, 0)
    factor = numpy.where(counted, w[safe], 0)
    losses = -numpy.take_along_axis(scores, safe[:, None], 1)[:, 0] * factor
    return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / factor.sum()}[reduction]


@pytest.mark.parametrize("ignore", [-100, 2])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(7, 5), (4, 40), (3, 5, 4), (3, 6, 700), (2, 5, 3, 4)])
def test_losses(shape, reduction, ignore):
    draw = numpy.random.default_rng(0)
    x, target = draw.standard_normal(shape) * 3, draw.integers(0, shape[1], (shape[0], *shape[2:]))
    for weight in (None, draw.random(shape[1]) + 0.1):
        for name in ("cross_entropy", "nll_loss"):
            result = getattr(F, name)(
                tl.tensor(x),
                tl.tensor(target),
                None if weight is None else tl.tensor(weight),
                ignore_index=ignore,
                reduction=reduction,
            )
            want = expected(x, target, weight, ignore, reduction, name == "cross_entropy")
            numpy.testing.assert_allclose(result.numpy(), want, rtol=1e-12, atol=1e-14)


def test_gradient_is_the_softmax_less_the_target():
    x = numpy.random.default_rng(0).standard_normal((3, 6, 700)).astype("float32")
    target = numpy.random.default_rng(1).integers(0, 6, (3, 700))
    leaf = tl.tensor(x).requires_grad_()
    F.cross_entropy(leaf, tl.tensor(target), reduction="sum").backward()
    p = numpy.exp(log_softmax(x.astype("float64"), 1))
    want = p - (numpy.arange(6)[:, None] == target[:, None])
    numpy.testing.assert_allclose(leaf.grad.numpy(), want, atol=1e-6)


def test_infinite_scores():
    x = tl.tensor([[0.0, -numpy.inf, 1.0]])
    numpy.testing.assert_allclose(
        F.cross_entropy(x, tl.tensor([2])).item(), numpy.log1p(numpy.exp(-1)), rtol=1e-6
    )


def test_targets_out_of_bounds():
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        F.cross_entropy(tl.zeros(2, 5), tl.tensor([0, 5]))
