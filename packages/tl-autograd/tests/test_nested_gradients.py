"""Derivatives of jagged nested tensors against finite differences, of first and second order."""

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import func
from tl_core import nested
from tl_core.functions import nn as nn_functions

LENGTHS = (3, 0, 2)


def parts(inner=(4,)):
    tl.manual_seed(0)
    return [tl.randn(n, *inner, dtype=tl.float64, requires_grad=True) for n in LENGTHS if n]


def of_parts(a, b):
    empty = a.new_zeros(0, *a.shape[1:])
    return nested.as_nested_tensor([a, empty, b], layout=tl.jagged)


def with_gaps(a, b):
    """The same components, with rows between them."""
    gap = a.new_ones(2, *a.shape[1:])
    values = tl.cat([gap, a, gap, b, gap])
    return nested.nested_tensor_from_jagged(values, tl.tensor([2, 6, 7, 11]), tl.tensor([3, 0, 2]))


def heads(x):
    return x.unflatten(-1, [2, 2]).transpose(1, 2)


def attend(x, **how):
    q = heads(x)
    return nn_functions.scaled_dot_product_attention(q, q.sin(), q.cos(), **how)


FUNCTIONS = {
    "values": lambda x: x.contiguous().values(),
    "padded": lambda x: nested.to_padded_tensor(x, 1.5),
    "unbind": lambda x: x.unbind()[2].sin(),
    "sum": lambda x: x.sum(1).sin(),
    "mean": lambda x: x.sin().mean(2).contiguous().values(),
    "amax": lambda x: x.amax(1)[::2],
    "amin_others": lambda x: x.amin((1, 2))[::2],
    "prod": lambda x: x.prod(1),
    "var": lambda x: x.var(1)[::2],
    "logsumexp": lambda x: x.logsumexp(1)[::2],
    "softmax": lambda x: x.softmax(1).contiguous().values(),
    "log_softmax": lambda x: tl.log_softmax(x, 1).contiguous().values(),
    "cumsum": lambda x: x.cumsum(1).contiguous().values(),
    "broadcast": lambda x: (x * x.sum(1, keepdim=True)).contiguous().values(),
    "broadcast_padded": lambda x: (x * nested.to_padded_tensor(x, 0.0)).contiguous().values(),
    "matmul": lambda x: x.mT @ x.sin(),
    "grouped": lambda x: (x @ x.sum(1)[:, :, None].expand(-1, -1, 2).sin()).contiguous().values(),
    "layer_norm": lambda x: tl.layer_norm(x, (4,)).contiguous().values(),
    "slice": lambda x: x[..., 1:3].contiguous().values(),
    "attention": lambda x: attend(x).transpose(1, 2).contiguous().values(),
    "attention_causal": lambda x: attend(x, is_causal=True).transpose(1, 2).contiguous().values(),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("make", [of_parts, with_gaps])
def test_gradients(name, make):
    def f(a, b):
        return FUNCTIONS[name](make(a, b))

    a, b = parts()
    assert tl_autograd.gradcheck(f, (a, b))
    assert tl_autograd.gradgradcheck(f, (a, b))


def test_attention_with_dropout():
    def f(a, b):
        tl.manual_seed(3)
        return attend(of_parts(a, b), dropout_p=0.4).values()

    a, b = parts()
    assert tl_autograd.gradcheck(f, (a, b))
    assert tl_autograd.gradgradcheck(f, (a, b))


def test_a_leaf_has_a_nested_gradient():
    x = nested.nested_tensor([[1.0, 2.0], [3.0]], layout=tl.jagged, requires_grad=True)
    assert x.is_leaf and x.requires_grad and x.grad is None
    y = x * x
    assert not y.is_leaf and y.grad_fn is not None
    y.backward(tl.ones_like(y))
    assert x.grad.is_nested and x.grad.shape == x.shape and x.grad.values().tolist() == [2, 4, 6]
    y = x * x
    y.sum().backward()
    assert x.grad.values().tolist() == [4, 8, 12]
    x.grad = None
    assert x.grad is None
    assert not x.detach().requires_grad and x.detach().is_nested


def test_components_get_their_gradients():
    a, b = tl.ones(2, requires_grad=True), tl.ones(3, requires_grad=True)
    x = nested.as_nested_tensor([a, b], layout=tl.jagged)
    x.backward(nested.nested_tensor_from_jagged(tl.arange(5.0), x.offsets()))
    assert a.grad.tolist() == [0, 1] and b.grad.tolist() == [2, 3, 4]


def test_grad_returns_nested_tensors():
    x = nested.nested_tensor([[1.0, 2.0], [3.0]], layout=tl.jagged, requires_grad=True)
    (g,) = tl_autograd.grad((x**3).sum(), x, create_graph=True)
    assert g.is_nested and g.values().tolist() == [3, 12, 27]
    (second,) = tl_autograd.grad(g.sum(), x)
    assert second.values().tolist() == [6, 12, 18]


def test_hooks_get_nested_tensors():
    x = nested.nested_tensor([[1.0, 2.0], [3.0]], layout=tl.jagged, requires_grad=True)
    records = []

    def hook(g):
        records.append(g.is_nested and g.shape == x.shape)
        return g * 2

    x.register_hook(hook)
    x.sum().backward()
    assert records == [True] and x.grad.values().tolist() == [2, 2, 2]


def test_vmap_takes_none():
    x = nested.nested_tensor([[1.0, 2.0], [3.0]], layout=tl.jagged)
    with pytest.raises(NotImplementedError, match="nested tensors are no batch"):
        func.vmap(lambda t: t)(x)


def test_unused_components_have_zeros():
    x = nested.nested_tensor([[1.0, 2.0], [3.0]], layout=tl.jagged, requires_grad=True)
    x[0].sum().backward()
    assert x.grad.values().tolist() == [1, 1, 0]
