"""Saving state to a dictionary and loading it back."""

from collections import OrderedDict

import pytest

import tl_core as tl
import tl_nn as nn


class Counted(nn.Linear):
    """A layer with extra state."""

    def __init__(self):
        super().__init__(1, 1)
        self.count = 0

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]


def model():
    inner = nn.Module()
    inner.register_buffer("mean", tl.zeros(2))
    inner.register_buffer("scratch", tl.zeros(2), persistent=False)
    inner.register_parameter("absent", None)
    return nn.Sequential(OrderedDict(first=nn.Linear(2, 2), second=inner))


def test_names_and_sharing():
    net = model()
    state = net.state_dict()
    assert isinstance(state, OrderedDict)
    assert list(state) == ["first.weight", "first.bias", "second.mean"]
    assert not state["first.weight"].requires_grad
    assert state["first.weight"].data_ptr() == net.first.weight.data_ptr()
    assert net.state_dict(keep_vars=True)["first.weight"] is net.first.weight
    assert next(iter(net.state_dict(prefix="net."))) == "net.first.weight"
    assert list(state._metadata) == ["", "first", "second"]
    assert state._metadata["first"] == {"version": 1}


def test_destination_is_filled():
    destination = OrderedDict(old=1)
    assert nn.Linear(1, 1).state_dict(destination=destination) is destination
    assert list(destination) == ["old", "weight", "bias"]


def test_positional_arguments_warn():
    destination = OrderedDict()
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert nn.Linear(1, 1).state_dict(destination, "a.") is destination
    assert list(destination) == ["a.weight", "a.bias"]


def test_round_trip():
    source, target = model(), model()
    source.second.mean.fill_(3.0)
    result = target.load_state_dict(source.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert result.missing_keys == [] and result.unexpected_keys == []
    assert target.first.weight.tolist() == source.first.weight.tolist()
    assert target.second.mean.tolist() == [3.0, 3.0]
    assert target.first.weight.data_ptr() != source.first.weight.data_ptr()


def test_every_fault_is_reported():
    state = {
        "first.weight": tl.zeros(3, 2),
        "second.mean": 3,
        "third.weight": tl.zeros(1),
        "second.absent": tl.zeros(1),
    }
    with pytest.raises(RuntimeError) as caught:
        model().load_state_dict(state)
    text = str(caught.value)
    assert "Error(s) in loading state_dict for Sequential:" in text
    assert "size mismatch for first.weight: copying a param with shape torch.Size([3, 2])" in text
    assert "the shape in current model is torch.Size([2, 2])" in text
    assert 'Missing key(s) in state_dict: "first.bias". ' in text
    assert 'Unexpected key(s) in state_dict: "third.weight", "second.absent". ' in text
    assert "expected torch.Tensor or Tensor-like object from checkpoint but received <class 'int'>" in text


def test_not_strict_gives_the_differences():
    result = model().load_state_dict({"first.weight": tl.zeros(2, 2), "x": tl.zeros(1)}, strict=False)
    assert result.missing_keys == ["first.bias", "second.mean"]
    assert result.unexpected_keys == ["x"]
    assert "_IncompatibleKeys(missing_keys=['first.bias'" in repr(result)
    assert tuple(result) == (result.missing_keys, result.unexpected_keys)


def test_not_strict_still_refuses_shapes():
    with pytest.raises(RuntimeError, match="size mismatch"):
        nn.Linear(2, 2).load_state_dict({"weight": tl.zeros(3, 3)}, strict=False)


def test_not_a_mapping():
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'list'>"):
        model().load_state_dict([])


def test_scalars_saved_as_vectors_load():
    module = nn.Module()
    module.register_buffer("count", tl.tensor(0.0))
    module.load_state_dict({"count": tl.tensor([4.0])})
    assert module.count.item() == 4.0


def test_assign_takes_the_tensors_themselves():
    layer = nn.Linear(2, 2, device="meta").requires_grad_(False)
    weight, bias = tl.ones(2, 2, dtype=tl.float64), nn.Parameter(tl.zeros(2))
    layer.load_state_dict({"weight": weight, "bias": bias}, assign=True)
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.dtype == tl.float64
    assert layer.weight.data_ptr() == weight.data_ptr()
    assert layer.bias is bias
    assert not layer.weight.requires_grad and not bias.requires_grad


def test_assign_leaves_the_metadata_alone():
    state = nn.Linear(1, 1).state_dict()
    nn.Linear(1, 1).load_state_dict(state, assign=True)
    assert state._metadata[""] == {"version": 1}


def test_copying_to_meta_warns():
    with pytest.warns(UserWarning, match="copying from a non-meta parameter"):
        nn.Linear(1, 1, device="meta").load_state_dict(nn.Linear(1, 1).state_dict())


def test_extra_state():
    source, target = nn.Sequential(Counted()), nn.Sequential(Counted())
    source[0].count = 5
    state = source.state_dict()
    assert state["0._extra_state"] == {"count": 5}
    target.load_state_dict(state)
    assert target[0].count == 5
    del state["0._extra_state"]
    with pytest.raises(RuntimeError, match=r'Missing key.*"0._extra_state"'):
        target.load_state_dict(state)
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"_extra_state"'):
        nn.Linear(1, 1).load_state_dict(Counted().state_dict())
    with pytest.raises(RuntimeError, match="doesn't override get_extra_state"):
        nn.Linear(1, 1).get_extra_state()


def test_hooks_on_saving():
    layer = nn.Linear(1, 1)
    records = []
    layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: records.append((prefix, keep_vars)))
    layer.register_state_dict_post_hook(
        lambda module, state, prefix, metadata: state.pop(prefix + "bias") and None
    )
    assert list(nn.Sequential(layer).state_dict(keep_vars=True)) == ["0.weight"]
    assert records == [("0.", True)]


def test_post_hook_must_return_none():
    layer = nn.Linear(1, 1)
    layer.register_state_dict_post_hook(lambda *args: 3)
    with pytest.raises(RuntimeError, match="post-hook must return None"):
        layer.state_dict()


def test_private_hook_may_exchange_the_dictionary():
    layer = nn.Linear(1, 1)
    layer._register_state_dict_hook(lambda module, state, prefix, metadata: {"other": 1})
    assert layer.state_dict() == {"other": 1}


def test_hooks_on_loading():
    layer = nn.Linear(1, 1)

    def rename(module, state, prefix, metadata, strict, missing, unexpected, errors):
        assert module is layer
        state[prefix + "weight"] = state.pop(prefix + "kernel")

    def forgive(module, incompatible):
        incompatible.missing_keys.remove("0.bias")

    layer.register_load_state_dict_pre_hook(rename)
    layer.register_load_state_dict_post_hook(forgive)
    source = {"0.kernel": tl.full((1, 1), 4.0)}
    assert nn.Sequential(layer).load_state_dict(source).missing_keys == []
    assert layer.weight.item() == 4.0
    assert list(source) == ["0.kernel"]


def test_private_pre_hook_has_no_module():
    layer = nn.Linear(1, 1, bias=False)
    records = []
    handle = layer._register_load_state_dict_pre_hook(lambda *args: records.append(args))
    layer.load_state_dict(layer.state_dict())
    handle.remove()
    layer.load_state_dict(layer.state_dict())
    (arguments,) = records
    assert len(arguments) == 7


def test_post_hook_on_loading_must_return_none():
    layer = nn.Linear(1, 1)
    layer.register_load_state_dict_post_hook(lambda module, keys: keys)
    with pytest.raises(AssertionError, match="not expected to return"):
        layer.load_state_dict(layer.state_dict())


def test_overridden_loading():
    class Renamed(nn.Linear):
        _version = 2

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
            if local_metadata.get("version", 1) < 2:
                state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    old = OrderedDict({"w": tl.full((1, 1), 2.0), "bias": tl.zeros(1)})
    old._metadata = {"": {"version": 1}}
    layer = Renamed(1, 1)
    layer.load_state_dict(old)
    assert layer.weight.item() == 2.0
    assert layer.state_dict()._metadata[""] == {"version": 2}


def test_consume_prefix():
    state = nn.Sequential(nn.Linear(1, 1)).state_dict(prefix="module.")
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["0.weight", "0.bias"]
    assert list(state._metadata) == ["", "0"]
    nn.Sequential(nn.Linear(1, 1)).load_state_dict(state)


def hint(module, state):
    with pytest.raises(RuntimeError) as caught:
        module.load_state_dict(state)
    return [line.strip() for line in str(caught.value).splitlines()][-2:]


def test_an_error_tells_what_was_loaded_and_what_was_meant():
    target = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1))
    good = target.state_dict()
    behind = {f"module.{name}": value for name, value in good.items()}
    assert hint(target, behind) == [
        "Loaded 0 of 4 name(s).",
        'Hint: the names in state_dict have "module." in front; remove it from each.',
    ]
    outer = nn.ModuleDict({"net": target})
    assert hint(outer, good)[1] == 'Hint: the names in state_dict lack "net." in front; add it to each.'
    renamed = {name.replace("0.weight", "0.wieght"): value for name, value in good.items()}
    assert hint(target, renamed) == [
        "Loaded 3 of 4 name(s).",
        'Hint: nearest names: "0.weight" ~ "0.wieght".',
    ]
    unlike = {"x": good["0.weight"], **{name: value for name, value in good.items() if name != "0.weight"}}
    assert hint(target, unlike)[1] == "Loaded 3 of 4 name(s)."
    wrong = {**good, "0.weight": tl.ones(3, 3), "1.bais": good["1.bias"]}
    lines = hint(target, wrong)
    assert lines[0].startswith("Unexpected key") and lines[1] == "Loaded 3 of 4 name(s)."
