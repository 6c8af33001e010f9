"""Modules as functions of their parameters and buffers."""

import pytest

import tl_core as tl
import tl_nn as nn
from tl_nn import func, make_functional


def linear(weight, bias):
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": tl.tensor([weight]), "bias": tl.tensor([bias])})
    return layer


def test_functions_of_parameters():
    function, params = make_functional.make_functional(linear([1.0, 2.0], 3.0))
    assert isinstance(function, make_functional.FunctionalModule) and function.param_names == (
        "weight",
        "bias",
    )
    x = tl.tensor([10.0, 1.0])
    assert function(params, x).tolist() == [15]
    assert function((params[0] * 0, params[1]), x).tolist() == [3]
    with pytest.raises(RuntimeError, match="has buffers"):
        make_functional.make_functional(nn.BatchNorm1d(2))
    _, params = make_functional.make_functional(nn.Linear(2, 1), disable_autograd_tracking=True)
    assert not any(p.requires_grad for p in params)


def test_functions_of_buffers():
    norm = nn.BatchNorm1d(1, eps=0.0).eval()
    function, params, buffers = make_functional.make_functional_with_buffers(norm)
    assert isinstance(function, make_functional.FunctionalModuleWithBuffers)
    mean, variance, count = tl.tensor([4.0]), tl.tensor([9.0]), buffers[2]
    result = function(params, (mean, variance, count), tl.tensor([[10.0], [1.0]]))
    assert result.flatten().tolist() == [2, -1]


def test_ensembles():
    layers = [linear([1.0, 2.0], 3.0), linear([4.0, 5.0], 6.0)]
    function, params, buffers = make_functional.combine_state_for_ensemble(layers)
    assert [p.tolist() for p in params] == [[[[1, 2]], [[4, 5]]], [[3], [6]]] and buffers == ()
    assert function([p[1] for p in params], (), tl.tensor([1.0, 1.0])).tolist() == [15]
    state, _ = func.stack_module_state(layers)
    assert state["weight"].tolist() == params[0].tolist() and state["bias"].requires_grad
    for combine in make_functional.combine_state_for_ensemble, func.stack_module_state:
        with pytest.raises(RuntimeError, match="at least one model"):
            combine([])
        with pytest.raises(RuntimeError, match="same class"):
            combine([nn.Linear(2, 1), nn.Identity()])
        with pytest.raises(RuntimeError, match="training/eval"):
            combine([nn.Linear(2, 1), nn.Linear(2, 1).eval()])


def test_builders():
    params, function, names = make_functional.functional_init(nn.Linear, (3,))(2, 1)
    assert [p.shape for p in params] == [(3, 1, 2), (3, 1)] and names == ("weight", "bias")
    one = [tl.tensor([[1.0, 2.0]]), tl.tensor([3.0])]
    assert function(one, (tl.tensor([1.0, 1.0]),)).tolist() == [6]
    built = make_functional.functional_init_with_buffers(nn.BatchNorm1d)(4)
    assert built[3:] == (("weight", "bias"), ("running_mean", "running_var", "num_batches_tracked"))
    with pytest.raises(ValueError):
        make_functional.functional_init(nn.Linear, (3, 2))


def test_other_tensors_in_a_context():
    layer, bias = linear([1.0, 2.0], 3.0), tl.tensor([7.0])
    with func.exchange(layer, {"bias": bias}):
        assert layer.bias is bias and layer(tl.zeros(2)).tolist() == [7]
    assert layer.bias.tolist() == [3]


def test_norms_of_each_batch():
    model = nn.Sequential(nn.BatchNorm1d(1, eps=0.0), nn.Linear(1, 1)).eval()
    assert func.replace_all_batch_norm_modules_(model) is model and model[0].running_mean is None
    assert model[0](tl.tensor([[1.0], [3.0]])).flatten().tolist() == [-1, 1]
