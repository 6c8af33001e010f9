"""`freeze`: constants are computed once, and again after a write; results are those of the model."""

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import compiler
from tl_compiler._C import reads_frames
from tl_compiler.compiler import folding
from tl_compiler.compiler.errors import Unsupported
from tl_core.testing import assert_close


class Adapted(nn.Module):
    """A layer with a low-rank update, before a convolution with a batch norm."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tl.randn(4, 4))
        self.down, self.up = nn.Parameter(tl.randn(4, 2)), nn.Parameter(tl.randn(2, 4))
        self.convolution, self.norm = nn.Conv1d(4, 6, 3, bias=False), nn.BatchNorm1d(6)

    def forward(self, x):
        x = x @ (self.weight + self.down @ self.up).T
        return self.norm(self.convolution(x)).relu(), self.weight * 2


@pytest.fixture
def net():
    tl.manual_seed(0)
    net = Adapted()
    net.norm.running_mean.uniform_(-1, 1)
    net.norm.running_var.uniform_(0.5, 2)
    return net.eval()


def graphs_of(monkeypatch):
    result, plain = [], folding.FoldedGraph.__init__

    def note(self, *args):
        plain(self, *args)
        result.append(self)

    monkeypatch.setattr(folding.FoldedGraph, "__init__", note)
    return result


def test_results_and_constants(net, monkeypatch):
    graphs = graphs_of(monkeypatch)
    x = tl.randn(2, 4, 4)
    frozen = compiler.freeze(net, (x,))
    (graph,) = graphs
    assert [n.name for n in graph.boundary] == ["t"] or len(graph.boundary) == 1
    before = graph.constants[0]
    for _ in range(2):
        for a, b in zip(frozen(x), net(x), strict=True):
            assert tl.equal(a, b) and not a.requires_grad
    assert graph.constants[0] is before
    first, second = frozen(x)[1], frozen(x)[1]
    assert first is not second  # a result that a program may write to


def test_writes_and_new_parameters_are_noticed(net, monkeypatch):
    graphs = graphs_of(monkeypatch)
    x = tl.randn(2, 4, 4)
    frozen = compiler.freeze(net, (x,))

    def write():
        with tl.no_grad():
            net.down.mul_(3)

    def replace():
        net.up = nn.Parameter(tl.ones(2, 4))

    def load():
        net.load_state_dict({name: t + 1 for name, t in net.state_dict().items()})

    def touch():
        frozen(x)
        graphs[0].constants[0].add_(1)

    for change in (write, replace, load, touch):
        change()
        assert tl.equal(frozen(x)[0], net(x)[0]), change.__name__
    assert len(graphs) == 1


def test_batch_norms_go_into_convolutions(net):
    x = tl.randn(2, 4, 4)
    frozen = compiler.freeze(net, (x,), options={"fold_batch_norm": True})
    assert_close(frozen(x)[0], net(x)[0], rtol=1e-4, atol=1e-5)
    graphs = []

    def collect(graph, examples):
        graphs.append(graph)
        return graph.forward

    compiler.freeze(net, (x,), options={"fold_batch_norm": True, "backend": collect})
    names = [str(n.target) for n in graphs[0].graph.nodes if n.op == "call_function"]
    assert "aten.batch_norm.default" not in names and "aten.conv1d.default" in names


def test_tensors_that_the_graph_writes_are_no_constants():
    value = tl.zeros(3)

    def f(x):
        value.add_(1)
        return x + value * 2

    frozen = compiler.freeze(f, (tl.ones(3),))
    assert frozen(tl.ones(3)).tolist() == [5.0] * 3
    assert frozen(tl.ones(3)).tolist() == [7.0] * 3


def test_random_numbers_are_no_constants():
    weight = tl.ones(3)
    frozen = compiler.freeze(lambda x: x + tl.bernoulli(weight * 0.5) * 8, (tl.ones(3),))
    tl.manual_seed(1)
    first = [frozen(tl.ones(3)).tolist() for _ in range(4)]
    tl.manual_seed(1)
    assert first == [(tl.ones(3) + tl.bernoulli(weight * 0.5) * 8).tolist() for _ in range(4)]
    assert len({tuple(row) for row in first}) > 1


class Layers(nn.Module):
    """Layers without constants to compute, one of which writes to its input."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 48, 3), nn.BatchNorm2d(48)
        self.relu, self.last = nn.ReLU(inplace=True), nn.Linear(48 * 4 * 4, 64)
        self.scale = 1.0

    def forward(self, x):
        y = self.relu(self.norm(self.first(x)))
        y += 1
        return self.last(y.flatten(1)) * self.scale


def test_weights_are_packed_and_calls_replayed():
    tl.manual_seed(0)
    net, x = Layers().eval(), tl.randn(8, 3, 6, 6)
    plain = net(x).detach()
    frozen = compiler.freeze(net, (x,))
    run = frozen.dynamo_ctx
    assert run.packings.nbytes > 4 * net.last.weight.numel()
    assert run.replayed.tapes or not reads_frames()
    for _ in range(2):
        assert tl.equal(frozen(x), plain) and not frozen(x).requires_grad
    assert tl.equal(frozen(x[:3]), net(x[:3]))

    def write():
        with tl.no_grad():
            net.first.weight.mul_(-2)
            net.last.weight.add_(1)

    def replace():
        net.last = nn.Linear(48 * 4 * 4, 5)

    def scale():
        net.scale = 3.0

    def train():
        net.train()

    for change in (write, replace, scale):
        change()
        for _ in range(4):
            assert tl.equal(frozen(x), net(x)), change.__name__
    train()
    copy = Layers()
    copy.last = nn.Linear(48 * 4 * 4, 5)
    copy.load_state_dict(net.state_dict())
    copy.scale = net.scale
    assert tl.equal(frozen(x), copy(x)) and tl.equal(net.norm.running_mean, copy.norm.running_mean)


def test_a_function_that_counts_is_called_as_often_as_its_caller_says():
    calls, value = [], tl.zeros(())

    def count(x):
        value.add_(1)
        return x * 2

    compiler.freeze(count, (tl.ones(3),))
    assert value.item() == 1
    frozen = compiler.freeze(lambda x: x * 2 if calls is not None else x, (tl.ones(3),))
    assert frozen(tl.ones(3)).tolist() == [2.0] * 3 and frozen.__name__ == "<lambda>"


def test_bad_input(net):
    x = tl.randn(2, 4, 4)
    with pytest.raises(RuntimeError, match="call eval"):
        compiler.freeze(net.train(), (x,))
    with pytest.raises(RuntimeError, match=r"unknown options \['speed'\]"):
        compiler.freeze(net.eval(), (x,), options={"speed": 3})
    with pytest.raises(AssertionError, match="a function or module is expected"):
        compiler.freeze(3)
    with pytest.raises(Unsupported, match=r"test_freeze.py:\d+: the value of a tensor"):
        compiler.freeze(lambda x: x if x.sum() > 0 else -x, (x,))
    with pytest.raises(compiler.InvalidBackend):
        compiler.freeze(net, (x,), options={"backend": "nonsense"})
