"""Rows removed from layers: the pruned model computes what the masked one does."""

import random

import pytest

import tl_core
import tl_nn as nn
from tl_nn import functional as F
from tl_nn.utils import parametrize
from tl_quantization.pruning.structured import (
    BaseStructuredSparsifier,
    BiasHook,
    FakeStructuredSparsity,
    FPGMPruner,
    LSTMSaliencyPruner,
    SaliencyPruner,
)
from tl_quantization.pruning.structured.match_utils import MatchAllNode, apply_match


class Third(BaseStructuredSparsifier):
    """Masks a third of the rows."""

    def update_mask(self, module, tensor_name, **kwargs):
        mask = module.parametrizations[tensor_name][0].mask
        mask[random.Random(len(mask)).sample(range(len(mask)), len(mask) // 3)] = False


class Halves(BaseStructuredSparsifier):
    """Masks the second half of the rows of each gate."""

    def update_mask(self, module, tensor_name, **kwargs):
        for gate in module.parametrizations[tensor_name][0].mask.chunk(4):
            gate[len(gate) // 2 :] = False


class Functions(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(2, 6, 3), nn.Conv2d(6, 6, 3, bias=False)
        self.pool, self.end = nn.AdaptiveAvgPool2d(2), nn.Linear(24, 3)

    def forward(self, x):
        return self.end(tl_core.flatten(self.pool(self.b(F.max_pool2d(F.relu(self.a(x)), 2))), 1))


def fill(model):
    for i, p in enumerate(model.parameters()):
        p.data = (((tl_core.arange(p.numel()) * 37 + i * 5) % 101) / 50 - 1).reshape(p.shape)
    return model.eval()


LINEAR = {
    "linear": lambda: nn.Sequential(nn.Linear(5, 9), nn.Linear(9, 6), nn.Linear(6, 4)),
    "relu": lambda: nn.Sequential(
        nn.Linear(5, 9), nn.ReLU(), nn.Linear(9, 6, bias=False), nn.Tanh(), nn.Linear(6, 4)
    ),
}
IMAGE = {
    "conv": lambda: nn.Sequential(nn.Conv2d(2, 6, 3), nn.Conv2d(6, 9, 3), nn.ReLU(), nn.Conv2d(9, 4, 1)),
    "padded": lambda: nn.Sequential(nn.Conv2d(2, 6, 3), nn.ReLU(), nn.Conv2d(6, 9, 3, padding=1), nn.Conv2d(9, 4, 1)),
    "same": lambda: nn.Sequential(nn.Conv2d(2, 6, 3, bias=False), nn.Conv2d(6, 3, 3, padding="same")),
    "pools": lambda: nn.Sequential(
        *(nn.Conv2d(2, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 9, 3), nn.AvgPool2d(2), nn.ReLU6()),
        *(nn.Conv2d(9, 6, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 3)),
    ),
    "functions": Functions,
}  # fmt: skip


@pytest.mark.parametrize("prune_bias", [True, False])
@pytest.mark.parametrize("name", [*LINEAR, *IMAGE])
def test_pruned_model_equals_masked(name, prune_bias):
    model = fill({**LINEAR, **IMAGE}[name]())
    layers = [n for n, m in model.named_modules() if isinstance(m, (nn.Linear, nn.Conv2d))]
    pruner = Third({"prune_bias": prune_bias})
    pruner.prepare(model, [{"tensor_fqn": f"{n}.weight"} for n in layers[:-1]])
    pruner.step()
    x = ((tl_core.arange(7 * 5) % 11) / 5 - 1).reshape(7, 5)
    if name in IMAGE:
        x = ((tl_core.arange(3 * 2 * 14 * 14) * 7 % 23) / 11 - 1).reshape(3, 2, 14, 14)
    expected, before = model(x), sum(p.numel() for p in model.parameters())
    pruned = pruner.prune()
    tl_core.testing.assert_close(pruned(x), expected, rtol=1e-4, atol=1e-4)
    assert name == "padded" or sum(p.numel() for p in pruned.parameters()) < before
    assert not any(parametrize.is_parametrized(m) or m._forward_hooks for m in pruned.modules())
    assert not any("_bias" in n.split(".") for n, _ in pruned.named_parameters())


def test_propagated_bias_of_a_layer_that_loses_its_own():
    model = fill(nn.Sequential(nn.Linear(5, 6), nn.Linear(6, 6), nn.Linear(6, 2)))
    pruner = Third({})
    pruner.prepare(
        model,
        [{"tensor_fqn": "0.weight", "prune_bias": False}, {"tensor_fqn": "1.weight", "prune_bias": True}],
    )
    pruner.step()
    x = tl_core.linspace(-1, 1, 20).reshape(4, 5)
    expected = model(x)
    tl_core.testing.assert_close(pruner.prune()(x), expected)


def test_last_layer():
    model = fill(nn.Sequential(nn.Linear(5, 6)))
    before = model[0].weight.detach().clone(), model[0].bias.detach().clone()
    pruner = Third({})
    pruner.prepare(model, None)
    mask = pruner.state["0.weight"]["mask"]
    pruner.step()
    layer = getattr(pruner.prune(), "0")
    assert mask.tolist().count(False) == 2 and layer.out_features == 4
    assert tl_core.equal(layer.weight, before[0][mask]) and tl_core.equal(layer.bias, before[1][mask])


def test_linear_layers_of_sequences():
    model = fill(nn.Sequential(nn.Linear(5, 6), nn.Linear(6, 2)))
    pruner, x = Third({}), tl_core.linspace(-1, 1, 60).reshape(3, 4, 5)
    pruner.prepare(model, [{"tensor_fqn": "0.weight"}])
    unmasked = model(x)
    pruner.step()
    expected = model(x)
    assert expected.shape == (3, 4, 2) and not tl_core.allclose(unmasked, expected)
    tl_core.testing.assert_close(pruner.prune()(x), expected)


class Recurrent(nn.Module):
    def __init__(self, layers, norm, bias=True):
        super().__init__()
        self.lstm, self.linear = nn.LSTM(4, 8, num_layers=layers, bias=bias), nn.Linear(8, 3)
        self.norm = nn.LayerNorm(8) if norm else None

    def forward(self, x):
        y, _ = self.lstm(x)
        return y, self.linear(y if self.norm is None else self.norm(y))


@pytest.mark.parametrize("layers, norm, bias", [(1, False, True), (2, True, True), (3, False, False)])
def test_lstm(layers, norm, bias):
    model = fill(Recurrent(layers, norm, bias))
    names = [f"weight_{part}_l{i}" for i in range(layers) for part in ("ih", "hh")]
    # A unit whose rows are zero has the output 0 only without bias, so the reference is an LSTM of the kept rows.
    keep = tl_core.tensor([True] * 4 + [False] * 4)
    reference = nn.LSTM(4, 4, num_layers=layers, bias=bias)
    state = {}
    for name, value in model.lstm.state_dict().items():
        rows = value[keep.repeat(4)]
        is_inner = value.dim() == 2 and not name.endswith("ih_l0")
        state[name] = rows[:, keep] if is_inner else rows
    reference.load_state_dict(state)
    weight = model.linear.weight.detach()[:, keep]
    pruner = Halves({})
    pruner.prepare(model, [{"tensor_fqn": f"lstm.{name}"} for name in names])
    pruner.step()
    x = tl_core.linspace(-1, 1, 5 * 2 * 4).reshape(5, 2, 4)
    y, z = pruner.prune()(x)
    tl_core.testing.assert_close(y, reference(x)[0])
    hidden = F.layer_norm(y, (4,), model.norm.weight, model.norm.bias) if norm else y
    tl_core.testing.assert_close(z, hidden @ weight.T + model.linear.bias)
    assert model.lstm.hidden_size == model.linear.in_features == 4


def test_choices():
    model = nn.Sequential(nn.Linear(2, 4, bias=False), nn.Linear(4, 1))
    model[0].weight.data = tl_core.tensor([[3.0, -3.0], [1.0, 1.0], [-2.0, 2.0], [0.5, 4.0]])
    pruner = SaliencyPruner({"sparsity_level": 0.6})
    pruner.prepare(model, [{"tensor_fqn": "0.weight"}])
    pruner.step()
    assert pruner.state["0.weight"]["mask"].tolist() == [True, False, False, True]
    lstm = nn.LSTM(1, 2)
    lstm.weight_ih_l0.data = tl_core.tensor([1.0, -2, 4, 3, 0, 1, 7, 6]).reshape(8, 1)
    pruner = LSTMSaliencyPruner({"sparsity_level": 0.5})
    pruner.prepare(nn.Sequential(lstm), [{"tensor_fqn": "0.weight_ih_l0"}])
    pruner.step()
    mask = pruner.state["0.weight_ih_l0"]["mask"]
    assert mask.tolist() == [False, True, True, False, False, True, True, False]
    # Filters 3, 2 and 0.5 of one element have the sums of distances 3.5, 2.5 and 4: the middle one goes.
    for dist in (None, 1, 2, lambda x: (x - x.T).abs()):
        conv = nn.Sequential(nn.Conv2d(1, 3, 1))
        conv[0].weight.data = tl_core.tensor([3.0, 2.0, 0.5]).reshape(3, 1, 1, 1)
        pruner = FPGMPruner(0.3, dist)
        pruner.prepare(conv, None)
        pruner.step()
        assert pruner.state["0.weight"]["mask"].tolist() == [True, False, True]
    for level, expected in ((0.0, True), (-1.0, True), (1.0, False), (2.0, False)):
        conv = nn.Sequential(nn.Conv2d(1, 3, 1))
        pruner = FPGMPruner(level)
        pruner.prepare(conv, None)
        pruner.step()
        assert pruner.state["0.weight"]["mask"].tolist() == [expected] * 3


def test_parts():
    part = FakeStructuredSparsity(tl_core.tensor([True, False]))
    assert part(tl_core.ones(2, 1, 2)).tolist() == [[[1, 1]], [[0, 0]]] and part.state_dict() == {}
    with pytest.raises(AssertionError, match="each of the 3 rows, but got 2"):
        part(tl_core.ones(3, 2))
    layer = nn.BatchNorm1d(2)
    assert BiasHook(part, True)(layer, None, tl_core.zeros(1, 2)).tolist() == [[0, 0]]
    layer.register_parameter("_bias", nn.Parameter(tl_core.tensor([1.0, 2.0])))
    assert BiasHook(part, False)(layer, None, tl_core.zeros(1, 2, 1)).tolist() == [[[1], [2]]]
    assert BiasHook(part, True)(layer, None, tl_core.zeros(1, 2, 1)).tolist() == [[[1], [0]]]


def test_matches():
    from tl_compiler.fx import symbolic_trace

    traced = symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)))
    modules, nodes = dict(traced.named_modules()), list(traced.graph.nodes)
    for pattern, count in (
        ((nn.Linear, nn.ReLU, nn.Linear), 3),
        ((nn.Linear, MatchAllNode), 2),
        (nn.Linear, 1),
        ((nn.Linear, nn.Linear), None),
        ((nn.Linear, F.relu), None),
        ((nn.Linear, nn.ReLU, nn.Linear, "output", nn.Linear), None),
    ):
        matched = apply_match(modules, pattern, nodes[1], [])
        assert matched == (None if count is None else nodes[1 : 1 + count])
    assert apply_match(modules, (nn.Linear, "output"), nodes[3], [nodes[0]]) == [nodes[0], *nodes[3:]]


def test_errors():
    with pytest.raises(TypeError, match="update_mask"):
        BaseStructuredSparsifier({})
    with pytest.raises(NotImplementedError, match="dist must be 1, 2 or a function, but got 3"):
        FPGMPruner(dist=3)
    pruner = SaliencyPruner({"sparsity_level": 0.5})
    pruner.prepare(nn.Sequential(nn.BatchNorm1d(4)), [{"tensor_fqn": "0.weight"}])
    with pytest.raises(RuntimeError, match="2 or more dimensions, but weight has 1"):
        pruner.step()
    model, pruner = nn.Sequential(nn.Linear(2, 2), nn.Softmax(1), nn.Linear(2, 2)), Third({})
    pruner.prepare(model, [{"tensor_fqn": "0.weight"}])
    with pytest.raises(RuntimeError, match="0 still has masks of rows"):
        pruner.prune()
    model, pruner = nn.Sequential(nn.Conv2d(1, 4, 1), nn.Conv2d(4, 4, 1, groups=4)), Third({})
    pruner.prepare(model, [{"tensor_fqn": "0.weight"}])
    with pytest.raises(ValueError, match="but got groups=4"):
        pruner.prune()
    model, pruner = (
        nn.Sequential(nn.Conv2d(1, 3, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1)),
        Third({}),
    )
    pruner.prepare(model, [{"tensor_fqn": "0.weight"}])
    with pytest.raises(AssertionError, match="multiple of the 3 channels, but got 4"):
        pruner.prune()


@pytest.mark.parametrize("names", [["weight_ih_l0"], ["weight_ih_l0", "weight_hh_l0"]])
def test_uneven_lstm(names):
    class Uneven(BaseStructuredSparsifier):
        def update_mask(self, module, tensor_name, **kwargs):
            module.parametrizations[tensor_name][0].mask[0] = False

    model, pruner = Recurrent(1, False), Uneven({})
    pruner.prepare(model, [{"tensor_fqn": f"lstm.{name}"} for name in names])
    pruner.step()
    with pytest.raises(ValueError, match="weight_ih_l0, weight_hh_l0 must all have masks"):
        pruner.prune()
