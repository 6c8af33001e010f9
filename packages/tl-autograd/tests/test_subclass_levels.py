"""Tensors of subclasses in transforms: what their handlers see, and libraries that keep their type inside."""

import contextlib

import pytest

import tl_core as tl
from tl_autograd.compat.functorch import eager_transforms
from tl_autograd.compat.functorch import vmap as batches
from tl_autograd.forward_ad import dual_level, make_dual, unpack_dual
from tl_autograd.func import grad, jacfwd, jacrev, jvp, vjp, vmap

CALLS = []


class Pose(tl.Tensor):
    """A subclass whose handler writes down functions and returns plain tensors from all of them."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        CALLS.append(func.__name__)
        return tl.Tensor.__torch_function__(func, (tl.Tensor,), args, kwargs or {})


class Keeper(tl.Tensor):
    """A subclass with the default handler, which keeps the type."""


@contextlib.contextmanager
def kept_type(cls):
    """Replaces the functions through which inputs enter a level, as PyPose does."""

    def wrapping(function):
        def enter(x, *arguments, **options):
            result = function(x, *arguments, **options)
            return result.as_subclass(cls) if isinstance(x, cls) else result

        return enter

    own = batches._add_batch_dim, eager_transforms._wrap_tensor_for_grad
    batches._add_batch_dim, eager_transforms._wrap_tensor_for_grad = map(wrapping, own)
    try:
        yield
    finally:
        batches._add_batch_dim, eager_transforms._wrap_tensor_for_grad = own


def types_inside(transform):
    """The types of a function's argument in a transform of it, and the result."""
    types = []

    def func(x):
        types.append(type(x))
        return (x * x).sum()

    return types, transform(func)


@pytest.mark.parametrize("transform", [vmap, grad, jacrev, lambda f: lambda x: vjp(f, x)])
def test_replaced_functions_decide_the_type_inside(transform):
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Keeper)
    types, run = types_inside(transform)
    plain = run(x)
    with kept_type(Keeper):
        kept = run(x)
    run(x)
    assert types == [tl.Tensor, Keeper, tl.Tensor]
    if isinstance(plain, tl.Tensor):
        assert plain.tolist() == kept.as_subclass(tl.Tensor).tolist()


def test_gradients_and_batches_are_right_with_replaced_functions():
    x = tl.tensor([1.0, 2.0, 3.0]).as_subclass(Keeper)
    with kept_type(Keeper):
        assert grad(lambda a: (a**3).sum())(x).tolist() == [3.0, 12.0, 27.0]
        assert jacrev(lambda a: a * a)(x).tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
        assert vmap(grad(lambda a: a**2))(x).tolist() == [2.0, 4.0, 6.0]
        assert vmap(lambda a, b: a * b, in_dims=(0, None))(x, tl.tensor(2.0)).tolist() == [2.0, 4.0, 6.0]


def test_handlers_see_one_function_that_makes_a_dual():
    x = tl.tensor([0.5, 1.0]).as_subclass(Pose)
    direction = tl.ones(2)
    CALLS.clear()
    value, product = jvp(lambda a: a * a, (x,), (direction,))
    assert CALLS.count("_make_dual") == 1
    assert "__getitem__" not in CALLS
    assert "view_as" not in CALLS
    assert (type(value), value.tolist(), product.tolist()) == (tl.Tensor, [0.25, 1.0], [1.0, 2.0])
    CALLS.clear()
    with dual_level():
        dual = make_dual(x, direction)
        assert CALLS.count("_make_dual") == 1
        assert "view_as" not in CALLS
        assert unpack_dual(dual).tangent.tolist() == [1.0, 1.0]
    assert jacfwd(lambda a: a**2)(x).tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_a_default_handler_keeps_the_type_of_duals():
    x = tl.tensor([2.0]).as_subclass(Keeper)
    value, product = jvp(lambda a: a * a, (x,), (tl.ones(1),))
    assert type(value) is Keeper
    assert (value.tolist(), product.tolist()) == ([4.0], [4.0])


def test_an_output_of_a_subclass_is_an_output():
    """A comparison of outputs with None asked the handler of the subclass, and failed there."""

    class Counter(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    value, _ = jvp(lambda a: a.sin(), (tl.zeros(2).as_subclass(Counter),), (tl.ones(2),))
    assert value.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="non-empty output"):
        jvp(lambda a: None, (tl.zeros(2),), (tl.ones(2),))
