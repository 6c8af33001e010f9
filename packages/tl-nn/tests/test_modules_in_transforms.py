"""Modules that a function creates inside of a transform."""

import tl_core as tl
import tl_nn as nn
from tl_autograd.func import functionalize, grad, jvp, vmap

X = tl.tensor([3.0, 5.0])


def weighted(x):
    layer = nn.Linear(2, 2)
    with tl.no_grad():
        layer.weight.copy_(tl.tensor([[1.0, 2.0], [3.0, 4.0]]))
        layer.bias.zero_()
    return (layer(x) ** 2).sum()


def test_a_module_is_created_in_a_transform():
    weight = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    expected = (2 * weight.t() @ (weight @ X)).tolist()
    assert grad(weighted)(X).tolist() == expected
    assert jvp(weighted, (X,), (tl.tensor([1.0, 0.0]),))[1].item() == expected[0]
    assert vmap(grad(weighted), randomness="same")(X.reshape(1, 2)).tolist() == [expected]
    assert functionalize(weighted)(X).item() == weighted(X).item()


def test_normalization_with_new_buffers():
    x = tl.tensor([[1.0, 2.0], [3.0, 5.0]])
    result = grad(lambda x: (nn.BatchNorm1d(2)(x) * tl.tensor([[1.0], [0.0]])).sum())(x)
    plain = x.clone().requires_grad_()
    (nn.BatchNorm1d(2)(plain) * tl.tensor([[1.0], [0.0]])).sum().backward()
    assert tl.allclose(result, plain.grad)
