"""Jacobians, Hessians, products, and `grad` of func."""

import pytest

import tl_core as tl
from tl_autograd import func, functional


def test_jacobian_and_hessian():
    x = tl.tensor([1.0, 2.0, 3.0], dtype=tl.float64)
    assert functional.jacobian(lambda x: x * x, x).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    assert functional.hessian(lambda x: (x**3).sum(), x).tolist() == [[6, 0, 0], [0, 12, 0], [0, 0, 18]]
    two = functional.jacobian(lambda x, y: (x * y).sum(), (x, x * 2))
    assert two[0].tolist() == [2, 4, 6] and two[1].tolist() == [1, 2, 3]


def test_products():
    x, v = tl.tensor([1.0, 2.0], dtype=tl.float64), tl.tensor([1.0, 10.0], dtype=tl.float64)
    assert functional.vjp(lambda x: x * x, x, v)[1].tolist() == [2.0, 40.0]
    assert functional.jvp(lambda x: x * x, x, v)[1].tolist() == [2.0, 40.0]
    assert functional.vhp(lambda x: (x**3).sum(), x, v)[1].tolist() == [6.0, 120.0]
    assert functional.hvp(lambda x: (x**3).sum(), x, v)[1].tolist() == [6.0, 120.0]
    with pytest.raises(TypeError, match="must be either a Tensor"):
        functional.vjp(lambda x: x, 3.0)


def test_transforms_nest():
    f = lambda x: (x.exp() * x).sum()  # noqa: E731
    x = tl.tensor(0.7, dtype=tl.float64)
    e = x.exp().item()
    assert func.grad(f)(x).item() == pytest.approx(e * 1.7)
    assert func.grad(func.grad(f))(x).item() == pytest.approx(e * 2.7)
    assert func.grad(func.grad(func.grad(f)))(x).item() == pytest.approx(e * 3.7)


def test_levels_are_not_confused():
    """d/dx (x * d/dy (x + y)) is 1, not 2."""
    inner = lambda x: func.grad(lambda y: x + y)(tl.tensor(1.0))  # noqa: E731
    assert func.grad(lambda x: x * inner(x))(tl.tensor(3.0)).item() == 1.0


def test_transforms_of_recorded_tensors():
    x = tl.tensor(2.0, dtype=tl.float64, requires_grad=True)
    func.grad(lambda t: t**3)(x).backward()
    assert x.grad.item() == pytest.approx(12.0)
