"""Operators that take functions, in traces of transforms: graphs compute what the programs compute."""

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import func
from tl_compiler.fx.experimental.proxy_tensor import make_fx
from tl_compiler.higher_order import (
    associative_scan,
    cond,
    invoke_subgraph,
    out_dtype,
    scan,
    strict_mode,
    while_loop,
)
from tl_compiler.higher_order.loops import map as map_rows
from tl_core import pytree

w = tl.tensor([2.0, 3.0, 4.0])


def choose(x):
    return cond(x.sum() > 4, lambda x: x.sin() * w, lambda x: x.cos(), (x,))


def nested(x):
    return cond(x.sum() > 0, lambda x: choose(x) * 2, lambda x: -x, (x,))


def total(f):
    return lambda x: sum(leaf.sum() for leaf in pytree.tree_leaves(f(x)))


def recorded_gradient(x):
    x = x.detach().requires_grad_()
    return tl_autograd.grad(choose(x).sum(), x)[0]


def closure(x):
    return cond(x.sum() > 4, lambda y: y * x.sum() * w, lambda y: y + x, (x.sin(),))


def containers(x):
    branch = cond(
        x.sum() > 4,
        lambda d: {"a": d["a"] * d["k"], "b": (3,)},
        lambda d: {"a": d["a"], "b": (3,)},
        ({"a": x, "k": 2},),
    )
    return branch["a"]


PROGRAMS = {
    "grad": func.grad(total(choose)),
    "grad of a closure": func.grad(total(closure)),
    "grad of containers": func.grad(total(containers)),
    "grad of a nested cond": func.grad(total(nested)),
    "autograd": recorded_gradient,
    "jvp": lambda x: func.jvp(choose, (x,), (tl.ones_like(x),)),
    "one condition for a batch": lambda x: func.vmap(lambda r: cond(x.sum() > 4, tl.sin, tl.cos, (r,)))(x),
    "a condition an example": func.vmap(choose),
    "conditions alone": lambda x: func.vmap(lambda p: cond(p, tl.sin, tl.cos, (x,)))(x[:, 0] > 1),
    "vmap of grad": func.vmap(func.grad(total(choose))),
    "second derivative": func.grad(total(func.grad(total(choose)))),
    "hessian": func.hessian(total(choose)),
    "jacrev twice": func.jacrev(func.jacrev(total(choose))),
    "functionalize": func.functionalize(choose),
    "writes": func.functionalize(lambda x: cond(x.sum() > 4, lambda y: y.sin().add_(1), tl.cos, (x,))),
    "functionalize of grad": func.functionalize(func.grad(total(choose))),
    "functionalize of a closure": func.functionalize(lambda x: closure(x.clone().add_(1))),
}


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_cond(name, mode):
    f, x = PROGRAMS[name], tl.arange(6.0).reshape(2, 3)
    graph = make_fx(f, tracing_mode=mode)(x)
    for value in (x, -x):
        for got, expected in zip(pytree.tree_leaves(graph(value)), pytree.tree_leaves(f(value)), strict=True):
            assert tl.allclose(got, expected)


LOOPS = {
    "associative_scan": lambda x: associative_scan(lambda a, b: a + b * 2, x, 0),
    "map": lambda x: map_rows(lambda r, k: r * k.sum() + w, x, x[0]),
    "scan": lambda x: scan(lambda c, r: (c * r + w[0], c + r), x[:, 0], x, dim=1, reverse=True),
    "strict_mode": lambda x: strict_mode(lambda a: (a * w,), (x,)),
    "invoke_subgraph": lambda x: invoke_subgraph(lambda a: (a * w,), "times", x),
}
TRANSFORMS = {
    "grad": lambda f: func.grad(total(f)),
    "jvp": lambda f: lambda x: func.jvp(f, (x,), (tl.ones_like(x),)),
    "vmap": lambda f: lambda x: func.vmap(f)(tl.stack([x, x + 1])),
    "functionalize": func.functionalize,
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", LOOPS)
def test_loops(name, transform):
    f, x = TRANSFORMS[transform](LOOPS[name]), tl.arange(6.0).reshape(2, 3)
    graph = make_fx(f)(x)
    for value in (x, -x):
        for got, expected in zip(pytree.tree_leaves(graph(value)), pytree.tree_leaves(f(value)), strict=True):
            assert tl.allclose(got, expected)


def repeat(x):
    return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, (y * 2).add_(w)), (tl.tensor(0), x))


def test_a_loop_without_writes():
    graph = make_fx(func.functionalize(repeat))(tl.ones(3))
    body = graph.while_loop_body_graph_0
    assert "aten.add.Tensor" in {str(n.target) for n in body.graph.nodes}
    assert tl.equal(graph(w)[1], repeat(w)[1])


@pytest.mark.parametrize("transform", [func.grad(total(lambda x: repeat(x)[1])), func.vmap(repeat)])
def test_a_loop_of_unknown_length_has_no_derivative_in_a_trace(transform):
    with pytest.raises(NotImplementedError, match="depends on data"):
        make_fx(transform)(tl.ones(3, 3))


def test_out_dtype():
    mm = tl.ops.aten.mm.default
    graph = make_fx(func.functionalize(lambda x: out_dtype(mm, tl.int32, x, x)))(tl.ones(2, 2, dtype=tl.int8))
    assert out_dtype in {n.target for n in graph.graph.nodes}


def test_a_branch_that_writes_to_its_operand():
    with pytest.raises(RuntimeError, match="modifying the input"):
        make_fx(func.functionalize(lambda x: cond(x.sum() > 0, lambda y: y.add_(1), tl.cos, (x,))))(
            tl.ones(3)
        )
