"""Calls that can't become one graph: the graphs of the modules that they call, and autograd.Function within graphs."""

import copy
import pickle
import threading

import pytest

import tl_autograd
import tl_core as tl
import tl_nn as nn
from tl_compiler import compiler
from tl_compiler.compat import dynamo
from tl_core.testing import assert_close


class Cube(tl_autograd.Function):
    """A derivative that isn't the one of its forward."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 7 * grad * x * ctx.factor, None


class Halves(tl_autograd.Function):
    @staticmethod
    def forward(x):
        return x[: len(x) // 2] * 2, x[len(x) // 2 :] * 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.n = len(inputs[0])

    @staticmethod
    def backward(ctx, first, second):
        return tl.cat([first * 5, second])[: ctx.n]


class Block(nn.Module):
    def __init__(self, function=None):
        super().__init__()
        self.linear, self.function = nn.Linear(3, 3), function

    def forward(self, x):
        x = self.linear(x)
        return x.tanh() if self.function is None else self.function(x)


class Parts(nn.Module):
    """Blocks with what no graph repeats between them."""

    def __init__(self, between):
        super().__init__()
        self.first, self.last, self.between = Block(), nn.Sequential(Block(), nn.ReLU()), between

    def forward(self, x):
        return self.last(self.between(self.first(x)))


class Backend:
    def __init__(self):
        self.graphs = []

    def __call__(self, module, examples):
        self.graphs.append(module)
        return module.forward


def decided(x):
    return x + 1 if x.sum() > 0 else x - 1


def effect(x):
    NOTED.append(str(x.shape[0]))
    print(NOTED[-1])
    return x


NOTED = []
BETWEEN = {"a value decides": decided, "an effect": effect, "a number": lambda x: x * float(x.max())}


@pytest.fixture(autouse=True)
def fresh():
    yield
    dynamo.reset()
    NOTED.clear()


@pytest.mark.parametrize("name", BETWEEN)
def test_modules_around_a_break_are_graphs(name):
    model, backend = Parts(BETWEEN[name]), Backend()
    compiled = compiler.compile(model, backend=backend)
    for i in range(3):
        x = tl.rand(2, 3) * (i - 1)
        assert_close(compiled(x), model(x))
    assert len(backend.graphs) == 2
    calls = [[n for n in g.graph.nodes if n.op == "call_function"] for g in backend.graphs]
    kinds = [[n.target.overloadpacket.__name__ for n in nodes] for nodes in calls]
    assert kinds == [["linear", "tanh"], ["linear", "tanh", "relu"]]


def test_effects_happen_once_a_call():
    compiled = compiler.compile(Parts(effect), backend=Backend())
    for _ in range(3):
        compiled(tl.rand(2, 3))
    assert len(NOTED) == 3


def test_a_function_that_calls_modules():
    first, last, backend = Block(), Block(), Backend()

    @compiler.compile(backend=backend)
    def f(x):
        return last(decided(first(x)))

    x = tl.rand(2, 3)
    assert_close(f(x), last(decided(first(x))))
    assert len(backend.graphs) == 2


def test_gradients_cross_the_parts():
    model = Parts(decided)
    compiled = compiler.compile(copy.deepcopy(model), backend="eager")
    x = tl.rand(2, 3)
    compiled(x).sum().backward()
    model(x).sum().backward()
    for (name, p), q in zip(model.named_parameters(), compiled.parameters(), strict=True):
        assert_close(q.grad, p.grad, msg=name)


def test_parts_that_break_have_parts():
    backend = Backend()
    model = nn.Sequential(Parts(decided), Parts(effect))
    compiled = compiler.compile(model, backend=backend)
    x = tl.rand(2, 3)
    assert_close(compiled(x), model(x))
    assert len(backend.graphs) == 4


def test_fullgraph_still_raises():
    with pytest.raises(dynamo.exc.Unsupported, match="value of a tensor"):
        compiler.compile(Parts(decided), backend=Backend(), fullgraph=True)(tl.rand(2, 3))


def test_modules_are_as_before_outside_of_the_call():
    plain, records = nn.Module.__call__, []

    class Looks(nn.Module):
        def forward(self, x):
            records.append(nn.Module.__call__ is plain)
            raise ValueError("stop")

    compiled = compiler.compile(nn.Sequential(Looks()), backend=Backend())
    with pytest.raises(ValueError, match="stop"):
        compiled(tl.rand(2, 3))
    assert records == [False]
    assert nn.Module.__call__ is plain


def test_other_threads_run_as_they_are():
    backend, entered, finish = Backend(), threading.Event(), threading.Event()

    def between(x):
        entered.set()
        finish.wait(30)
        return decided(x)

    compiled = compiler.compile(Parts(between), backend=backend)
    thread = threading.Thread(target=compiled, args=(tl.rand(2, 3),))
    thread.start()
    assert entered.wait(60)
    count = len(backend.graphs)
    Block()(tl.rand(2, 3))
    assert len(backend.graphs) == count
    finish.set()
    thread.join()


def test_limit_of_all_modules():
    backend = Backend()
    compiled = compiler.compile(Parts(decided), backend=backend)
    with dynamo.config.patch(accumulated_recompile_limit=1):
        compiled(tl.rand(2, 3))
    assert len(backend.graphs) == 1


def test_a_function_that_never_is_a_graph_is_no_longer_looked_at(monkeypatch):
    from tl_compiler.compiler import compiled_function

    looked = []
    plain = compiled_function.state_of
    monkeypatch.setattr(
        compiled_function, "state_of", lambda f, *args: looked.append(f.__self__) or plain(f, *args)
    )
    model = Parts(effect)
    compiled = compiler.compile(model, backend=Backend())
    for _ in range(dynamo.config.recompile_limit + 3):
        assert compiled(tl.rand(2, 3)).shape == (2, 3)
    assert [looked.count(m) for m in (model, model.first)] == [8, 11]
    dynamo.reset()
    compiled(tl.rand(2, 3))
    assert looked.count(model) == 9


# ---- autograd.Function
FUNCTIONS = {
    "one result": lambda x: Cube.apply(x, 2.0),
    "two results": lambda x: sum(Halves.apply(x)),
    "within operators": lambda x: Cube.apply(x.sin(), 0.5).cos() * Cube.apply(x, 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_in_graphs_keep_their_derivative(name):
    model, backend = Block(FUNCTIONS[name]), Backend()
    compiled = compiler.compile(model, backend=backend, fullgraph=True)
    for n in (4, 6):
        gradients = []
        for run in (compiled, model):
            x = tl.linspace(-1, 1, 3 * n).reshape(n, 3).requires_grad_()
            out = run(x)
            out.sum().backward()
            gradients.append((out.detach(), x.grad))
        assert_close(gradients[0], gradients[1])
    (graph, *_) = backend.graphs
    assert any("apply" in str(n.target) for n in graph.graph.nodes)
    graph.graph.lint()


def test_functions_of_a_graph_are_pickled_by_their_class():
    backend = Backend()
    compiler.compile(lambda x: Cube.apply(x, 2.0), backend=backend)(tl.ones(2))
    (target,) = [n.target for n in backend.graphs[0].graph.nodes if n.op == "call_function"]
    assert pickle.loads(pickle.dumps(target))(tl.ones(2), 3.0).tolist() == [3.0, 3.0]


class Writes(tl_autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Reads(tl_autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2 if x.sum() > 0 else x * 3

    @staticmethod
    def backward(ctx, grad):
        return grad


@pytest.mark.parametrize("function", [Writes, Reads])
def test_functions_that_no_graph_has(function):
    def f(x):
        return function.apply(x + 1)

    report = dynamo.explain(f)(tl.ones(2))
    assert report.graph_count == 0 and report.graph_break_count == 1
    assert compiler.compile(f, backend="eager")(tl.ones(2)).tolist() == [4.0, 4.0]


def test_explain_has_the_graphs_of_parts():
    report = dynamo.explain(Parts(decided))(tl.rand(2, 3))
    assert (report.graph_count, report.graph_break_count) == (2, 1)
    assert report.break_reasons[0].reason == "the value of a tensor is asked for"
    assert [len(ops) for ops in report.ops_per_graph] == [2, 3]
    report = dynamo.explain(Block(FUNCTIONS["one result"]))(tl.rand(2, 3))
    assert (report.graph_count, report.graph_break_count) == (1, 0)
