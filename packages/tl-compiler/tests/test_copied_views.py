"""Graphs of functions without writes and views: the operators that copy what a view shows."""

import pytest

import tl_core as tl
from tl_autograd import func
from tl_compiler.decompositions import core_decompositions
from tl_compiler.fx.experimental.proxy_tensor import make_fx

x, z = tl.arange(6.0).reshape(2, 3), tl.arange(24.0).reshape(2, 3, 4)
pairs = tl.ones(3, 2)


def written(view):
    """A function that writes through a view, and returns what it is a view of."""

    def f(x):
        y = x.clone()
        view(y).mul_(2)
        return y

    return f


READ = {
    "alias_copy.default": (tl.ops.aten.alias.default, x),
    "as_strided_copy.default": (lambda x: x.as_strided((2, 2), (1, 2)), x),
    "detach_copy.default": (lambda x: x.detach(), x),
    "diagonal_copy.default": (lambda x: x.diagonal(), x),
    "expand_copy.default": (lambda x: x.expand(2, 2, 3), x),
    "permute_copy.default": (lambda x: x.permute(2, 0, 1), z),
    "select_copy.int": (lambda x: x[0], x),
    "slice_copy.Tensor": (lambda x: x[:, 1:], x),
    "split_copy.Tensor": (lambda x: x.split(1), x),
    "split_with_sizes_copy.default": (lambda x: x.split([1, 1]), x),
    "squeeze_copy.default": (lambda x: x.squeeze(), x),
    "squeeze_copy.dim": (lambda x: x.squeeze(0), x),
    "squeeze_copy.dims": (lambda x: x.squeeze((0, 1)), x),
    "t_copy.default": (lambda x: x.t(), x),
    "transpose_copy.int": (lambda x: x.transpose(0, 1), x),
    "unbind_copy.int": (lambda x: x.unbind(), x),
    "unfold_copy.default": (lambda x: x.unfold(1, 2, 1), x),
    "unsqueeze_copy.default": (lambda x: x.unsqueeze(0), x),
    "view_as_complex_copy.default": (tl.view_as_complex, pairs),
    "view_as_real_copy.default": (tl.view_as_real, pairs + 0j),
    "view_copy.default": (lambda x: x.view(6), x),
    "view_copy.dtype": (lambda x: x.view(tl.int32), x),
}
WRITTEN = {
    "select": (lambda x: x[0], ["clone.default", "select_copy.int", "mul.Tensor", "select_scatter.default"]),
    "t": (lambda x: x.t(), ["clone.default", "t_copy.default", "mul.Tensor", "t_copy.default"]),
    "unsqueeze": (
        lambda x: x.unsqueeze(0),
        ["clone.default", "unsqueeze_copy.default", "mul.Tensor", "squeeze_copy.dim"],
    ),
    "view": (lambda x: x.view(6), ["clone.default", "view_copy.default", "mul.Tensor", "view_copy.default"]),
}


def operators(graph):
    names = [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
    return [name.removeprefix("aten.") for name in names if "getitem" not in name]


@pytest.mark.parametrize("name", READ)
def test_a_view_that_is_read(name):
    f, value = READ[name]
    graph = make_fx(func.functionalize(f, remove="mutations_and_views"))(value)
    assert operators(graph) == [name]
    for actual, expected in zip(
        tl.pytree.tree_leaves(graph(value)), tl.pytree.tree_leaves(f(value)), strict=True
    ):
        assert tl.equal(actual, expected)
        assert actual.data_ptr() != value.data_ptr()


@pytest.mark.parametrize("name", WRITTEN)
def test_a_view_that_is_written(name):
    view, expected = WRITTEN[name]
    f = written(view)
    graph = make_fx(func.functionalize(f, remove="mutations_and_views"))(x)
    assert operators(graph) == expected
    assert tl.equal(graph(x), f(x))


def test_views_stay_without_the_request():
    assert operators(make_fx(func.functionalize(lambda x: x.view(6)))(x)) == ["view.default"]


@pytest.mark.parametrize("name", [n for n in READ if not n.startswith(("detach", "view_copy.dtype"))])
def test_copies_are_differentiated_and_batched(name):
    f, value = READ[name]
    copied = func.functionalize(f, remove="mutations_and_views")

    def total(f):
        return lambda x: sum((leaf * leaf).sum() for leaf in tl.pytree.tree_leaves(f(x))).real

    if not value.is_complex():
        assert tl.equal(func.grad(total(copied))(value), func.grad(total(f))(value))
    packet, overload = name.split(".")
    operator = getattr(getattr(tl.ops.aten, packet), overload)
    (call,) = [n for n in make_fx(copied)(value).graph.nodes if n.target is operator]
    rest = call.args[1:]
    rows = tl.stack([value, value * 2, value + 1])
    batch = tl.pytree.tree_leaves(func.vmap(lambda v: operator(v, *rest, **call.kwargs))(rows))
    loop = [tl.pytree.tree_leaves(operator(v, *rest, **call.kwargs)) for v in rows]
    for actual, expected in zip(batch, zip(*loop, strict=True), strict=True):
        assert tl.equal(actual, tl.stack(list(expected)))


def test_copies_that_are_no_core_operators_are_decomposed():
    table = core_decompositions()
    f = func.functionalize(lambda x: x.t().unsqueeze(0).squeeze(0), remove="mutations_and_views")
    graph = make_fx(f, decomposition_table=table)(x)
    assert not [name for name in operators(graph) if "copy" in name]
    assert tl.equal(graph(x), x.t())
    assert tl.ops.aten.view_copy.default not in table
