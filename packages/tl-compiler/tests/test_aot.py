"""Forward and backward passes as graphs: what they compute, what is kept between them, what compilers get."""

from __future__ import annotations

import shutil

import pytest

import tl_autograd
import tl_core as tl
import tl_core.operators.packets
import tl_nn as nn
from tl_compiler.aot.aot_autograd import aot_function, aot_module, aot_module_simplified
from tl_compiler.aot.compilers import (
    draw_graph,
    make_boxed_compiler,
    memory_efficient_fusion,
    nop,
    print_compile,
    pythonkey_decompose,
    ts_compile,
)
from tl_compiler.aot.graph_names import get_aot_compilation_context, get_aot_graph_name
from tl_compiler.aot.partitioners import default_partition, min_cut_rematerialization_partition
from tl_compiler.fx import symbolic_trace
from tl_core.pytree import tree_leaves
from tl_core.subclasses.fake_mode import FakeTensorMode

PARTITIONS = [default_partition, min_cut_rematerialization_partition]


class Compiler:
    """Keeps the graphs that it gets."""

    def __init__(self):
        self.graphs, self.examples, self.names = [], [], []

    def __call__(self, graph, examples):
        self.graphs.append(graph)
        self.examples.append([tuple(e.shape) for e in examples])
        self.names.append(get_aot_graph_name())
        return graph


def operators(graph):
    return [n.target.overloadpacket.__name__ for n in graph.graph.nodes if n.op == "call_function"]


def several(a, b, scale=2.0):
    c = (a @ b).sin()
    return c.cos().exp().sum(), {"c": c * scale, "count": 3}


PROGRAMS = {
    "several": (several, [(3, 4), (4, 2)]),
    "one": (lambda x: x.sin(), [(3,)]),
    "input": (lambda x, y: (x, x * y), [(3,), (3,)]),
    "softmax": (lambda x: x.softmax(-1).log(), [(3, 4)]),
    "in place": (lambda x: x.sin().mul_(2).add_(x), [(3, 4)]),
    "views": (lambda x: x.T.reshape(-1)[1:].view(-1, 1), [(3, 4)]),
    "list": (lambda x: [x.sum(), x.argmax(), x.chunk(2)], [(4,)]),
    "constant": (lambda x: x * tl.tensor([1.0, 2.0, 3.0]), [(2, 3)]),
    "layer norm": (lambda x, w: nn.functional.layer_norm(x, (4,), w), [(3, 4), (4,)]),
    "conv": (lambda x, w: nn.functional.conv1d(x, w).relu(), [(2, 3, 8), (4, 3, 3)]),
}


def gradients(f, inputs):
    out = f(*inputs)
    flat = [o for o in tree_leaves(out) if isinstance(o, tl.Tensor)]
    total = sum((o * tl.arange(o.numel()).view(o.shape)).sum() for o in flat if o.requires_grad)
    return out, tl_autograd.grad(total, [x for x in inputs if x.requires_grad], allow_unused=True)


def same(a, b):
    a, b = tree_leaves(a), tree_leaves(b)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        if isinstance(x, tl.Tensor):
            assert tl.allclose(x, y, rtol=1e-5, atol=1e-6) and x.requires_grad == y.requires_grad
        else:
            assert x == y


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_gradients(name, partition):
    f, shapes = PROGRAMS[name]
    tl.manual_seed(0)
    inputs = [tl.randn(s, requires_grad=i == 0 or len(s) < 3) for i, s in enumerate(shapes)]
    compiler = Compiler()
    output = aot_function(f, compiler, partition_fn=partition)
    for _ in range(2):
        result, expected = gradients(output, inputs), gradients(f, inputs)
        same(result[0], expected[0])
        same(result[1], expected[1])
    assert len(compiler.graphs) == 2
    for graph in compiler.graphs:
        graph.graph.lint()


def test_the_default_keeps_what_the_backward_pass_reads():
    compiler = Compiler()
    x = tl.ones(2, requires_grad=True)
    aot_function(lambda x: x.sin().exp(), compiler)(x).sum().backward()
    assert operators(compiler.graphs[0])[:2] == ["sin", "exp"]
    assert [n.name for n in compiler.graphs[0].graph.nodes if n.op == "placeholder"] == ["primals_1"]
    assert "tangents_1" in [n.name for n in compiler.graphs[1].graph.nodes]
    assert "cos" in operators(compiler.graphs[1])


def test_a_minimal_cut_keeps_less():
    def f(x):
        return (x.sin().exp().cos() * x).tanh()

    values = {}
    for partition in PARTITIONS:
        compiler = Compiler()
        aot_function(f, compiler, partition_fn=partition)(tl.ones(8, requires_grad=True)).sum().backward()
        values[partition] = len(compiler.examples[1]) - 1
    assert values[min_cut_rematerialization_partition] == 1 < values[default_partition]


def test_random_and_dear_operators_do_not_run_again():
    compiler = Compiler()
    f = aot_function(
        lambda x, w: (nn.functional.dropout(x, 0.5) @ w).sin(),
        compiler,
        partition_fn=min_cut_rematerialization_partition,
    )
    f(tl.ones(3, 4, requires_grad=True), tl.ones(4, 2, requires_grad=True)).sum().backward()
    assert not {"native_dropout", "bernoulli", "rand_like"} & set(operators(compiler.graphs[1]))
    assert operators(compiler.graphs[1]).count("mm") == 2, "the two gradients of the product, not the product"


def test_a_graph_for_each_kind_of_argument():
    compiler = Compiler()
    f = aot_function(lambda x, n: x * n, compiler)
    x = tl.ones(2, requires_grad=True)
    for argument in ((x, 2), (x, 2), (x, 3), (x.detach(), 2), (tl.ones(3), 2)):
        assert tl.equal(f(*argument), argument[0] * argument[1])
    with tl.no_grad():
        f(x, 2)
    assert compiler.names[2].startswith("model__inference") and len(compiler.graphs) == 5


def test_boxed_functions_and_names():
    names = []

    def compiler(graph, examples):
        names.append(get_aot_compilation_context()[0])
        return graph

    x = tl.ones(2, requires_grad=True)
    f = aot_function(lambda x: x.sin(), make_boxed_compiler(compiler))
    f(x).sum().backward()
    assert names == [["forward"], ["backward"]]
    assert tl.allclose(x.grad, tl.ones(2).cos())


def test_decompositions(capsys):
    table = {tl.ops.aten.sigmoid.default: lambda x: 1 / (1 + (-x).exp())}
    aot_function(lambda x: x.sigmoid(), print_compile, decompositions=table)(tl.ones(2))
    assert "sigmoid" not in capsys.readouterr().out
    with pythonkey_decompose(table):
        f = aot_function(lambda x: x.sigmoid(), print_compile)
    f(tl.ones(2))
    assert "sigmoid" not in capsys.readouterr().out


def test_modules():
    tl.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.GELU(), nn.Linear(3, 2)).eval()
    x = tl.randn(5, 4)
    model(x).pow(2).sum().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    for result in (aot_module(model, nop), memory_efficient_fusion(model)):
        model.zero_grad()
        result(x).pow(2).sum().backward()
        assert result.orig_module is model
        for p, g in zip(model.parameters(), expected, strict=True):
            assert tl.allclose(p.grad, g, rtol=1e-4, atol=1e-5)
    graph = symbolic_trace(model)
    assert tl.allclose(aot_module_simplified(graph, (x,), nop)(x), model(x), atol=1e-6)


def test_what_needs_torchscript_refuses():
    with pytest.raises(NotImplementedError, match=r"ts_compile.*TorchScript"):
        ts_compile(None, [])


def test_draw_graph(tmp_path):
    pytest.importorskip("pydot")
    graph = symbolic_trace(lambda x: x.sin())
    for kind in ("raw", "dot") if shutil.which("dot") else ("raw",):  # Graphviz writes the second
        draw_graph(graph, str(tmp_path / f"graph.{kind}"))
        assert "digraph" in (tmp_path / f"graph.{kind}").read_text()


def test_detached_fakes_have_no_gradient_after_a_write():
    with FakeTensorMode():
        weight = tl.ones(3, requires_grad=True)
        total = tl.zeros(3)
        before = total.detach()
        total.mul_(weight)
        assert total.requires_grad
        for detached in (before, total.detach(), total.view(3).detach(), total.data):
            assert not detached.requires_grad and detached.grad_fn is None and not detached._is_view()
        assert before.untyped_storage()._cdata == total.untyped_storage()._cdata
