"""Gradients through samples: of gamma variates by their shape, and none of counts."""

import pytest

import tl_autograd as ag
import tl_core as tl
from tl_core.functions import sampling


def test_gamma_variates_of_shape_one_grow_as_their_distribution_function_says():
    shape = tl.ones(5, dtype=tl.float64, requires_grad=True)
    x = sampling.standard_gamma(shape)
    (derivative,) = ag.grad(x.sum(), shape)
    assert derivative.tolist() == sampling.standard_gamma_grad(shape.detach(), x.detach()).tolist()
    assert all(s > 0 for s in derivative.tolist())


def test_poisson_numbers_do_not_depend_on_the_rate():
    rate = tl.ones(3, requires_grad=True)
    (derivative,) = ag.grad(tl.poisson(rate).sum(), rate)
    assert derivative.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tl.binomial(x, x / 4),
        sampling.sample_dirichlet,
        lambda x: sampling.standard_gamma_grad(x, x),
        lambda x: sampling.dirichlet_grad(x / 4, x, x + 1),
    ],
)
def test_what_has_no_derivative_says_so(call):
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    y = call(x).sum()
    with pytest.raises(RuntimeError, match="not implemented"):
        ag.backward(y)
