"""Functions with annotations for the compiler: one node, a constant, a substitute, no watch, no graph."""

import os
import threading

import pytest

import tl_autograd
import tl_core as tl
from tl_compiler import compiler
from tl_compiler.compat import dynamo
from tl_compiler.compat.dynamo.testing import EagerAndRecordGraphs
from tl_compiler.compiler import function_annotations, function_hooks
from tl_compiler.compiler.errors import Unsupported
from tl_core.testing import assert_close


@pytest.fixture
def backend():
    compiler.reset()
    return EagerAndRecordGraphs()


def calls(graph):
    return [n.name for n in graph.graph.nodes if n.op == "call_function"]


def test_one_node(backend):
    factor = [2.0]

    @compiler.allow_in_graph
    def scale(x, *, plus=0):
        """No graph could have the loop."""
        while x.detach().sum() < 100:
            x = x * factor[0]
        return x + plus, x.detach() - 1

    def f(x):
        first, second = scale(x * 1, plus=3)
        return first - second

    compiled = compiler.compile(f, backend=backend, fullgraph=True)
    with pytest.raises(Unsupported, match=r"the value of a tensor decides"):
        compiled(tl.ones(3))  # the node runs on tensors without memory, whose sum is unknown

    @compiler.allow_in_graph
    def shift(x, *, plus=0):
        return x * factor[0] + plus, x.detach() - 1

    def g(x):
        first, second = shift(x * 1, plus=3)
        return first - second

    compiled = compiler.compile(g, backend=backend, fullgraph=True)
    x = tl.ones(3, requires_grad=True)
    assert_close(compiled(x), g(x))
    factor[0] = 5.0  # the graph calls the function, which reads it anew
    assert_close(compiled(x), g(x))
    (graph,) = backend.graphs
    assert calls(graph) == ["mul", "shift", "getitem", "getitem_1", "sub"]
    compiled(x).sum().backward()
    assert x.grad.tolist() == [5.0] * 3


def test_a_node_has_tensors_and_constants_for_arguments(backend):
    @compiler.allow_in_graph
    def f(x, thing):
        return x + 1

    def other(x):
        return x

    with pytest.raises(Unsupported, match="f, a node of graphs, gets a function"):
        compiler.compile(lambda x: f(x, other), backend=backend, fullgraph=True)(tl.ones(2))

    @compiler.allow_in_graph
    def g(x):
        return {"x": x}

    with pytest.raises(Unsupported, match="g, a node of graphs, returns a dict"):
        compiler.compile(lambda x: g(x)["x"], backend=backend, fullgraph=True)(tl.ones(2))


def test_constants(backend):
    counts = []

    @compiler.assume_constant_result
    def read(name):
        counts.append(name)
        return {"gain": 3}[name]

    compiled = compiler.compile(lambda x: x * read("gain"), backend=backend, fullgraph=True)
    for _ in range(3):
        assert compiled(tl.ones(2)).tolist() == [3.0, 3.0]
    assert counts == ["gain"]
    with pytest.raises(Unsupported, match="read, whose result is a constant, gets a tensor"):
        compiler.compile(lambda x: read(x), backend=backend, fullgraph=True)(tl.ones(2))


def test_functions_without_a_watch(backend):
    printed = []

    @dynamo.nonstrict_trace
    def noted(x):
        printed.append(os.getpid())  # a watch would stop the call
        return x.sin()

    compiled = compiler.compile(lambda x: noted(x) + 1, backend=backend, fullgraph=True)
    for _ in range(2):
        assert_close(compiled(tl.ones(2)), tl.ones(2).sin() + 1)
    assert len(printed) == 1 and calls(backend.graphs[0]) == ["sin", "add"]


def test_substitutes(backend):
    def original(x, by=2):
        print("an effect")
        return x * by

    @compiler.substitute_in_graph(original)
    def substitute(x, by=2):
        return original.__defaults__ and x * by

    compiled = compiler.compile(lambda x: original(x), backend=backend, fullgraph=True)
    assert compiled(tl.ones(2)).tolist() == [2.0, 2.0]
    assert original(2) == 4 and original.__defaults__ == (2,)
    with pytest.raises(ValueError, match="has a substitute already"):
        compiler.substitute_in_graph(original)(substitute)
    with pytest.raises(TypeError, match="Signature mismatch"):
        compiler.substitute_in_graph(lambda x: x)(substitute)
    compiler.substitute_in_graph(lambda x: x, skip_signature_check=True)(substitute)


def test_functions_of_no_graph(backend):
    @dynamo.disallow_in_graph
    def f(x):
        return x + 1

    with pytest.raises(Unsupported, match="f is called, which disallow_in_graph marks"):
        compiler.compile(lambda x: f(x), backend=backend, fullgraph=True)(tl.ones(2))
    assert compiler.compile(lambda x: f(x), backend=backend)(tl.ones(2)).tolist() == [2.0, 2.0]
    compiler.allow_in_graph(f)
    compiler.compile(lambda x: f(x), backend=backend, fullgraph=True)(tl.ones(2))
    assert [calls(g) for g in backend.graphs] == [["f"]]


def test_operators_of_no_graph(backend):
    dynamo.disallow_in_graph(tl.sub)
    try:
        with pytest.raises(Unsupported, match="sub is called, which disallow_in_graph marks"):
            compiler.compile(lambda x: tl.sub(x, 1), backend=backend, fullgraph=True)(tl.ones(2))
    finally:
        dynamo.allow_in_graph(tl.sub)
    compiler.compile(lambda x: tl.sub(x, 1), backend=backend, fullgraph=True)(tl.ones(2))


def test_functions_that_nobody_may_call(backend):
    @dynamo.forbid_in_graph
    def f(x):
        return x + 1

    with pytest.raises(AssertionError, match="Attempt to trace forbidden callable"):
        compiler.compile(lambda x: f(x), backend=backend)(tl.ones(2))
    assert f(1) == 2


def test_calls_of_other_threads_go_to_the_function():
    def f(x):
        return x

    results = []
    with function_hooks.intercept_calls({f: lambda x: "handled"}) as codes:
        thread = threading.Thread(target=lambda: results.append(f(1)))
        thread.start()
        thread.join()
        assert f(1) == "handled" and f.__code__ in codes
    assert results == [1] and f(1) == 1
    assert function_annotations.mark_of(f) is None


def test_objects_among_the_arguments_of_an_autograd_function(backend):
    class Scale(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x, thing):
            return x * thing.factor

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    class Thing:
        factor = 3

    thing = Thing()
    with pytest.raises(Unsupported, match=r"Scale, an autograd\.Function, gets a Thing"):
        compiler.compile(lambda x: Scale.apply(x, thing), backend=backend, fullgraph=True)(tl.ones(2))
    assert compiler.compile(lambda x: Scale.apply(x, thing), backend=backend)(tl.ones(2)).tolist() == [
        3.0,
        3.0,
    ]


def test_objects_whose_attributes_raise(backend):
    class Strict:
        def __getattr__(self, name):
            raise KeyError(name)

    strict = Strict()
    assert compiler.compile(lambda x, s: x + 1, backend=backend)(tl.ones(2), strict).tolist() == [2.0, 2.0]
