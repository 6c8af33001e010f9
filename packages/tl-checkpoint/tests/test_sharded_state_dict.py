"""State dicts under the names of parameters, with the smallest model and optimizer that have the methods they need."""

from __future__ import annotations

from collections import defaultdict

import pytest

import tl_checkpoint.distributed as sharded
import tl_core as tl
from tl_checkpoint.distributed.state_dict import (
    StateDictOptions,
    _patch_model_state_dict,
    _patch_optimizer_state_dict,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)


class Parameter:
    """Stands for a parameter: a tensor with requires_grad and grad, without tl-autograd."""

    def __init__(self, value, requires_grad=True):
        self.value, self.requires_grad, self.grad = value, requires_grad, None
        self.shape = value.shape

    def detach(self):
        return self.value


class Model:
    def __init__(self, frozen=False):
        self.parts = {"one.w": Parameter(tl.ones(2)), "two.w": Parameter(tl.zeros(3), not frozen)}
        self.children = {"": self, "one": object(), "two": object()}

    def named_parameters(self):
        return self.parts.items()

    def named_modules(self):
        return self.children.items()

    def state_dict(self):
        return {name: part.value for name, part in self.parts.items()}

    def load_state_dict(self, state, strict=True):
        missing = [name for name in self.parts if name not in state]
        assert not (strict and missing), missing
        for name, value in state.items():
            self.parts[name].value.copy_(value)
        return missing


class Momentum:
    """An optimizer that numbers its parameters, as those of the reference do."""

    def __init__(self, *groups):
        self.param_groups = [{"lr": 0.1 * (k + 1), "params": list(group)} for k, group in enumerate(groups)]
        self.state = defaultdict(dict)

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    momentum = self.state[p].setdefault("momentum", tl.zeros_like(p.value))
                    momentum.mul_(0.9).add_(p.grad)
                    p.value.sub_(momentum * group["lr"])
                    self.state[p]["step"] = self.state[p].get("step", 0) + 1

    def zero_grad(self, set_to_none=True):
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None

    def state_dict(self):
        raise AssertionError("its parameters are numbered")

    def load_state_dict(self, state):
        parameters = [p for group in self.param_groups for p in group["params"]]
        for number, entry in state["state"].items():
            self.state[parameters[number]] = dict(entry)
        for group, saved in zip(self.param_groups, state["param_groups"], strict=True):
            group.update({key: value for key, value in saved.items() if key != "params"})


def trained(order=("one.w", "two.w"), split=True):
    model = Model()
    parts = [model.parts[name] for name in order]
    optimizer = Momentum(parts[:1], parts[1:]) if split else Momentum(parts)
    for k, part in enumerate(model.parts.values()):
        part.grad = tl.full(part.shape, k + 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return model, optimizer


def test_states_have_names():
    model, optimizer = trained()
    state, optim = get_state_dict(model, optimizer)
    assert list(state) == ["one.w", "two.w"] and set(optim["state"]) == {"one.w", "two.w"}
    assert [group["params"] for group in optim["param_groups"]] == [["one.w"], ["two.w"]]
    assert optim["state"]["two.w"]["momentum"].tolist() == [2, 2, 2] and optim["param_groups"][1]["lr"] == 0.2


def test_a_state_is_made_first():
    model = Model()
    optimizer = Momentum(model.parts.values())
    before = {name: value.tolist() for name, value in model.state_dict().items()}
    optim = get_optimizer_state_dict(model, optimizer)
    assert optim["state"]["one.w"]["momentum"].tolist() == [0, 0] and optim["param_groups"][0]["lr"] == 0.1
    assert {name: value.tolist() for name, value in model.state_dict().items()} == before
    assert all(part.grad is None for part in model.parts.values())


@pytest.mark.parametrize("flat", [False, True])
def test_through_a_checkpoint_into_an_optimizer_of_another_order(tmp_path, flat):
    options = StateDictOptions(flatten_optimizer_state_dict=flat)
    states = get_state_dict(*trained(), options=options)
    sharded.save({"model": states[0], "optim": states[1]}, checkpoint_id=tmp_path)
    model = Model()
    optimizer = Momentum([model.parts["two.w"]], [model.parts["one.w"]])
    state, optim = get_state_dict(model, optimizer, options=options)
    if not flat:
        optim["param_groups"].reverse()  # places in lists count
    into = {"model": state, "optim": optim}
    sharded.load(into, checkpoint_id=tmp_path)
    set_state_dict(
        model, optimizer, model_state_dict=into["model"], optim_state_dict=into["optim"], options=options
    )
    assert optimizer.state[model.parts["two.w"]]["momentum"].tolist() == [2, 2, 2]
    assert optimizer.state[model.parts["one.w"]]["step"] == 1
    assert [group["lr"] for group in optimizer.param_groups] == [0.2, 0.1]
    assert model.parts["one.w"].value.tolist() == trained()[0].parts["one.w"].value.tolist()


def test_several_optimizers():
    model = Model()
    optimizers = [Momentum([part]) for part in model.parts.values()]
    optim = get_optimizer_state_dict(model, optimizers)
    assert [group["params"] for group in optim["param_groups"]] == [["one.w"], ["two.w"]]
    optim["state"]["two.w"]["step"] = 9
    set_optimizer_state_dict(model, optimizers, optim)
    assert [o.state[p]["step"] for o, p in zip(optimizers, model.parts.values(), strict=True)] == [1, 9]


def test_objects_whose_methods_are_replaced_have_named_states(tmp_path):
    """A checkpoint then takes the objects themselves, and each optimizer has the state of all of them."""
    options = StateDictOptions(flatten_optimizer_state_dict=True)

    def patched(model, optimizers):
        _patch_model_state_dict(model, options=options)
        _patch_optimizer_state_dict(model, optimizers=optimizers, options=options)
        return {"model": model, "optim": optimizers[0]}

    model, optimizer = trained()
    objects = patched(model, (optimizer,))
    patched(model, (optimizer,))  # which changes nothing
    assert list(model.state_dict()) == ["one.w", "two.w"]
    assert optimizer.state_dict()["state.two.w.momentum"].tolist() == [2, 2, 2]
    sharded.save(objects, checkpoint_id=tmp_path)
    other = Model()
    optimizers = [Momentum([other.parts["two.w"]]), Momentum([other.parts["one.w"]])]
    sharded.load(patched(other, optimizers), checkpoint_id=tmp_path)
    assert optimizers[0].state[other.parts["two.w"]]["momentum"].tolist() == [2, 2, 2]
    assert optimizers[1].state[other.parts["one.w"]]["momentum"].tolist() == [1, 1]
    assert other.parts["two.w"].value.tolist() == model.parts["two.w"].value.tolist()


def test_an_empty_state_of_a_model_changes_nothing():
    """A program that restores only its optimizers passes one, as PyTorch allows."""
    model, optimizer = trained()
    optim = get_optimizer_state_dict(model, optimizer)
    optim["param_groups"][0]["lr"] = 0.5
    before = {name: value.tolist() for name, value in model.state_dict().items()}
    keys = set_state_dict(model, optimizer, model_state_dict={}, optim_state_dict=optim)
    assert not keys.missing_keys and not keys.unexpected_keys and optimizer.param_groups[0]["lr"] == 0.5
    assert {name: value.tolist() for name, value in model.state_dict().items()} == before


def test_parts_of_a_model():
    model, optimizer = trained()
    assert list(get_model_state_dict(model, submodules={model.children["two"]})) == ["two.w"]
    short = StateDictOptions(keep_submodule_prefixes=False)
    assert list(get_model_state_dict(model, submodules={model.children["two"]}, options=short)) == ["w"]
    only = get_optimizer_state_dict(model, optimizer, submodules={model.children["two"]})
    assert list(only["state"]) == ["two.w"] and [g["params"] for g in only["param_groups"]] == [[], ["two.w"]]
    set_model_state_dict(
        model, {model.children["one"]: {"w": tl.full((2,), 7.0)}}, options=StateDictOptions(strict=False)
    )
    assert model.parts["one.w"].value.tolist() == [7, 7]


def test_frozen_parameters_are_left_out():
    model, options = Model(frozen=True), StateDictOptions(ignore_frozen_params=True)
    assert list(get_model_state_dict(model, options=options)) == ["one.w"]
    set_model_state_dict(model, {"one.w": tl.full((2,), 5.0)}, options=options)
    assert model.parts["one.w"].value.tolist() == [5, 5] and model.parts["two.w"].value.tolist() == [0, 0, 0]
    copied = get_model_state_dict(model, options=StateDictOptions(cpu_offload=True))
    assert copied["one.w"].tolist() == [5, 5]


def test_what_does_not_fit():
    model, optimizer = trained()
    optim = get_optimizer_state_dict(model, optimizer)
    with pytest.raises(ValueError, match="different number of parameter groups: 1, the optimizers have 2"):
        set_optimizer_state_dict(model, optimizer, {**optim, "param_groups": optim["param_groups"][:1]})
    state = {name: entry for name, entry in optim["state"].items() if name != "two.w"}
    with pytest.raises(RuntimeError, match=r"has no state of the parameter 'two\.w'"):
        set_optimizer_state_dict(model, optimizer, {**optim, "state": state})
    set_optimizer_state_dict(
        model, optimizer, {**optim, "state": state}, options=StateDictOptions(strict=False)
    )
    renamed = [{**group, "params": ["x"]} for group in optim["param_groups"]]
    with pytest.raises(ValueError, match=r"no parameter group with one\.w"):
        set_optimizer_state_dict(model, optimizer, {**optim, "param_groups": renamed})
    with pytest.raises(RuntimeError, match=r"a parameter of \(2,\) that isn't among the model's"):
        get_optimizer_state_dict(model, Momentum([Parameter(tl.ones(2))]))
    with pytest.raises(ValueError, match="full_state_dict must be True"):
        StateDictOptions(broadcast_from_rank0=True)
    with pytest.raises(NotImplementedError, match="tl-distributed"):
        sharded.load_sharded_optimizer_state_dict({}, "optim", sharded.FileSystemReader("x"))
