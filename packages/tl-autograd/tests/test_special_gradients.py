"""Gradients of special functions of two arguments, of which one has a derivative."""

import pytest

import tl_autograd as ag
import tl_core as tl
from tl_autograd.gradcheck import gradcheck
from tl_core import special


@pytest.mark.parametrize("function", [tl.igamma, tl.igammac, special.zeta])
def test_the_second_argument_has_a_derivative(function):
    first = tl.tensor([1.5, 4.0, 30.0], dtype=tl.float64)
    second = tl.tensor([0.7, 5.0, 2.0], dtype=tl.float64, requires_grad=True)
    assert gradcheck(lambda x: function(first, x), (second,))


@pytest.mark.parametrize("function", [tl.igamma, tl.igammac, special.zeta])
def test_the_first_argument_has_none(function):
    first = tl.tensor([1.5, 4.0], requires_grad=True)
    with pytest.raises(
        NotImplementedError, match=r"the derivative for '(igammac?: input|zeta)' is not implemented"
    ):
        ag.backward(function(first, tl.ones(2)).sum())


def test_bessel_functions_are_not_differentiable():
    x = tl.ones(2, requires_grad=True)
    assert not special.airy_ai(x).requires_grad
    assert not special.chebyshev_polynomial_t(x, 3).requires_grad
