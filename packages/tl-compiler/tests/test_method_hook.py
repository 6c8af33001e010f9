"""A handler of one thread takes a class's method over; other threads and later calls have the class's own."""

import sys
import threading

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler.export import Dim, export
from tl_compiler.fx import Graph, GraphModule
from tl_compiler.fx.method_hook import MODULE_CALLS, MethodHook


class Base:
    def call(self, *args):
        return args

    @classmethod
    def make(cls, value):
        return cls, value


class Derived(Base):
    @classmethod
    def make(cls, value):
        return cls, value, "derived"


def test_a_handler_takes_over_and_leaves_no_trace():
    hook = MethodHook(Derived, "call")
    with hook.handle(lambda method, self, *args: ("handled", *method(self, *args))):
        assert Derived().call(1) == ("handled", 1)
        assert Base().call(1) == (1,)
        with hook.handle(None):
            assert Derived().call(2) == (2,)
        assert Derived().call(3) == ("handled", 3)
    assert "call" not in vars(Derived) and Derived().call(4) == (4,)


def test_class_methods():
    before = vars(Derived)["make"]
    hook = MethodHook(Derived, "make")
    with hook.handle(lambda method, cls, value: [*method(cls, value)]):
        assert Derived.make(1) == [Derived, 1, "derived"]
    assert vars(Derived)["make"] is before


def test_an_error_ends_the_region():
    hook = MethodHook(Derived, "call")
    with pytest.raises(ZeroDivisionError), hook.handle(lambda method, self: 1 / 0):
        Derived().call()
    assert "call" not in vars(Derived)


def test_other_threads_call_the_method_itself():
    hook, results = MethodHook(Derived, "call"), []
    inside, after = threading.Barrier(2), threading.Barrier(2)

    def other():
        with hook.handle(lambda method, self, value: -value):
            inside.wait()
            results.append(Derived().call(1))
            after.wait()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    assert Derived().call(1) == (1,)
    after.wait()
    thread.join()
    assert results == [-1] and "call" not in vars(Derived)


def test_an_export_does_not_see_the_modules_of_another_thread():
    shared, results = nn.Linear(2, 2), []
    started, finish = threading.Event(), threading.Event()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = shared

        def forward(self, x):
            started.set()
            assert finish.wait(30)
            return self.layer(x)

    def other():
        assert started.wait(30)
        results.append(shared(tl.ones(1, 2)))
        finish.set()

    thread = threading.Thread(target=other)
    thread.start()
    program = export(Net(), (tl.ones(3, 2),), dynamic_shapes={"x": {0: Dim("batch", min=2)}})
    thread.join()
    assert len(results) == 1
    calls = [n for n in program.graph.nodes if n.op == "call_function"]
    paths = [path for n in calls for path, _ in n.meta["nn_module_stack"].values()]
    assert paths.count("layer") == len(calls) and "@1" not in str([n.meta["nn_module_stack"] for n in calls])
    assert vars(nn.Module).get("__call__") is None and MODULE_CALLS._regions == 0


def test_another_thread_runs_the_code_of_a_graph_during_its_export():
    by_node = {}  # by thread: whether an interpreter runs the graph node by node

    def call():
        module(tl.ones(2))

    def step(x):
        frame, functions = sys._getframe(), set()
        while frame is not None:
            functions.add(frame.f_code.co_name)
            frame = frame.f_back
        name = threading.current_thread().name
        by_node[name] = "run_node" in functions
        if name != "other":
            thread = threading.Thread(target=call, name="other")
            thread.start()
            thread.join()
        return x + 1

    graph = Graph()
    graph.output(graph.call_function(step, (graph.placeholder("x"),)))
    module = GraphModule(nn.Module(), graph)
    program = export(module, (tl.ones(2),))
    assert [n.name for n in program.graph.nodes if n.op == "call_function"] == ["add"]
    assert by_node.pop("other") is False and list(by_node.values()) == [True]
