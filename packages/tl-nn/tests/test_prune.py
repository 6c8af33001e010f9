"""Pruning."""

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
from tl_nn.utils import prune


def layer_with(values, name="weight"):
    layer = nn.Linear(len(values[0]), len(values))
    layer.weight.data = tl.tensor(values)
    return layer


VALUES = [[1.0, -2.0, 3.0], [-0.5, 4.0, 0.25]]


def test_smallest_elements_go():
    layer = prune.l1_unstructured(layer_with(VALUES), "weight", amount=2)
    assert layer.weight.tolist() == [[1.0, -2.0, 3.0], [0.0, 4.0, 0.0]]
    assert layer.weight_orig.tolist() == VALUES and isinstance(layer.weight_orig, nn.Parameter)
    assert layer.weight_mask.tolist() == [[1, 1, 1], [0, 1, 0]]
    assert prune.is_pruned(layer) and sorted(layer.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    layer(tl.ones(1, 3)).sum().backward()
    assert layer.weight_orig.grad.tolist() == [[1, 1, 1], [0, 1, 0]]


def test_scores_decide_instead():
    scores = tl.tensor([[9.0, 9, 0], [9, 9, 9]])
    layer = prune.l1_unstructured(layer_with(VALUES), "weight", amount=1, importance_scores=scores)
    assert layer.weight_mask.tolist() == [[1, 1, 0], [1, 1, 1]]
    with pytest.raises(AssertionError, match="same shape"):
        prune.l1_unstructured(layer_with(VALUES), "weight", amount=1, importance_scores=tl.ones(2))


@pytest.mark.parametrize(("amount", "gone"), [(0, 0), (0.5, 3), (6, 6), (1.0, 6)])
def test_random_elements(amount, gone):
    layer = prune.random_unstructured(layer_with(VALUES), "weight", amount)
    assert (np.array(layer.weight.tolist()) == 0).sum() == gone


def test_slices():
    layer = prune.random_structured(layer_with(VALUES), "weight", amount=1, dim=1)
    assert sorted(np.array(layer.weight_mask.tolist()).sum(0)) == [0, 2, 2]
    mask = prune.RandomStructured(2, dim=-1).compute_mask(tl.tensor(VALUES), tl.ones(2, 3))
    assert sorted(np.array(mask.tolist()).sum(0)) == [0, 0, 2]


def test_methods_are_combined():
    layer = layer_with(VALUES)
    prune.l1_unstructured(layer, "weight", amount=2)
    prune.l1_unstructured(layer, "weight", amount=1)
    assert layer.weight.tolist() == [[0.0, -2.0, 3.0], [0.0, 4.0, 0.0]]
    (hook,) = layer._forward_pre_hooks.values()
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 2
    assert isinstance(hook[1], prune.L1Unstructured)
    prune.custom_from_mask(layer, "weight", tl.tensor([[1, 0, 1], [1, 1, 1]]))
    assert layer.weight.tolist() == [[0.0, 0.0, 3.0], [0.0, 4.0, 0.0]]


def test_making_it_permanent():
    layer = prune.l1_unstructured(layer_with(VALUES), "weight", amount=2)
    weight = layer.weight_orig
    prune.remove(layer, "weight")
    assert layer.weight is weight and sorted(layer.state_dict()) == ["bias", "weight"]
    assert weight.tolist() == [[1.0, -2.0, 3.0], [0.0, 4.0, 0.0]] and not prune.is_pruned(layer)
    with pytest.raises(ValueError, match="has to be pruned before pruning can be removed"):
        prune.remove(layer, "weight")


def test_over_several_parameters():
    first, second = layer_with(VALUES), layer_with([[0.1, 5.0]])
    prune.global_unstructured([(first, "weight"), (second, "weight")], prune.L1Unstructured, amount=2)
    assert first.weight_mask.tolist() == [[1, 1, 1], [1, 1, 0]] and second.weight_mask.tolist() == [[0, 1]]
    with pytest.raises(TypeError, match='Only "unstructured"'):
        prune.global_unstructured([(first, "weight")], prune.RandomStructured, amount=1)
    with pytest.raises(TypeError, match="not an Iterable"):
        prune.global_unstructured(3, prune.L1Unstructured, amount=1)


def test_tensors_by_themselves():
    assert prune.L1Unstructured(1).prune(tl.tensor([3.0, -1.0])).tolist() == [3.0, 0.0]


@pytest.mark.parametrize(
    ("amount", "error", "message"),
    [
        ("all", TypeError, "Invalid type for amount"),
        (-1, ValueError, "non-negative integer"),
        (1.5, ValueError, r"float in the range \[0, 1\]"),
        (7, ValueError, "should be smaller than the number of parameters"),
    ],
)
def test_amount_faults(amount, error, message):
    layer = layer_with(VALUES)
    with pytest.raises(error, match=message):
        prune.l1_unstructured(layer, "weight", amount=amount)
    assert list(layer._parameters) == ["weight", "bias"] or set(layer._parameters) == {"weight", "bias"}
    assert not prune.is_pruned(layer)


def test_structured_faults():
    layer = layer_with(VALUES)
    with pytest.raises(ValueError, match="only be applied to multidimensional tensors"):
        prune.random_structured(layer, "bias", amount=1, dim=0)
    with pytest.raises(IndexError, match="Invalid index 3"):
        prune.random_structured(layer, "weight", amount=1, dim=3)


def test_identity():
    layer = prune.identity(layer_with(VALUES), "weight")
    assert layer.weight.tolist() == VALUES and layer.weight_mask.tolist() == [[1, 1, 1]] * 2
