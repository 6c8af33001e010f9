"""Thirty-two models: traced once, each gives eager's bits at three sizes; so do copies, pickles and the interpreter."""

import copy
import pickle

import models
import pytest

import tl_core as tl
from tl_compiler import fx


def same(a, b):
    if isinstance(a, tl.Tensor):
        return a.equal(b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return len(a) == len(b) and all(map(same, a, b))


@pytest.mark.parametrize("name", models.MODELS)
def test_the_trace_gives_the_bits_of_eager(name):
    tl.manual_seed(0)
    make, inputs = models.MODELS[name]
    model = make().eval()
    result = fx.symbolic_trace(model)
    result.graph.lint()
    runs = (result, copy.deepcopy(result), pickle.loads(pickle.dumps(result)), fx.Interpreter(result).run)
    for argument in inputs():
        expected = model(*argument)
        assert all(same(run(*(x.clone() for x in argument)), expected) for run in runs)


@pytest.mark.parametrize("name", ["resnet18", "gpt", "mobilenet_v3", "lstm"])
def test_training_goes_through_a_trace(name):
    tl.manual_seed(0)
    make, inputs = models.MODELS[name]
    model = make().train()
    result = fx.symbolic_trace(model)
    argument = inputs()[2]
    before = {key: value.clone() for key, value in model.state_dict().items()}
    model(*argument).sum().backward()
    expected = {key: p.grad for key, p in model.named_parameters()}
    model.zero_grad()
    model.load_state_dict(before)
    result(*argument).sum().backward()
    assert expected
    assert all(p.grad.equal(expected[key]) for key, p in result.named_parameters())


def test_there_are_thirty():
    assert len(models.MODELS) >= 30
