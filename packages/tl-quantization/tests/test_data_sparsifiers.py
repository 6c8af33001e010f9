"""Sparsifiers of tensors and of the inputs of layers, and the schedule of their arguments."""

import copy
import pickle

import pytest

import tl_core
import tl_nn as nn
from tl_quantization.pruning.activation_sparsifier import ActivationSparsifier
from tl_quantization.pruning.data_scheduler import BaseDataScheduler
from tl_quantization.pruning.data_sparsifier import BaseDataSparsifier, DataNormSparsifier
from tl_quantization.pruning.data_sparsifier.quantization_utils import post_training_sparse_quantize


def matrix(rows, columns):
    return (tl_core.arange(1.0, rows * columns + 1) * 1.7).sin().reshape(rows, columns)


def rows(sparsifier, name):
    return sparsifier.get_data(name, return_original=False).tolist()


@pytest.mark.parametrize("norm", ["L1", "L2"])
@pytest.mark.parametrize("shape", [(1, 4), (2, 2), (3, 5)])
@pytest.mark.parametrize("level", [-0.5, 0.0, 0.4, 1.0, 1.5])
def test_blocks(shape, level, norm):
    data = matrix(6, 8)
    sparsifier = DataNormSparsifier([("a", data)], level, shape, norm=norm)
    sparsifier.step()
    keep = sparsifier.get_mask("a") == 1
    sums = {}
    for i in range(0, 6, shape[0]):
        for j in range(0, 8, shape[1]):
            part = data[i : i + shape[0], j : j + shape[1]]
            block = keep[i : i + shape[0], j : j + shape[1]]
            assert block.all() == block.any()
            sums[float((part.abs() if norm == "L1" else part**2).mean())] = bool(block.any())
    count = round(min(max(level, 0), 1) * len(sums))
    assert [sums[k] for k in sorted(sums)] == [False] * count + [True] * (len(sums) - count)
    assert tl_core.equal(sparsifier.get_data("a", return_original=False), data * keep)
    assert sparsifier.get_data("a") is data


def test_zeros_in_blocks():
    data = tl_core.tensor([[1.0, -4.0, 2.0, 3.0], [8.0, 5.0, 7.0, -6.0]])
    sparsifier = DataNormSparsifier([("a", data)], 1.0, (1, 4), 3)
    sparsifier.step()
    assert rows(sparsifier, "a") == [[0, -4, 0, 0], [8, 0, 0, 0]]
    sparsifier = DataNormSparsifier([("a", data)], 0.5, (1, 4), 2)
    sparsifier.step()
    assert rows(sparsifier, "a") == [[0, -4, 0, 3], [8, 5, 7, -6]]
    sparsifier = DataNormSparsifier([("a", data)], 1.0, (1, 4), 0)
    sparsifier.step()
    assert rows(sparsifier, "a") == data.tolist()


def test_shapes():
    data = [
        ("row", tl_core.arange(1.0, 9.0)),
        ("deep", matrix(2, 4).reshape(1, 2, 1, 4)),
        ("one", tl_core.ones(())),
    ]
    sparsifier = DataNormSparsifier(data, 0.5)
    sparsifier.step()
    assert rows(sparsifier, "row") == [0, 0, 0, 0, 5, 6, 7, 8]
    assert sparsifier.get_mask("deep").shape == (1, 2, 1, 4)
    sparsifier.add_data("cube", tl_core.ones(2, 2, 2))
    with pytest.raises(ValueError, match="at most 2 dimensions longer than 1, but cube has"):
        sparsifier.step()


def test_life():
    layer = nn.Embedding(4, 4)
    sparsifier = DataNormSparsifier([("w", layer), ("p", nn.Parameter(matrix(4, 4)))], 0.25, (1, 4))
    assert "name: w" in repr(sparsifier) and "sparsity_level: 0.25" in repr(sparsifier)
    sparsifier.step()
    layer.weight.data.add_(1)  # the memory is shared
    assert tl_core.equal(sparsifier.get_data("w"), layer.weight)
    mask = sparsifier.get_mask("w").clone()
    with pytest.warns(UserWarning, match="Replacing existing data"):
        sparsifier.add_data("w", tl_core.ones(4, 4), sparsity_level=0.75)
    assert (
        tl_core.equal(sparsifier.get_mask("w"), mask)
        and sparsifier.data_groups["w"]["sparsity_level"] == 0.75
    )
    with (
        pytest.warns(UserWarning, match="Replacing existing data"),
        pytest.raises(AssertionError, match=r"shape \(4, 4\).*got \(5, 4\)"),
    ):
        sparsifier.add_data("w", tl_core.ones(5, 4))
    with pytest.warns(UserWarning, match="Replacing existing data"):
        sparsifier.add_data("w", tl_core.ones(5, 4), reuse_mask=False)
    assert sparsifier.get_mask("w").shape == (5, 4)
    sparsifier.enable_mask_update = False
    sparsifier.step()
    assert sparsifier.get_mask("w").all()
    sparsifier.squash_mask(names=["p"])
    assert (sparsifier.get_data("p", return_original=False) == 0).sum() == 4
    with pytest.raises(ValueError, match="original does not exist"):
        sparsifier.get_data("p")


@pytest.mark.parametrize("is_squashed", [False, True])
def test_state(is_squashed):
    one = DataNormSparsifier([("a", matrix(4, 4)), ("b", matrix(2, 8))], 0.5)
    one.step()
    if is_squashed:
        one.squash_mask(names=["b"])
    state = one.state_dict()
    assert state["state"]["a"]["mask"].is_sparse
    two = DataNormSparsifier([("a", matrix(4, 4) + 1), ("c", matrix(1, 4))], 0.25)
    two.load_state_dict(state)
    copies = (two, pickle.loads(pickle.dumps(one)), copy.deepcopy(one))
    for other in copies:
        assert sorted(other.state) == ["a", "b"] and other.data_groups == one.data_groups
        for name in "ab":
            assert tl_core.equal(other.get_mask(name), one.get_mask(name))
            assert rows(other, name) == rows(one, name)
    three = DataNormSparsifier([("a", matrix(4, 4) + 1), ("c", matrix(1, 4))], 0.25)
    three.load_state_dict(state, strict=False)
    assert sorted(three.state) == ["a", "b", "c"] and three.data_groups["a"]["sparsity_level"] == 0.25
    assert tl_core.equal(three.get_data("a"), matrix(4, 4) + 1) and rows(three, "b") == rows(one, "b")
    del state["_container"]["b" if is_squashed else "parametrizations.b.original"]
    with pytest.raises(RuntimeError, match="Error loading b"):
        two.load_state_dict(state)


class Half(BaseDataScheduler):
    def get_schedule_param(self):
        groups = self.data_sparsifier.data_groups
        if self.last_epoch == 0:
            return {name: group[self.schedule_param] for name, group in groups.items()}
        return {name: group[self.schedule_param] * 0.5 for name, group in groups.items()}


def test_schedule(capsys):
    sparsifier = DataNormSparsifier([("a", matrix(4, 4))], 0.5)
    schedule = Half(sparsifier, "sparsity_level", verbose=True)
    assert schedule.get_last_param() == {"a": 0.5} and "sparsity_level: {'a': 0.5}" in repr(schedule)
    sparsifier.step()
    schedule.step()
    assert sparsifier.data_groups["a"]["sparsity_level"] == 0.25 and schedule.last_epoch == 1
    assert "Adjusting sparsity_level for group a to 0.25" in capsys.readouterr().out
    other = Half(sparsifier, "sparsity_level")
    other.load_state_dict(schedule.state_dict())
    assert other.last_epoch == 1 and "data_sparsifier" not in schedule.state_dict()
    with pytest.warns(UserWarning, match="BEFORE"):
        Half(DataNormSparsifier([("a", matrix(4, 4))]), "sparsity_level").step()
    schedule = Half(sparsifier, "sparsity_level")
    sparsifier.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden"):
        schedule.step()
    with pytest.raises(TypeError, match="int is not an instance"):
        Half(3, "sparsity_level")
    with pytest.raises(NotImplementedError, match="BaseDataScheduler has no get_schedule_param"):
        BaseDataScheduler(sparsifier, "sparsity_level")


@pytest.mark.parametrize("sparsify_first", [True, False])
@pytest.mark.parametrize("is_selected", [True, False])
def test_embeddings_of_integers(sparsify_first, is_selected):
    model = nn.Sequential(nn.EmbeddingBag(8, 4), nn.Sequential(nn.Embedding(6, 4)))
    model[0].weight.data, model[1][0].weight.data = matrix(8, 4), matrix(6, 4)
    selection = [model[1][0]] if is_selected else None
    post_training_sparse_quantize(
        model, DataNormSparsifier, sparsify_first, selection, sparsity_level=0.5, sparse_block_shape=(1, 4)
    )
    inner = model[1][0].weight()
    assert inner.dtype == tl_core.quint8 and isinstance(model[0], nn.EmbeddingBag) == is_selected
    zero_rows = (inner.dequantize().abs() < 1e-2).all(1)
    smallest = matrix(6, 4).abs().sum(1).argsort()[:3]
    assert zero_rows[smallest].all() and zero_rows.sum() == 3


def test_inputs_of_layers():
    model = nn.Sequential(nn.Identity(), nn.Identity())
    sparsifier = ActivationSparsifier(
        model, tl_core.add, lambda total: total.mean(0), lambda mean, least: (mean > least).float(), least=2.5
    )
    sparsifier.register_layer(model[0])
    sparsifier.register_layer(model[1], features=[0, 2], feature_dim=1, least=3.5)
    with pytest.raises(ValueError, match="shape of the mask of '0' is unknown"):
        sparsifier.get_mask("0")
    x = tl_core.tensor([[1.0, 2.0, 3.0], [1.0, 0.0, 1.0]])
    model(x)
    model(x + 1)
    assert sparsifier.data_groups["0"]["data"].tolist() == [[3, 5, 7], [3, 1, 3]]
    state = sparsifier.state_dict()
    assert state["state"]["0"]["mask"].is_sparse and "hook" not in state["data_groups"]["0"]
    sparsifier.step()
    assert sparsifier.get_mask(layer=model[0]).tolist() == [1, 1, 1]  # means 3, 3, 5
    assert [m.tolist() for m in sparsifier.get_mask("1")] == [[0], [1]]
    sparsifier.squash_mask()
    y = x.clone()
    assert model(y).tolist() == [[0, 2, 3], [0, 0, 1]] and tl_core.equal(x, y)
    other = ActivationSparsifier(nn.Sequential(nn.Identity(), nn.Identity()))
    other.load_state_dict(sparsifier.state_dict())
    assert other.model(x).tolist() == [[0, 2, 3], [0, 0, 1]]
    assert "name: 1" in repr(other) and "mask_fn" not in repr(other)
    other.load_state_dict(state)  # collects again
    assert tl_core.equal(other.model(x), x) and len(other.model[0]._forward_pre_hooks) == 1
    sparsifier.unregister_layer("1")
    assert not model[1]._forward_pre_hooks and sorted(sparsifier.state) == ["0"]


def test_end_without_masks():
    model = nn.Sequential(nn.Identity())
    sparsifier = ActivationSparsifier(model, tl_core.add, tl_core.abs, tl_core.zeros_like)
    sparsifier.register_layer(model[0])
    model(tl_core.ones(2))
    sparsifier.step()
    sparsifier.squash_mask(attach_sparsify_hook=False)
    other = ActivationSparsifier(nn.Sequential(nn.Identity()))
    other.load_state_dict(sparsifier.state_dict())
    for m in (model, other.model):
        assert m(tl_core.ones(2)).tolist() == [1, 1] and not m[0]._forward_pre_hooks


def test_errors():
    with pytest.raises(TypeError, match="update_mask"):
        BaseDataSparsifier()
    sparsifier = DataNormSparsifier(zeros_per_block=5)
    with pytest.raises(NotImplementedError, match="add_data"):
        sparsifier.prepare(nn.Linear(1, 1), None)
    with pytest.raises(AssertionError, match=r"data must be one of .*, but got Linear"):
        sparsifier.add_data("a", nn.Linear(2, 2))
    with pytest.raises(ValueError, match="'a' does not exist"):
        sparsifier.get_data("a")
    with pytest.raises(ValueError, match="'a' does not exist"):
        sparsifier.get_mask("a")
    sparsifier.add_data("a", tl_core.ones(2, 2))
    with pytest.raises(ValueError, match="from 0 to the 4 elements of a block, but got 5"):
        sparsifier.step()
    with pytest.raises(AssertionError, match="norm must be 'L1' or 'L2', but got 'L3'"):
        DataNormSparsifier(norm="L3")
    model = nn.Sequential(nn.Embedding(2, 2))
    for selection, text in ((model[0], "list of embedding modules"), ([nn.Embedding(2, 2)], "of the model")):
        with pytest.raises(AssertionError, match=text):
            post_training_sparse_quantize(model, DataNormSparsifier, True, selection)
    sparsifier = ActivationSparsifier(model, tl_core.add, tl_core.abs, tl_core.abs)
    for call, text in (
        (lambda: sparsifier.register_layer(nn.Identity()), "module of the model"),
        (lambda: sparsifier.register_layer(model[0], features=[0]), "feature_dim must be an int"),
        (
            lambda: ActivationSparsifier(model).register_layer(model[0]),
            "aggregate_fn must be callable, but got None",
        ),
        (lambda: sparsifier.get_mask(), "got neither"),
        (lambda: sparsifier.get_mask(layer=nn.Identity()), "module of the model"),
    ):
        with pytest.raises(AssertionError, match=text):
            call()
    with pytest.raises(ValueError, match="'x' isn't registered"):
        sparsifier.get_mask("x")
    sparsifier.register_layer(model[0])
    with pytest.warns(UserWarning, match="already attached"):
        sparsifier.register_layer(model[0])
    with pytest.raises(AssertionError, match="layer 0 not found"):
        ActivationSparsifier(nn.Identity()).load_state_dict(sparsifier.state_dict())
