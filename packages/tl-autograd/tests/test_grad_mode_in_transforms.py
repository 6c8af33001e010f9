"""Grad mode inside of nested transforms: no_grad holds for all levels, and steps of the engine for their own."""

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd.func import grad, jacfwd, jacrev, jvp, vjp

X = tl.tensor([0.5, 1.5])
CUBES = 3 * X * X


def constant_sum(x):
    with tl.no_grad():
        total = x.sum()
    return (x * total).sum()


def test_a_constant_of_both_derivatives():
    assert grad(constant_sum)(X).tolist() == [2.0, 2.0]
    assert grad(lambda x: grad(constant_sum)(x).sum())(X).tolist() == [0.0, 0.0]
    assert jacrev(jacrev(constant_sum))(X).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_tangents_go_through_no_grad():
    assert jacfwd(grad(constant_sum))(X).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert jvp(constant_sum, (X,), (X,))[1].item() == 8.0


def test_a_derivative_as_a_constant():
    def f(x):
        with tl.no_grad():
            derivative = grad(lambda y: (y**3).sum())(x)
        return (x * derivative).sum()

    assert tl.allclose(grad(f)(X), CUBES)


def test_a_product_within_no_grad_is_a_constant():
    def f(x):
        with tl.no_grad():
            return vjp(lambda y: (y * x).sum(), x)[1](tl.tensor(1.0))[0].sum()

    assert grad(f)(X).tolist() == [0.0, 0.0]


def test_a_transform_within_no_grad():
    with tl.no_grad():
        assert tl.allclose(grad(lambda x: (x**3).sum())(X), CUBES)
        assert tl.allclose(grad(lambda x: grad(lambda y: (y**3).sum())(x).sum())(X), 6 * X)


def test_a_parameter_outside_of_the_transform():
    p = tl.tensor([2.0, 3.0], requires_grad=True)

    def frozen(x):
        with tl.no_grad():
            c = p * x
        return (c * x).sum()

    assert not grad(frozen)(X).requires_grad
    result = grad(lambda x: (p * x * x).sum())(X)
    result.sum().backward()
    assert p.grad.tolist() == [1.0, 3.0]


@pytest.mark.parametrize("separate", [True, False])
def test_the_second_derivative_of_a_function(separate):
    class Cube(tl_autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0], output[1])

        @staticmethod
        def backward(ctx, g, g_derivative):
            x, derivative = ctx.saved_tensors
            return g * (derivative if separate else 3 * x * x) + g_derivative * 6 * x

    f = lambda x: Cube.apply(x)[0].sum()  # noqa: E731
    assert tl.allclose(grad(f)(X), CUBES)
    assert tl.allclose(grad(lambda x: grad(f)(x).sum())(X), 6 * X)
