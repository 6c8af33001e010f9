"""Symbolic traces of one thread beside other threads, which call and trace modules of their own."""

import threading
from concurrent.futures import ThreadPoolExecutor

import tl_core as tl
import tl_nn
from tl_compiler import fx


class Meeting(tl_nn.Module):
    """A module whose forward waits for another thread."""

    def __init__(self, ready, go):
        super().__init__()
        self.linear, self.ready, self.go = tl_nn.Linear(2, 2), ready, go

    def forward(self, x):
        self.ready.set()
        assert self.go.wait(60)
        return self.linear(x).relu()


def test_modules_that_another_thread_calls_during_a_trace():
    ready, go = threading.Event(), threading.Event()
    own = tl_nn.Module.__call__, tl_nn.Module.__getattr__
    with ThreadPoolExecutor(1) as pool:
        trace = pool.submit(fx.symbolic_trace, Meeting(ready, go))
        try:
            assert ready.wait(60)
            other = tl_nn.Sequential(tl_nn.Linear(2, 2), tl_nn.ReLU())
            assert other(tl.ones(1, 2)).shape == (1, 2)
            assert not fx._symbolic_trace.is_fx_tracing()
        finally:
            go.set()
        graph = trace.result(60).graph
    assert [node.op for node in graph.nodes] == ["placeholder", "call_module", "call_method", "output"]
    assert (tl_nn.Module.__call__, tl_nn.Module.__getattr__) == own


def test_traces_of_several_threads_at_once():
    own = tl_nn.Module.__call__, tl_nn.Module.__getattr__
    start = threading.Barrier(8)

    def trace(width):
        start.wait(60)
        module = tl_nn.Sequential(*(tl_nn.Linear(width, width) for _ in range(20)))
        graphs = [fx.symbolic_trace(module) for _ in range(5)]
        return [graph(tl.ones(1, width)).shape for graph in graphs], len(graphs[-1].graph.nodes)

    with ThreadPoolExecutor(8) as pool:
        for width, (shapes, nodes) in enumerate(pool.map(trace, range(1, 9)), 1):
            assert shapes == [(1, width)] * 5 and nodes == 22
    assert (tl_nn.Module.__call__, tl_nn.Module.__getattr__) == own
