"""Derivatives of connectionist temporal classification, by the scores before their log-softmax."""

import pytest

import tl_core as tl
from tl_autograd import grad, gradcheck, gradgradcheck
from tl_autograd.func import jvp, vmap

TARGETS = tl.tensor([[1, 2, 2], [3, 3, 1], [2, -1, -1], [-1, -1, -1], [1, 2, 3]])
STEPS, COUNTS = tl.tensor([6, 5, 1, 4, 2]), tl.tensor([3, 3, 1, 0, 3])  # the last is impossible


def scores(seed=0):
    return tl.randn(6, 5, 4, dtype=tl.float64, generator=tl.Generator().manual_seed(seed))


def losses(x, n=4):
    return tl.ops.aten.ctc_losses(x.log_softmax(2)[:, :n], TARGETS[:n], STEPS[:n], COUNTS[:n], 0)[0]


def test_both_derivatives():
    x = scores().requires_grad_()
    assert gradcheck(losses, x)
    assert gradgradcheck(losses, x)


def test_tangents():
    x, t = scores(), scores(1)
    step = 1e-6
    _, tangent = jvp(losses, (x,), (t,))
    assert tl.allclose(tangent, (losses(x + step * t) - losses(x - step * t)) / (2 * step), atol=1e-7)


@pytest.mark.parametrize("create_graph", [False, True])
def test_an_impossible_sample_has_no_gradient(create_graph):
    x = scores().requires_grad_()
    result = losses(x, 5)
    (gradient,) = grad(result, x, tl.ones(5, dtype=tl.float64), create_graph=create_graph)
    assert result[4].isinf() and not gradient[:, 4].any() and gradient[:, :4].isfinite().all()


def test_gradients_of_examples():
    examples = tl.stack([scores(1), scores(2)])
    x = examples.clone().requires_grad_()
    (each,) = grad(vmap(lambda one: losses(one).sum())(x), x, tl.ones(2, dtype=tl.float64))
    for one, gradient in zip(examples, each, strict=True):
        y = one.clone().requires_grad_()
        assert tl.allclose(gradient, grad(losses(y).sum(), y)[0], rtol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 8, 12])
@pytest.mark.parametrize("dtype", [tl.float64, tl.float32])
def test_gradients_at_each_number_of_states(count, dtype):
    """A vector of states may begin at the last one: 1, 9, 17, 25 states."""
    labels = (tl.arange(count) % 3 + 1).reshape(1, count)
    steps, counts = tl.tensor([count + 3]), tl.tensor([count])
    x = tl.randn(count + 3, 1, 4, dtype=tl.float64, generator=tl.Generator().manual_seed(count))

    def loss(x):
        return tl.ops.aten.ctc_losses(x.log_softmax(2), labels, steps, counts, 0)[0].sum()

    own = x.to(dtype).requires_grad_()
    (gradient,) = grad(loss(own), own)
    step, unit = 1e-6, tl.zeros_like(x)
    for i in range(x.numel()):
        unit.view(-1)[i] = step
        difference = (loss(x + unit) - loss(x - unit)) / (2 * step)
        unit.view(-1)[i] = 0
        assert abs(gradient.view(-1)[i].item() - difference.item()) < (1e-7 if dtype is tl.float64 else 1e-5)
