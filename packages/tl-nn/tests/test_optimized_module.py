"""What `compile` makes of modules; the answers are those of torch 2.13."""

import copy
import pickle

import pytest

import tl_core
import tl_nn as nn
from tl_nn.optimized_module import OptimizedModule


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.calls = 0

    def forward(self, x, scale=1):
        self.calls += 1
        return self.layer(x) * scale

    def helper(self):
        return "helped"


@pytest.fixture
def module():
    return Counter()


@pytest.fixture
def made(module):
    return OptimizedModule(module)


def test_it_holds_the_module(module, made):
    assert isinstance(made, OptimizedModule) and not isinstance(made, Counter)
    assert made._orig_mod is module
    names = ["_orig_mod.layer.weight", "_orig_mod.layer.bias"]
    assert list(made.state_dict()) == [name for name, _ in made.named_parameters()] == names
    assert [name for name, _ in made.named_modules()] == ["", "_orig_mod", "_orig_mod.layer"]
    assert repr(made).startswith("OptimizedModule(\n  (_orig_mod): Counter(")


def test_a_call_computes_what_the_module_does(module, made):
    x = tl_core.ones(1, 2)
    assert tl_core.equal(made(x, scale=2), module(x, 2))
    assert module.calls == made.calls == 2
    made.forward = lambda x: "patched"
    assert made(x) == "patched" and module(x).shape == (1, 2)


def test_hooks_are_its_own(module, made):
    called = []
    module.register_forward_hook(lambda *_: called.append("inner"))
    made.register_forward_hook(lambda *_: called.append("outer"))
    made.register_full_backward_hook(lambda *_: called.append("backward"))
    made(tl_core.ones(1, 2, requires_grad=True)).sum().backward()
    assert called == ["inner", "outer", "backward"]
    assert len(module._forward_hooks) == 1 and module._is_full_backward_hook is None


def test_attributes_are_those_of_the_module(module, made):
    assert made.helper() == "helped" and made.layer is module.layer
    made.note, made.shift = "b", nn.Parameter(tl_core.zeros(1))
    assert module.note == "b" and "shift" in dict(module.named_parameters())
    assert {"helper", "layer", "note", "_orig_mod"} <= set(dir(made))
    del made.note
    assert not hasattr(module, "note") and not hasattr(made, "note")
    with pytest.raises(AttributeError, match="'Counter' object has no attribute 'missing'"):
        made.missing  # noqa: B018


def test_the_mode_is_that_of_the_module(module, made):
    made.eval()
    assert not made.training and not module.training and not module.layer.training
    module.train()
    assert made.training
    made.training = False
    assert not module.training


def test_length_is_that_of_the_module(made):
    layers = OptimizedModule(nn.Sequential(nn.ReLU(), nn.ReLU()))
    assert len(layers) == 2 and layers
    with pytest.raises(TypeError, match="Counter does not support len"):
        len(made)
    with pytest.raises(TypeError, match="not subscriptable"):
        layers[0]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies(copied):
    result = OptimizedModule(nn.Linear(2, 2))
    again, x = copied(result), tl_core.ones(1, 2)
    assert isinstance(again, OptimizedModule) and again._orig_mod is not result._orig_mod
    assert tl_core.equal(again(x), result(x))


def test_state_has_the_names_of_the_wrapper(module, made):
    made.load_state_dict(made.state_dict())
    with pytest.raises(RuntimeError, match="loading state_dict for OptimizedModule"):
        made.load_state_dict(module.state_dict())


def test_what_it_was_compiled_to_is_called_instead(module):
    result = OptimizedModule(module, lambda x: x + 1)
    assert result(1) == 2 and result.layer is module.layer
    assert tl_core.equal(copy.deepcopy(result)(tl_core.ones(1, 2)), module(tl_core.ones(1, 2)))


def test_a_lazy_module_finds_its_sizes():
    lazy = nn.LazyLinear(2)
    assert OptimizedModule(lazy)(tl_core.ones(1, 3)).shape == (1, 2)
    assert type(lazy) is nn.Linear and lazy.in_features == 3
