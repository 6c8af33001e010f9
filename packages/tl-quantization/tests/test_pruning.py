"""Sparsifiers and their schedules."""

import copy

import pytest

import tl_core
import tl_nn as nn
from tl_quantization.pruning import (
    BaseSparsifier,
    CubicSL,
    FakeSparsity,
    LambdaSL,
    NearlyDiagonalSparsifier,
    WeightNormSparsifier,
    fqn_to_module,
    get_arg_info_from_tensor_fqn,
    module_to_fqn,
)


def build():
    model = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 6)))
    for i, p in enumerate(model.parameters()):
        p.data = ((tl_core.arange(p.numel()) * 37 + i * 5) % 101 - 50).reshape(p.shape).float() / 50
    return model


def zeros_of(sparsifier):
    """The zeros in each row of the first mask."""
    mask = next(iter(sparsifier.state.values()))["mask"]
    return (mask == 0).sum(1).tolist()


@pytest.mark.parametrize("shape", [(1, 4), (2, 2), (1, 1), (3, 5), (8, 12)])
@pytest.mark.parametrize("level", [0.0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("norm", [None, 1, tl_core.abs])
def test_blocks(shape, level, norm):
    model, sparsifier = build(), WeightNormSparsifier(level, shape, norm=norm)
    weight = model[0].weight.detach().clone()
    sparsifier.prepare(model, None)
    sparsifier.step()
    mask = sparsifier.state["0.weight"]["mask"]
    norms = weight.abs() if norm in (1, tl_core.abs) else weight * weight
    blocks = {}
    for i in range(8):
        for j in range(12):
            blocks.setdefault((i // shape[0], j // shape[1]), []).append(
                (float(norms[i, j]), float(mask[i, j]))
            )
    means = {key: sum(n for n, _ in entries) / len(entries) for key, entries in blocks.items()}
    values = {key: {m for _, m in entries} for key, entries in blocks.items()}
    assert all(len(value) == 1 for value in values.values())
    dropped = [means[key] for key, value in values.items() if value == {0.0}]
    retained = [means[key] for key, value in values.items() if value == {1.0}]
    count = max(0, min(len(blocks) - 1, round(level * len(blocks)))) if level else 0
    assert len(dropped) == count
    assert not dropped or max(dropped) <= min(retained) + 1e-6


def test_zeros_in_a_block():
    model, sparsifier = build(), WeightNormSparsifier(1.0, (1, 4), zeros_per_block=2)
    weight = model[0].weight.detach().clone()
    sparsifier.prepare(model, [{"tensor_fqn": "0.weight"}])
    sparsifier.step()
    blocks = sparsifier.state["0.weight"]["mask"].reshape(-1, 4)
    smallest = weight.abs().reshape(-1, 4).argsort(1)[:, :2]
    assert (blocks.gather(1, smallest) == 0).all() and (blocks.sum(1) == 2).all()
    # A level below 1 keeps the block of the largest norm whole.
    module = sparsifier.groups[0]["module"]
    weight = module.weight.detach()
    sparsifier.update_mask(module, "weight", 0.999, (1, 4), 2)
    is_full = module.parametrizations["weight"][0].mask.reshape(-1, 4).sum(1) == 4
    norms = weight.square().reshape(-1, 4).sum(1)
    assert is_full.sum() == 1 and norms[is_full] == norms.max()


def test_recorded_schedules():
    """The levels that PyTorch 2.13 computes."""
    sparsifier = WeightNormSparsifier(0.8)
    sparsifier.prepare(build(), None)
    schedule = CubicSL(sparsifier, init_sl=0.1, init_t=1, delta_t=2, total_t=3, initially_zero=True)
    levels = [schedule.get_last_sl()[0]]
    for _ in range(8):
        sparsifier.step()
        schedule.step()
        levels.append(schedule.get_last_sl()[0])
    recorded = [0, 0.1, 0.394907, 0.592593, 0.7125, 0.774074, 0.796759, 0.8, 0.8]
    assert levels == pytest.approx(recorded, abs=1e-6)
    sparsifier = WeightNormSparsifier(0.8)
    sparsifier.prepare(build(), None)
    schedule = LambdaSL(sparsifier, [lambda epoch: 0.9**epoch, lambda epoch: 1.0])
    sparsifier.step()
    schedule.step()
    assert schedule.get_last_sl() == pytest.approx([0.72, 0.8])


def test_nearly_diagonal():
    model, sparsifier = build(), NearlyDiagonalSparsifier(3)
    sparsifier.prepare(model, [{"tensor_fqn": "0.weight"}, {"tensor_fqn": "2.0.weight", "nearliness": 1}])
    sparsifier.step()
    assert zeros_of(sparsifier) == [10, 9, 9, 9, 9, 9, 9, 9]
    assert tl_core.equal(sparsifier.state["2.0.weight"]["mask"], tl_core.eye(6, 8))
    for nearliness, text in ((2, "odd"), (17, "dimensions")):
        sparsifier = NearlyDiagonalSparsifier(nearliness)
        sparsifier.prepare(build(), None)
        with pytest.raises(ValueError, match=text):
            sparsifier.step()


def test_squash():
    model, sparsifier = build(), WeightNormSparsifier(0.5)
    x = tl_core.rand(3, 12)
    sparsifier.prepare(model, None)
    assert "0.parametrizations.weight.original" in model.state_dict()
    assert not any("mask" in name for name in model.state_dict())
    sparsifier.step()
    result = model(x)
    sparsifier.squash_mask(params_to_keep=("sparse_block_shape",))
    assert model[0].sparse_params == {"sparse_block_shape": (1, 4)}
    assert tl_core.equal(model(x), result)
    assert float((model[0].weight == 0).float().mean()) == 0.5


def test_state():
    sparsifier, other = WeightNormSparsifier(0.5), WeightNormSparsifier(0.9)
    model = build()
    sparsifier.prepare(model, None)
    sparsifier.step()
    twin = build()
    other.prepare(twin, [{"tensor_fqn": "0.weight"}])
    other.load_state_dict(copy.deepcopy(sparsifier.state_dict()))
    x = tl_core.rand(3, 12)
    assert tl_core.equal(model(x), twin(x))
    assert [group["sparsity_level"] for group in other.groups] == [0.5, 0.5]
    assert "sparsity_level: 0.5" in repr(other)
    lost = WeightNormSparsifier()
    lost.prepare(nn.Sequential(nn.Linear(12, 8)), None)
    with pytest.raises(RuntimeError, match=r"2.0.weight"):
        lost.load_state_dict(sparsifier.state_dict())


class Dense(nn.Linear):
    @classmethod
    def from_dense(cls, module):
        result = cls(module.in_features, module.out_features)
        result.weight.data = module.weight.detach()
        return result


def test_convert():
    model, sparsifier = build(), WeightNormSparsifier(0.5)
    sparsifier.prepare(model, [{"tensor_fqn": "0.weight"}])
    sparsifier.step()
    result = sparsifier.convert(model, {nn.Linear: Dense})
    assert type(result[0]) is Dense
    assert type(result[2][0]) is nn.Linear
    with pytest.raises(NotImplementedError):
        sparsifier.convert(model)


def test_names():
    model = build()
    assert module_to_fqn(model, model[2][0]) == "2.0"
    assert module_to_fqn(model, nn.ReLU()) is None
    assert fqn_to_module(model, "2.0") is model[2][0]
    assert fqn_to_module(model, "9") is None
    assert get_arg_info_from_tensor_fqn(model, "2.0.weight")["module"] is model[2][0]


def test_errors():
    with pytest.raises(NotImplementedError, match="L-3"):
        WeightNormSparsifier(norm=3)
    for zeros in (5, -1):
        sparsifier = WeightNormSparsifier(zeros_per_block=zeros)
        sparsifier.prepare(build(), None)
        with pytest.raises(ValueError, match="zeros per block"):
            sparsifier.step()
    with pytest.raises(AssertionError, match="tensor_fqn"):
        WeightNormSparsifier().prepare(build(), [{"module": 3}])
    with pytest.raises(AssertionError, match="shape"):
        FakeSparsity(tl_core.ones(2))(tl_core.ones(3))
    with pytest.raises(TypeError, match="abstract"):
        BaseSparsifier()
    sparsifier = WeightNormSparsifier()
    sparsifier.prepare(build(), None)
    with pytest.raises(ValueError, match="length 2"):
        CubicSL(sparsifier, init_sl=[0.1])
