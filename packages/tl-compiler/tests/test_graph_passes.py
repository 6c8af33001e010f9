"""Graph modules that `compile` runs through passes of other packages."""

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler.compiler import compile  # noqa: A004
from tl_compiler.compiler.graph_passes import PassedModule, graph_passes, has_graph_pass, register_graph_pass
from tl_compiler.fx import Graph, GraphModule
from tl_core.base import backend_registry
from tl_core.library import Library
from tl_core.operators import packets

LIBRARY = Library("passes_of_tests", "DEF")
LIBRARY.define("double(Tensor x) -> Tensor")
LIBRARY.impl("double", lambda x: x * 2, "CompositeExplicitAutograd")
CALLS = []


def quadruple(module):
    """A copy whose operators double twice, so that a test sees which one runs."""
    CALLS.append(module)
    result = GraphModule(module, module.graph)
    graph = Graph()
    value = graph.graph_copy(module.graph, {})
    graph.output(graph.call_function(packets.passes_of_tests.double.default, (value,)))
    return GraphModule(result, graph)


backend_registry.register(
    "graph pass of passes_of_tests", lambda: register_graph_pass("passes_of_tests", quadruple)
)


def model():
    root, graph = nn.Module(), Graph()
    root.register_buffer("shift", tl.ones(2))
    doubled = graph.call_function(packets.passes_of_tests.double.default, (graph.placeholder("x"),))
    graph.output(graph.call_function(packets.aten.add.Tensor, (doubled, graph.get_attr("shift"))))
    return GraphModule(root, graph)


def test_the_pass_runs_without_gradients():
    module, x = model(), tl.ones(2)
    fast = compile(module)
    assert fast(x).tolist() == [3.0, 3.0]
    with tl.no_grad():
        assert fast(x).tolist() == [6.0, 6.0]
        assert compile(module, fullgraph=True)(x).tolist() == [6.0, 6.0]
        assert compile(module, backend="eager")(x).tolist() == [3.0, 3.0]
        replayed = compile(module, mode="reduce-overhead")
        assert [replayed(x).tolist() for _ in range(4)] == [[6.0, 6.0]] * 4
    with tl.inference_mode():
        assert fast(x).tolist() == [6.0, 6.0]


def test_the_pass_runs_again_after_a_change():
    module, x = model(), tl.ones(2)
    fast = compile(module)
    with tl.no_grad():
        fast(x)
        count = len(CALLS)
        fast(x)
        assert len(CALLS) == count
        module.shift += 1
        assert fast(x).tolist() == [8.0, 8.0]
        module.shift = tl.zeros(2)
        assert fast(x).tolist() == [4.0, 4.0]
        assert len(CALLS) == count + 2
        add = next(n for n in module.graph.nodes if n.target is packets.aten.add.Tensor)
        add.target = packets.aten.sub.Tensor
        module.recompile()
        module.shift.fill_(2.0)
        assert fast(x).tolist() == [0.0, 0.0]


def test_a_module_with_hooks_runs_itself():
    module, x = model(), tl.ones(2)
    fast, records = compile(module), []
    module.register_forward_hook(lambda *args: records.append(args))
    with tl.no_grad():
        assert fast(x).tolist() == [3.0, 3.0]
    assert len(records) == 1


def test_other_functions_have_no_pass():
    assert not has_graph_pass(tl.add) and not has_graph_pass(nn.Linear(1, 1).__call__)
    assert has_graph_pass(model().__call__)
    assert graph_passes(model()) == [quadruple]
    assert isinstance(PassedModule(model().__call__).function.__self__, GraphModule)


def test_refused_passes():
    with pytest.raises(TypeError, match="graph_pass must be a function, but got int"):
        register_graph_pass("other", 3)
    with pytest.raises(ValueError, match="'passes_of_tests' has a graph pass already"):
        graph_passes(model())
        register_graph_pass("passes_of_tests", lambda module: module)
    with pytest.raises(ValueError, match="one of a program's own operators, but got 'aten'"):
        register_graph_pass("aten", quadruple)
