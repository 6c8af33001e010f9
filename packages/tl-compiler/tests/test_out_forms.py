"""Overloads with out tensors in graphs: nodes of their own, and the functional operators of an exported graph."""

import pytest

import tl_core as tl
import tl_nn
from tl_compiler.export import export
from tl_compiler.tracer.make_fx import make_fx
from tl_core.operators.packets import aten

X = tl.tensor([[-1.0, 2.0, 3.0], [4.0, -5.0, 6.0]])


def targets(graph):
    return [str(node.target) for node in graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize("tracing_mode", ["real", "fake", "symbolic"])
def test_graphs_have_the_overload(tracing_mode):
    def function(x, y, z):
        aten.relu.out(x, out=y)
        aten._foreach_abs.out([x], out=[z])
        return y + 1, z

    graph = make_fx(function, tracing_mode=tracing_mode)(X, tl.empty(2, 3), tl.empty(2, 3))
    assert targets(graph.graph) == ["aten.relu.out", "aten._foreach_abs.out", "aten.add.Tensor"]
    results = graph(X, tl.empty(2, 3), tl.empty(2, 3))
    assert tl.equal(results[0], X.relu() + 1) and tl.equal(results[1], X.abs())


class Outs(tl_nn.Module):
    def forward(self, x):
        wide, turned = tl.empty(2, 3, dtype=tl.float64), tl.empty(2, 3)
        values, indices = tl.empty(2, 1), tl.empty(2, 1, dtype=tl.int64)
        tl.add(x, x, out=wide)
        aten.rot90.out(x, 2, out=turned)
        tl.topk(x, 1, out=(values, indices))
        return wide * 2, turned, values, indices


def test_exported_graphs_have_the_functional_operators():
    program = export(Outs(), (X,))
    functional = program.run_decompositions()
    assert not any(str(t).endswith(("out", "values")) for t in targets(functional.graph))
    for module in (program.module(), functional.module()):
        results = module(X)
        assert results[0].dtype is tl.float64 and tl.equal(results[0], 4 * X.double())
        assert tl.equal(results[1], tl.rot90(X, 2))
        assert tl.equal(results[2], tl.tensor([[3.0], [6.0]])) and results[3].tolist() == [[2], [2]]
