"""What several packages bring to files: whole modules, and quantized tensors."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import tl
from tl.ao.nn import quantized
from tl_checkpoint.quantized import tensor as rebuilt

DATA = Path(__file__).parents[2] / "tl-checkpoint" / "tests" / "data"


def test_whole_modules_and_optimizers(tmp_path):
    model = tl.nn.Sequential(tl.nn.Linear(3, 2), tl.nn.BatchNorm1d(2), tl.nn.ReLU())
    optimizer = tl.optim.Adam(model.parameters(), lr=0.25)
    model(tl.rand(4, 3)).sum().backward()
    optimizer.step()
    tl.save((model.eval(), optimizer), tmp_path / "all.pt")
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.nn\.modules\.container\.Sequential"):
        tl.load(tmp_path / "all.pt")
    again, stepper = tl.load(tmp_path / "all.pt", weights_only=False)
    x = tl.rand(5, 3)
    assert tl.equal(again(x), model(x)) and stepper.param_groups[0]["lr"] == 0.25
    assert stepper.param_groups[0]["params"][0] is again[0].weight
    assert tl.equal(stepper.state[again[0].weight]["exp_avg"], optimizer.state[model[0].weight]["exp_avg"])


@pytest.mark.parametrize("weights_only", [True, False])
def test_quantized_tensors_of_the_reference(weights_only):
    state = tl.load(DATA / "quantized.pt", weights_only=weights_only)
    assert state["whole"].int_repr().tolist() == [[3, 4, 5], [6, 7, 8]]
    assert state["whole"].dequantize().tolist() == [[0, 0.5, 1], [1.5, 2, 2.5]]
    assert state["row"].dequantize().tolist() == [1.5, 2, 2.5]
    assert state["row"].data_ptr() == state["whole"].data_ptr() + 3
    assert state["signed"].int_repr().tolist() == [[0, -2, -4], [-6, -8, -10]]
    assert state["wide"].int_repr().tolist() == [[7, 407, 807], [1207, 1607, 2007]]
    assert state["channels"].int_repr().tolist() == [[0, 1, 2], [16, 18, 20]]
    assert state["channels"].q_per_channel_zero_points().tolist() == [0, 10]
    assert state["floating"].qscheme() is tl.per_channel_affine_float_qparams
    assert state["type"] is tl.qint8 and state["scheme"] is tl.per_channel_symmetric


def test_quantized_tensors_there_and_back(tmp_path):
    state = tl.load(DATA / "quantized.pt")
    tl.save({**state, "plain": tl.ones(2)}, tmp_path / "state.pt")
    again = tl.load(tmp_path / "state.pt")
    assert again["row"].data_ptr() == again["whole"].data_ptr() + 3 and again["plain"].tolist() == [1, 1]
    for name in ("whole", "row", "signed", "wide", "channels", "floating"):
        assert again[name].dtype is state[name].dtype and again[name].qscheme() is state[name].qscheme()
        assert tl.equal(again[name].int_repr(), state[name].int_repr())
        assert tl.equal(again[name].dequantize(), state[name].dequantize())
    globals_ = tl.serialization.get_unsafe_globals_in_checkpoint(tmp_path / "state.pt")
    assert not globals_


def test_the_state_of_a_quantized_layer(tmp_path):
    layer = quantized.Linear(3, 2)
    layer.set_weight_bias(tl.quantize_per_tensor(tl.rand(2, 3), 0.1, 0, tl.qint8), tl.rand(2))
    tl.save(layer.state_dict(), tmp_path / "state.pt")
    other = quantized.Linear(3, 2)
    other.load_state_dict(tl.load(tmp_path / "state.pt"))
    assert tl.equal(other.weight().int_repr(), layer.weight().int_repr())


@pytest.mark.parametrize(
    ("dtype", "parameters"),
    [
        (tl.float32, (tl.per_tensor_affine, 0.5, 1)),
        (tl.int8, ()),
        (tl.int8, [tl.per_tensor_affine, 0.5, 1]),
        (tl.int8, (tl.per_tensor_affine, "0.5", 1)),
        (tl.int8, (tl.per_tensor_affine, 0.5)),
        (tl.int8, (tl.per_tensor_symmetric, 0.5, 1)),
        (tl.int8, ("scheme", 0.5, 1)),
        (tl.int8, (tl.per_channel_affine, [0.5], [1], 5)),
        (tl.int8, (tl.per_channel_affine, [0.5], [1], 0)),
        (tl.int8, (tl.per_channel_affine, [0.5, 1.0], ["1", "2"], 0)),
        (tl.int8, (tl.per_channel_affine, tl.ones(2), tl.ones(2, dtype=tl.bool), 0)),
        (tl.int8, (tl.per_channel_affine, tl.ones(2, 1), tl.ones(2, 1), 0)),
    ],
)
def test_forged_quantizers(dtype, parameters):
    storage = tl.ones(6).to(dtype).storage()
    with pytest.raises(pickle.UnpicklingError, match="a quantized tensor"):
        rebuilt(storage, 0, (2, 3), (3, 1), parameters)


def test_quantizers_of_lists():
    storage = tl.arange(6, dtype=tl.uint8).storage()
    made = rebuilt(storage, 0, (2, 3), (3, 1), (tl.per_channel_affine, [0.5, 1], [1, 2], 0))
    assert made.dequantize().tolist() == [[-0.5, 0, 0.5], [1, 2, 3]]
    with pytest.raises(RuntimeError, match="storage"):
        rebuilt(storage, 1, (2, 3), (3, 1), (tl.per_tensor_affine, 0.5, 1))
