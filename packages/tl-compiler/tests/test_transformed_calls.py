"""Operators that take functions, in traces of transforms: graphs compute what the programs compute."""

import pytest

import tl_autograd
import tl_core as tl
import tl_nn as nn
from tl_autograd import func
from tl_compiler.export import export
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
from tl_compiler.higher_order.while_loop import while_loop_stack_output_op
from tl_core import pytree

w = tl.tensor([2.0, 3.0, 4.0])


def choose(x):
    return cond(x.sum() > 4, lambda x: x.sin() * w, lambda x: x.cos(), (x,))


def nested(x):
    return cond(x.sum() > 0, lambda x: choose(x) * 2, lambda x: -x, (x,))


def total(f):
    return lambda x: sum(leaf.sum() for leaf in pytree.tree_leaves(f(x)))


def recorded_gradient(x, f=choose):
    x = x.detach().requires_grad_()
    return tl_autograd.grad(f(x).sum(), x)[0]


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
    "grad of a branch that reads its operand": func.grad(
        total(lambda x: cond(x.sum() > 4, lambda y: y * x.sin(), lambda y: y + x, (x,)))
    ),
    "autograd of a branch that reads its operand": lambda x: recorded_gradient(
        x, lambda x: cond(x.sum() > 4, lambda y: y * x.sin(), lambda y: y + x, (x,))
    ),
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
        for actual, expected in zip(
            pytree.tree_leaves(graph(value)), pytree.tree_leaves(f(value)), strict=True
        ):
            assert tl.allclose(actual, expected)


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
        for actual, expected in zip(
            pytree.tree_leaves(graph(value)), pytree.tree_leaves(f(value)), strict=True
        ):
            assert tl.allclose(actual, expected)


def repeat(x):
    return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, (y * 2).add_(w)), (tl.tensor(0), x))


def test_a_loop_without_writes():
    graph = make_fx(func.functionalize(repeat))(tl.ones(3))
    body = graph.while_loop_body_graph_0
    assert "aten.add.Tensor" in {str(n.target) for n in body.graph.nodes}
    assert tl.equal(graph(w)[1], repeat(w)[1])


def grow(x):
    return while_loop(lambda y: y.sum() < 10, lambda y: (y * 2 * y * x.cos().exp(),), (x,))[0]


def unroll(x):
    y = x
    while y.sum() < 10:
        y = y * 2 * y * x.cos().exp()
    return y


OF_LOOPS = {
    "grad": lambda f: func.grad(total(f)),
    "autograd": lambda f: lambda x: recorded_gradient(x, f),
    "jvp": lambda f: lambda x: func.jvp(f, (x,), (tl.ones_like(x),)),
    "jacrev": func.jacrev,
    "functionalize of grad": lambda f: func.functionalize(func.grad(total(f))),
}


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("transform", OF_LOOPS)
def test_a_loop_of_unknown_length(transform, mode):
    x = tl.tensor([1.0, 1.5])
    graph = make_fx(OF_LOOPS[transform](grow), tracing_mode=mode)(x)
    for value in (x, x * 0.4, x * 9):  # several iterations, more, and none
        results = pytree.tree_leaves(graph(value)), pytree.tree_leaves(OF_LOOPS[transform](unroll)(value))
        for actual, expected in zip(*results, strict=True):
            assert tl.allclose(actual, expected)


OF_BATCHES = {
    "vmap": lambda f: func.vmap(f),
    "vmap of grad": lambda f: func.vmap(func.grad(total(f))),
    "grad of vmap": lambda f: func.grad(total(func.vmap(f))),
    "vmap of jvp": lambda f: func.vmap(lambda x: func.jvp(f, (x,), (tl.ones_like(x),))),
    "functionalize of vmap": lambda f: func.functionalize(func.vmap(f)),
}
UNROLLED = {
    "vmap": unroll,
    "vmap of grad": func.grad(total(unroll)),
    "grad of vmap": func.grad(total(unroll)),
    "vmap of jvp": lambda x: func.jvp(unroll, (x,), (tl.ones_like(x),)),
    "functionalize of vmap": unroll,
}


@pytest.mark.parametrize("mode", [None, "real", "fake", "symbolic"])
@pytest.mark.parametrize("transform", OF_BATCHES)
def test_the_examples_of_a_batch_end_apart(transform, mode):
    f, x = OF_BATCHES[transform](grow), tl.tensor([[1.0, 2.0], [5.0, 7.0], [0.7, 0.8]])
    call = f if mode is None else make_fx(f, tracing_mode=mode)(x)
    for value in (x, x * 0.6):
        examples = [pytree.tree_leaves(UNROLLED[transform](row)) for row in value]
        for actual, rows in zip(pytree.tree_leaves(call(value)), zip(*examples, strict=True), strict=True):
            assert tl.allclose(actual, tl.stack(list(rows)))


def test_an_example_that_ended_keeps_its_values():
    f = func.vmap(lambda x: while_loop(lambda y: y > 1, lambda y: ((y - 2).log(),), (x,))[0])
    x = tl.tensor([0.5, 20.0])  # the body of the first example would be nan
    expected = tl.tensor([0.5, (tl.tensor(18.0).log() - 2).log()])
    for call in (f, make_fx(f)(x)):
        assert tl.allclose(call(x), expected)


def test_a_hessian_of_a_loop():
    x = tl.tensor([1.0, 1.5])
    graph = make_fx(func.jacfwd(func.grad(total(grow))))(x)
    for value in (x, x * 0.4):
        assert tl.allclose(graph(value), func.hessian(total(unroll))(value), rtol=1e-4)


def test_a_second_derivative_in_reverse_mode_is_refused():
    with pytest.raises(NotImplementedError, match="second derivative"):
        make_fx(func.grad(total(func.grad(total(grow)))))(tl.ones(2))


def test_the_stacks_of_a_loop():
    def call(x):
        body = lambda i, y: (i + 1, y * 2)  # noqa: E731 - as long as its loop
        return while_loop_stack_output_op(lambda i, y: i < 3, body, (tl.tensor(0), x), ())

    graph = make_fx(call, tracing_mode="fake")(tl.ones(2))
    for numbers, rows in (call(tl.ones(2)), graph(tl.ones(2))):
        assert numbers.tolist() == [1, 2, 3]
        assert rows.tolist() == [[2.0, 2.0], [4.0, 4.0], [8.0, 8.0]]
    none = while_loop_stack_output_op(lambda y: y.sum() < 0, lambda y: (y * 2,), (tl.ones(2),), ())
    assert none[0].tolist() == [[1.0, 1.0]]


class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(tl.tensor([1.5, 2.0]))

    def forward(self, x):
        return func.vmap(lambda r: while_loop(lambda y: y.sum() < 9, lambda y: (y * self.scale,), (r,))[0])(x)


def test_exported_loops_of_a_batch():
    x = tl.tensor([[1.0, 2.0], [5.0, 7.0], [0.7, 0.8]])
    program = export(Loop(), (x,))
    for value in (x, x * 0.5):
        assert tl.allclose(program.module()(value), Loop()(value))


def test_out_dtype():
    mm = tl.ops.aten.mm.default
    graph = make_fx(func.functionalize(lambda x: out_dtype(mm, tl.int32, x, x)))(tl.ones(2, 2, dtype=tl.int8))
    assert out_dtype in {n.target for n in graph.graph.nodes}


def test_a_branch_that_writes_to_its_operand():
    with pytest.raises(RuntimeError, match="modifying the input"):
        make_fx(func.functionalize(lambda x: cond(x.sum() > 0, lambda y: y.add_(1), tl.cos, (x,))))(
            tl.ones(3)
        )
