"""A number on the left of an operator of the language, where a layer sees the call: gradients, batches, tangents."""

import operator

import pytest

import tl_core as tl
from tl_autograd import func, grad

FLOATS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
INTEGERS = (*FLOATS[:3], "floordiv", "mod", "and_", "or_", "xor", "lshift", "rshift")


@pytest.mark.parametrize("name", FLOATS)
def test_recorded(name):
    function = getattr(operator, name)
    x = tl.tensor([2.0, 3.0], dtype=tl.float64, requires_grad=True)
    result = function(0.5, x)
    assert result.tolist() == pytest.approx([function(0.5, 2.0), function(0.5, 3.0)])
    if name != "floordiv":
        width = 1e-6
        (gradient,) = grad(result.sum(), x)
        derivatives = [
            (function(0.5, v + width) - function(0.5, v - width)) / (2 * width) for v in (2.0, 3.0)
        ]
        assert gradient.tolist() == pytest.approx(derivatives, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", FLOATS)
def test_batched_and_with_tangents(name):
    function = getattr(operator, name)
    x = tl.tensor([2.0, 3.0], dtype=tl.float64)
    want = [function(0.5, 2.0), function(0.5, 3.0)]
    assert func.vmap(lambda v: function(0.5, v))(x).tolist() == pytest.approx(want)
    if name != "floordiv":
        value, tangent = func.jvp(lambda v: function(0.5, v), (x,), (tl.ones(2, dtype=tl.float64),))
        gradient = func.grad(lambda v: function(0.5, v).sum())(x)
        assert value.tolist() == pytest.approx(want) and tl.allclose(tangent, gradient)


@pytest.mark.parametrize("name", INTEGERS)
def test_batched_integers(name):
    function = getattr(operator, name)
    x = tl.tensor([2, 3])
    want = [function(5, 2), function(5, 3)]
    assert function(5, x).tolist() == want
    assert func.vmap(lambda v: function(5, v))(x).tolist() == want
