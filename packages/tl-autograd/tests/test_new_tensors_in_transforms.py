"""Tensors and parameters that a function creates inside of a transform: they can be written and recorded."""

import numpy as np
import pytest

import tl_core as tl
from tl_autograd.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

MAKERS = {
    "tensor": lambda: tl.tensor([0.0, 0.0]),
    "Tensor": lambda: tl.Tensor([0.0, 0.0]),
    "as_tensor": lambda: tl.as_tensor([0.0, 0.0]),
    "asarray": lambda: tl.asarray([0.0, 0.0]),
    "from_numpy": lambda: tl.from_numpy(np.zeros(2, np.float32)),
    "new_tensor": lambda: tl.ones(1).new_tensor([0.0, 0.0]),
    "zeros": lambda: tl.zeros(2),
    "view": lambda: tl.zeros(4)[1:3],
    "data": lambda: tl.zeros(2).data,
    "detach": lambda: tl.zeros(2).detach(),
    "parameter": lambda: tl.Parameter(tl.zeros(2), requires_grad=False),
    "buffer": lambda: tl.Buffer(tl.zeros(2)),
}
X = tl.tensor([3.0, 5.0])
JACOBIAN = [[2.0, 0.0], [0.0, 10.0]]


def element_by_element(make):
    def f(x):
        y = make()
        y[0] = x[0] * 2
        y[1] = x[1] ** 2
        return y

    return f


@pytest.mark.parametrize("name", MAKERS)
def test_a_new_tensor_is_written(name):
    f = element_by_element(MAKERS[name])
    assert jacrev(f)(X).tolist() == JACOBIAN
    assert jacfwd(f)(X).tolist() == JACOBIAN
    assert grad(lambda x: f(x).sum())(X).tolist() == [2.0, 10.0]
    value, product = vjp(f, X)
    assert value.tolist() == [6.0, 25.0]
    assert product(tl.tensor([1.0, 1.0]))[0].tolist() == [2.0, 10.0]
    assert jvp(f, (X,), (tl.ones(2),))[1].tolist() == [2.0, 10.0]
    assert hessian(lambda x: f(x).sum())(X).tolist() == [[0.0, 0.0], [0.0, 2.0]]


@pytest.mark.parametrize("name", MAKERS)
def test_a_new_tensor_is_overwritten_without_recording(name):
    def f(x):
        y = MAKERS[name]()
        with tl.no_grad():
            y.fill_(4.0)
        return (y * x).sum()

    assert grad(f)(X).tolist() == [4.0, 4.0]
    assert vmap(f)(X.reshape(1, 2)).tolist() == [32.0]


def test_memory_of_an_array_is_shared():
    array = np.zeros(2, np.float32)

    def f(x):
        y = tl.from_numpy(array)
        y += 1
        return (y * x).sum()

    assert grad(f)(X).tolist() == [1.0, 1.0]
    assert array.tolist() == [1.0, 1.0]


RECORDING = {
    "parameter": lambda: tl.Parameter(tl.tensor([2.0, 3.0])),
    "factory": lambda: tl.full((2,), 2.0, requires_grad=True),
    "tensor": lambda: tl.tensor([2.0, 3.0], requires_grad=True),
    "asarray": lambda: tl.asarray([2.0, 3.0], requires_grad=True),
    "property": lambda: MAKERS["zeros"]().fill_(2.0),
}


@pytest.mark.parametrize("name", RECORDING)
def test_a_new_leaf_is_recorded_by_the_transform_alone(name):
    result = grad(lambda x: (RECORDING[name]() * x * x).sum())(X)
    assert result.tolist() == (RECORDING[name]().detach() * 2 * X).tolist()
    assert not result.requires_grad


def test_the_method_refuses_as_before():
    with pytest.raises(RuntimeError, match=r"attempting to call Tensor\.requires_grad_"):
        grad(lambda x: (tl.ones(2).requires_grad_() * x).sum())(X)


def test_an_output_that_is_a_view_of_written_memory():
    def f(x):
        base = tl.zeros(4)
        view = base[1:3].view(2, 1)
        base[1:3] = x * x
        return view

    value, product = vjp(f, X)
    assert value.tolist() == [[9.0], [25.0]]
    assert product(tl.ones(2, 1))[0].tolist() == [6.0, 10.0]
