"""Tensors and modules by dotted names."""

import pytest

import tl_core as tl
import tl_nn as nn
from tl_nn.utils import _named_member_accessor as accessor
from tl_nn.utils._named_member_accessor import NamedMemberAccessor, set_tensor, swap_submodule, swap_tensor


@pytest.fixture
def model():
    return nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))


def test_a_swap_gives_back_what_was_there(model):
    layer, one = model[0], tl.ones(1, 1)
    weight = layer.weight
    assert swap_tensor(layer, "weight", one) is weight and layer.weight is one
    assert "weight" in layer._parameters
    assert swap_tensor(layer, "weight", weight) is one and layer.weight is weight
    mean = model[1].running_mean
    assert swap_tensor(model[1], "running_mean", one) is mean and model[1]._buffers["running_mean"] is one


def test_what_was_missing_goes_again(model):
    before = swap_tensor(model[0], "more", tl.ones(1), allow_missing=True)
    assert model[0].more.item() == 1 and "more" not in model[0]._parameters
    swap_tensor(model[0], "more", before, allow_missing=True)
    assert not hasattr(model[0], "more")


@pytest.mark.parametrize(
    "error, match, call",
    [
        (TypeError, "3 is not an instance of torch.nn.Module", lambda m: swap_tensor(3, "weight", tl.ones(1))),
        (TypeError, "3 is not an instance of torch.Tensor", lambda m: swap_tensor(m[0], "weight", 3)),
        (TypeError, "3 is not an instance of torch.Tensor", lambda m: set_tensor(m[0], "weight", 3)),
        (TypeError, "1 is not an instance of torch.Tensor", lambda m: swap_tensor(m[0], "in_features", tl.ones(1))),
        (AttributeError, "Linear has no attribute `nope`", lambda m: swap_tensor(m[0], "nope", tl.ones(1))),
        (KeyError, "empty string", lambda m: swap_tensor(m[0], "", tl.ones(1))),
        (KeyError, "contain", lambda m: set_tensor(m, "0.weight", tl.ones(1))),
        (KeyError, "submodule 9 does not exist", lambda m: swap_submodule(m, "9", nn.Identity())),
        (TypeError, "3 is not an instance of torch.nn.Module", lambda m: swap_submodule(m, "1", 3)),
        (AttributeError, "Linear has no attribute `0.nope`", lambda m: NamedMemberAccessor(m).get_tensor("0.nope")),
        (AttributeError, "Linear has no attribute `0.nope`", lambda m: NamedMemberAccessor(m).del_tensor("0.nope")),
        (AttributeError, "Sequential has no attribute `7`", lambda m: NamedMemberAccessor(m).get_tensor("7.weight")),
        (TypeError, "instance of torch.nn.Module", lambda m: NamedMemberAccessor(m).get_submodule("0.weight")),
        (ValueError, "1 names and 0 values", lambda m: NamedMemberAccessor(m).set_tensors(["0.weight"], [])),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(model, error, match, call):
    with pytest.raises(error, match=match):
        call(model)


def test_children_are_exchanged(model):
    named, old, new = NamedMemberAccessor(model), model[0], nn.Linear(1, 1)
    assert named.get_tensor("0.weight") is old.weight
    assert named.swap_submodule("0", new) is old and model[0] is new
    assert named.get_tensor("0.weight") is new.weight
    assert swap_submodule(model, "0", old) is new


def test_several_at_once(model):
    named = NamedMemberAccessor(model)
    names = ["0.weight", "1.running_mean"]
    before = named.swap_tensors(names, [tl.zeros(1, 1), tl.zeros(1)])
    assert [t.sum().item() for t in named.get_tensors(names)] == [0, 0]
    named.set_tensors(names, before)
    assert all(a is b for a, b in zip(named.get_tensors(names), before))
    named.set_tensors_dict({"0.bias": tl.full((1,), 7.0)})
    assert model[0].bias.item() == 7
    named.del_tensors(["0.bias"])
    assert "bias" not in model[0]._parameters


def test_a_dictionary_that_names_too_much_changes_nothing(model):
    named, weight = NamedMemberAccessor(model), model[1].weight
    source = {"1.weight": tl.zeros(1), "1.more": tl.ones(1)}
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): '1.more'."):
        named.swap_tensors_dict(source)
    assert model[1].weight is weight and not hasattr(model[1], "more")
    before, missing = named.swap_tensors_dict(source, allow_missing=True)
    assert (before["1.weight"], before["1.more"]) == (weight, accessor._MISSING) and missing == ["1.more"]
    named.swap_tensors_dict(before, allow_missing=True)
    assert model[1].weight is weight and not hasattr(model[1], "more")


def test_names(model):
    model.append(model[0])
    named = NamedMemberAccessor(model)
    keys = [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "1.running_mean",
        "1.running_var",
        "1.num_batches_tracked",
    ]
    assert [name for name, _ in named.named_tensors()] == keys
    assert named.check_keys([*keys, "x"]) == (["2.bias", "2.weight"], ["x"])
    assert [name for name, _ in named.named_modules(remove_duplicate=False)] == ["", "0", "1", "2"]
