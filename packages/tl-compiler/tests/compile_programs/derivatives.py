"""Programs whose functions have derivatives, or make them."""

from __future__ import annotations

import tl_autograd
import tl_core as tl

from .registry import program, x3


@program(graphs=0)
def gradients_inside(compile):
    def f(x):
        y = (x * x).sum()
        (g,) = tl_autograd.grad(y, x)
        return g

    f = compile(f)
    yield f(x3().requires_grad_())
    yield f((x3() + 1).requires_grad_())


@program(graphs=0)
def grad_is_read(compile):
    f = compile(lambda x: x * 2 if x.grad is None else x.grad)
    x = x3().requires_grad_()
    yield f(x)
    x.sum().backward()
    yield f(x)


class Doubled(tl_autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 100


@program(graphs=1)
def own_derivative(compile):
    f = compile(lambda x: Doubled.apply(x))
    for _ in range(2):
        x = x3().requires_grad_()
        f(x).sum().backward()
        yield x.grad


@program()
def vmap_around(compile):
    from tl_autograd.func import vmap

    f = compile(lambda x: x.sum() * 2)
    yield vmap(f)(tl.arange(6.0).reshape(2, 3))
    yield f(x3())


@program(graphs=1)
def higher_derivatives(compile):
    f = compile(lambda x: (x**3).sum())
    x = x3().requires_grad_()
    (g,) = tl_autograd.grad(f(x), x, create_graph=True)
    (h,) = tl_autograd.grad(g.sum(), x)
    yield g
    yield h
