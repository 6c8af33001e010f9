"""Operators that take functions: eager, differentiated, in batches, and in graphs."""

import io

import pytest

import tl_core as tl
import tl_nn as nn
from tl_autograd import func
from tl_compiler.export import Dim, export, load, save
from tl_compiler.fx.experimental.proxy_tensor import make_fx
from tl_compiler.higher_order.cond import cond
from tl_compiler.higher_order.loops import associative_scan, scan
from tl_compiler.higher_order.loops import map as map_rows
from tl_compiler.higher_order.while_loop import while_loop
from tl_core import pytree
from tl_core.subclasses import FakeTensor, FakeTensorMode


def choose(x):
    return cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_branch_that_is_taken(sign):
    x = tl.full((3,), sign, requires_grad=True)
    out = choose(x)
    expected = x.sin() if sign > 0 else x.cos()
    assert tl.equal(out, expected)
    out.sum().backward()
    assert tl.allclose(x.grad, x.detach().cos() if sign > 0 else -x.detach().sin())


def test_a_batch_chooses_for_each_example():
    x = tl.tensor([[1.0, 2.0], [-1.0, -2.0]])
    out = func.vmap(choose)(x)
    assert tl.allclose(out, tl.stack([x[0].sin(), x[1].cos()]))


def test_both_branches_are_graphs():
    gm = make_fx(choose)(tl.ones(3))
    assert {n.target for n in gm.graph.nodes if n.op == "get_attr"} == {"true_graph_0", "false_graph_0"}
    for x in (tl.ones(3), -tl.ones(3)):
        assert tl.equal(gm(x), choose(x))


class Loops(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        y = cond(x.sum() > 0, lambda x: self.a(x) * x.shape[0], lambda x: self.b(x) - 1, (x,))
        carried, rows = scan(lambda c, r: (c + r, c * r), tl.zeros(3), x)
        _, z = while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * 2 + y.sum()), (tl.tensor(0), x))
        return y, carried, rows, z, map_rows(lambda r, o: r.sin() + o, x, tl.ones(3))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_in_exported_programs_and_files(sign):
    module = Loops()
    program = export(module, (tl.ones(2, 3),), dynamic_shapes=({0: Dim("rows")},))
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    for output in (program.module(), load(file).module()):
        for rows in (2, 5):
            x = tl.randn(rows, 3) * 0.1 + sign
            for result, expected in zip(output(x), module(x), strict=True):
                assert tl.equal(result, expected)


def test_scans():
    x = tl.arange(1.0, 5.0)
    assert tl.equal(associative_scan(lambda a, b: a * b, x, 0), x.cumprod(0))
    assert tl.equal(associative_scan(lambda a, b: a + b, x, 0, reverse=True), x.flip(0).cumsum(0).flip(0))
    last, rows = scan(lambda c, r: (c + r, c), tl.tensor(0.0), x)
    assert last == 10
    assert tl.equal(rows, tl.tensor([0.0, 1.0, 3.0, 6.0]))


def test_the_results_of_scan_lie_along_its_dimension():
    x = tl.arange(6.0).reshape(2, 3)
    _, rows = scan(lambda c, r: (c + r, c + r), tl.zeros(2), x, dim=-1)
    assert tl.equal(rows, x.cumsum(1))
    _, rows = scan(lambda c, r: (c + r, c + r), tl.zeros(2), x, dim=1, reverse=True)
    assert tl.equal(rows, x.flip(1).cumsum(1).flip(1))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: associative_scan(lambda a, b: a * 2 + b, x, 0),
        lambda x: scan(lambda c, r: ((c[0] + r, c[1] * r), r + 0), (x[0], x[0]), x),
        lambda x: while_loop(
            lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a + 1, b * 2), (tl.tensor(0), x, x)
        ),
    ],
)
def test_graphs_tell_operands_of_one_value_apart(call):
    x = tl.arange(1.0, 7.0).reshape(3, 2)
    for result, expected in zip(
        pytree.tree_leaves(make_fx(call)(x)(x)), pytree.tree_leaves(call(x)), strict=True
    ):
        assert tl.equal(result, expected)


def test_graphs_are_retraced():
    def loops(x):
        return scan(lambda c, r: (c + r, c * r), tl.zeros(2), x), map_rows(lambda r: r * 2, x)

    x = tl.arange(6.0).reshape(3, 2)
    graph = make_fx(make_fx(loops)(x))(x)
    assert {str(n.target) for n in graph.graph.nodes} >= {"scan", "map_impl"}


def test_fakes_choose_no_branch():
    with FakeTensorMode():
        x = tl.empty(2, 3)
        assert choose(x).shape == (2, 3)
        (_, y) = while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (tl.empty((), dtype=tl.int64), x)
        )
    assert isinstance(y, FakeTensor)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: cond(1, choose, choose), "bool or tensor"),
        (lambda: cond(tl.ones(2) > 0, choose, choose), "single-element"),
        (lambda: cond(True, 1, choose), "callable"),
        (lambda: cond(True, choose, choose, "x"), "tuple"),
        (lambda: while_loop(1, 2, (tl.ones(1),)), "callable"),
        (lambda: while_loop(lambda x: x.sum() < 9, lambda x: (x[:1],), (tl.ones(2),)), "metadata"),
        (lambda: while_loop(lambda x: x.sum() < 9, lambda x: (x, x), (tl.ones(2),)), "as many values"),
        (lambda: while_loop(lambda x: x < 9, lambda x: (x,), (tl.ones(2),)), "boolean scalar"),
        (
            lambda: make_fx(lambda: while_loop(lambda i: i < 3, lambda i: (i + 1,), (0,)))(),
            "consist of tensors",
        ),
        (lambda: map_rows(tl.neg, tl.tensor(1)), "leading dimension"),
        (lambda: map_rows(tl.neg, tl.ones(0, 2)), "cannot be 0"),
        (lambda: map_rows(tl.neg, 3), "consist of tensors"),
        (lambda: map_rows(lambda x: 3, tl.ones(2)), "tensors or None"),
        (lambda: scan(lambda c, x: (c.double(), x), tl.ones(2), tl.ones(3, 2)), "metadata"),
        (lambda: scan(lambda c, x: c, tl.ones(2), tl.ones(3, 2)), "next carry"),
        (lambda: scan(lambda c, x: ((c, c), x), tl.ones(2), tl.ones(3, 2)), "pytree"),
        (lambda: scan(lambda c, x: (c, x), [], tl.ones(3, 2)), "init leaves"),
        (lambda: scan(lambda c, x: (c, x), tl.ones(2), tl.ones(3, 2), dim="a"), "Dim must be"),
        (lambda: scan(lambda c, x: (c, x), tl.ones(2), tl.ones(3, 2), reverse=1), "Reverse must be"),
    ],
)
def test_wrong_arguments(call, said):
    with pytest.raises(RuntimeError, match=said):
        call()


def test_branches_that_differ_or_write():
    with pytest.raises(RuntimeError, match="same metadata"):
        make_fx(lambda x: cond(x.sum() > 0, lambda x: x, lambda x: x.sum(), (x,)))(tl.ones(3))
    with pytest.raises(RuntimeError, match="modifying the input"):
        make_fx(lambda x: cond(x.sum() > 0, lambda x: x.add_(1), lambda x: x, (x,)))(tl.ones(3))
