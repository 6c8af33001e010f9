"""Gradients of tensors that stand for others: their classes handle what autograd calls."""

import pytest

import tl_autograd
import tl_core as tl
from tl_core.overrides import enable_reentrant_dispatch
from tl_core.pytree import tree_map
from tl_core.subclasses.python_dispatch import TorchDispatchMode, return_and_correct_aliasing


class Boxed(tl.Tensor):
    inner: tl.Tensor

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        result = tl.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, requires_grad=requires_grad
        )
        result.inner = inner
        return result

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        open_ = tree_map(lambda x: x.inner if isinstance(x, cls) else x, (args, kwargs or {}))
        out = tree_map(lambda x: cls(x) if isinstance(x, tl.Tensor) else x, func(*open_[0], **open_[1]))
        return return_and_correct_aliasing(func, args, kwargs, out)


FUNCTIONS = [
    lambda x: x * x,
    lambda x: x.exp(),  # saves its result
    lambda x: (x @ x.t()).sigmoid(),
    lambda x: x[0].softmax(0) * x[1],
    lambda x: x.view(-1).cumsum(0).view(2, 2) / x,
    lambda x: tl.cat([x, x * 2], 1).max(1).values,
    lambda x: x.clone().mul_(x),
    lambda x: x.t().contiguous().tanh(),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_are_those_of_what_is_inside(function):
    values = tl.tensor([[0.5, 2.0], [3.0, -1.0]], dtype=tl.float64)
    plain = values.clone().requires_grad_()
    function(plain).sum().backward()
    x = Boxed(values, requires_grad=True)
    function(x).sum().backward()
    assert type(x.grad) is Boxed and tl.equal(x.grad.inner, plain.grad)


def test_second_derivatives():
    x = Boxed(tl.tensor([2.0, 3.0]), requires_grad=True)
    (first,) = tl_autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = tl_autograd.grad(first.sum(), x)
    assert second.inner.tolist() == [12.0, 18.0]


def test_writes_through_views_are_recorded():
    x = Boxed(tl.ones(2, 2), requires_grad=True)
    y = x * 1
    y[0].mul_(3)
    y.sum().backward()
    assert x.grad.inner.tolist() == [[3.0, 3.0], [1.0, 1.0]]


def test_gradients_accumulate():
    x = Boxed(tl.ones(2), requires_grad=True)
    for _ in range(2):
        (x * 2).sum().backward()
    assert x.grad.inner.tolist() == [4.0, 4.0]


def test_functions():
    class Doubled(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x

    x = Boxed(tl.tensor([3.0]), requires_grad=True)
    Doubled.apply(x).sum().backward()
    assert x.grad.inner.tolist() == [3.0]


def test_handlers_stand_below_autograd():
    class Detached(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            assert not getattr(out, "requires_grad", False)
            return out

    x = tl.ones(2, requires_grad=True)
    with Detached():
        y = (x * 2).sum()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_reentrant_handlers_record():
    class Reentrant(TorchDispatchMode):
        inner = None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            with enable_reentrant_dispatch():
                self.inner = func(*args, **(kwargs or {}))
            return self.inner.detach()

    x = tl.ones(2, requires_grad=True)
    with Reentrant() as mode:
        x * 2
        recorded = mode.inner
        with tl.no_grad():
            x * 2
    assert recorded.requires_grad and not mode.inner.requires_grad


def test_a_handler_may_return_its_argument():
    class Same(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return args[0]

    x = tl.ones(2, requires_grad=True)
    with Same():
        y = x * 3
    assert y is not x and x.is_leaf and y.grad_fn is not None
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with Same(), tl.no_grad():
        assert not (x * 3).requires_grad


def test_functional_transforms():
    from tl_autograd.func import grad, vmap

    x = Boxed(tl.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert grad(lambda t: (t**2).sum())(x).inner.tolist() == [[2.0, 4.0], [6.0, 8.0]]
    result = vmap(lambda row: row * 2)(x)
    assert type(result) is Boxed and result.inner.tolist() == [[2.0, 4.0], [6.0, 8.0]]
