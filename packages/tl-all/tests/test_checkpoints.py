"""What several packages bring to files: whole modules, and quantized tensors."""

from __future__ import annotations

import os
import pickle
import pickletools
import zipfile
from pathlib import Path

import pytest

import tl
from tl.ao.nn import quantized
from tl.distributed import checkpoint as sharded
from tl.distributed.checkpoint.format_utils import dcp_to_torch_save
from tl_checkpoint.distributed.chunked import ChunkedTensor
from tl_checkpoint.quantized import tensor as rebuilt

DATA = Path(__file__).parent / "data"


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


def names_in(path):
    """The globals that the pickle of a file names."""
    with zipfile.ZipFile(path) as archive:
        data = next(archive.read(name) for name in archive.namelist() if name.endswith("data.pkl"))
    return {argument for opcode, argument, _ in pickletools.genops(data) if opcode.name == "GLOBAL"}


def test_functions_have_the_names_of_the_reference(tmp_path):
    functional = tl.nn.functional
    functions = {
        "torch.nn.functional relu": functional.relu,
        "torch.nn.functional cross_entropy": functional.cross_entropy,
        "torch._C._nn gelu": functional.gelu,
        "torch._C._nn log_sigmoid": functional.logsigmoid,
        "torch tanh": tl.tanh,
        "posixpath join": os.path.join,
    }
    tl.save([*functions.values()], tmp_path / "functions.pt")
    assert names_in(tmp_path / "functions.pt") == {*functions}
    again = tl.load(tmp_path / "functions.pt", weights_only=False)
    assert all(a is b for a, b in zip(again, functions.values(), strict=True))


def test_modules_and_functions_of_the_reference():
    state = tl.load(DATA / "layers.pt", weights_only=False)
    functional = tl.nn.functional
    assert state["functions"] == [tl.tanh, functional.gelu, functional.relu, functional.logsigmoid]
    assert tl.allclose(state["lstm"](state["x"])[0], state["y"])
    assert state["layer"].activation is functional.gelu and state["layer"](tl.ones(3, 1, 2)).shape == (
        3,
        1,
        2,
    )


def test_whole_layers_name_nothing_that_the_reference_lacks(tmp_path):
    weight = tl.nn.Parameter(tl.ones(2))
    optimizer = tl.optim.Adafactor([weight])
    layers = [
        tl.nn.LSTM(3, 4, num_layers=2, bidirectional=True),
        tl.nn.TransformerEncoderLayer(8, 2, dim_feedforward=8),
        tl.nn.LinearCrossEntropyLoss(3, 4),
        optimizer,
        tl.optim.lr_scheduler.StepLR(optimizer, 2),
        tl.optim.lr_scheduler.CosineAnnealingLR(optimizer, 2),
    ]
    tl.save(layers, tmp_path / "layers.pt")
    named = names_in(tmp_path / "layers.pt")
    assert not [name for name in named if name.startswith("tl")]
    assert named >= {
        "torch.nn.modules.activation MultiheadAttention",
        "torch.nn.modules.loss LinearCrossEntropyLoss",
        "torch.nn.functional relu",
        "torch.optim Adafactor",
        "torch.optim.lr_scheduler StepLR",
        "torch.optim.lr_scheduler CosineAnnealingLR",
    }
    again = tl.load(tmp_path / "layers.pt", weights_only=False)
    assert [type(a) for a in again] == [type(b) for b in layers]
    x = tl.rand(5, 2, 3)
    assert tl.equal(again[0](x)[0], layers[0](x)[0])


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


@pytest.mark.parametrize("weights_only", [True, False])
def test_integers_of_less_than_a_byte(weights_only, tmp_path):
    narrow = tl.load(DATA / "narrow.pt", weights_only=weights_only)  # by PyTorch
    assert narrow.dtype is tl.quint4x2 and narrow.qscheme() is tl.per_channel_affine_float_qparams
    numbers = [[-1.5, -1.5, -1, 0], [1.05, 1.75, 3.15, 3.85], [5, 6, 7, 8]]
    assert tl.allclose(narrow.dequantize(), tl.tensor(numbers))
    floating = tl.ones(2), tl.zeros(2), 0
    smaller = tl.quantize_per_channel(tl.arange(6.0).reshape(2, 3), *floating, tl.quint2x4)
    tl.save({"narrow": narrow, "smaller": smaller}, tmp_path / "state.pt")
    again = tl.load(tmp_path / "state.pt", weights_only=weights_only)
    assert tl.equal(again["narrow"].int_repr(), narrow.int_repr())
    assert again["smaller"].dequantize().tolist() == [[0, 1, 2], [3, 3, 3]]
    sharded.save({"q": narrow}, checkpoint_id=tmp_path / "step", no_dist=True)
    into = {"q": tl.quantize_per_channel(tl.zeros(3, 4), tl.ones(3), tl.zeros(3), 0, tl.quint4x2)}
    sharded.load(into, checkpoint_id=tmp_path / "step", no_dist=True)
    assert tl.equal(into["q"].dequantize(), narrow.dequantize())


@pytest.mark.parametrize("size", [b"K\x05K\x04", b"K\x02K\x04", b"J\xff\xff\xff\xffK\x04"])
def test_integers_that_do_not_fill_their_storage_are_refused(size, tmp_path):
    with zipfile.ZipFile(DATA / "narrow.pt") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "narrow.pt", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data.replace(b"K\x03K\x04\x86", size + b"\x86"))
    with pytest.raises(pickle.UnpicklingError, match="4 bits must fill its storage"):
        tl.load(tmp_path / "narrow.pt")


def zeros(*size, dtype=tl.quint8):
    return tl.quantize_per_tensor(tl.zeros(*size), 1.0, 0, dtype)


def test_quantized_tensors_in_a_directory_of_the_reference():
    state = {"q": zeros(2, 3), "w": tl.zeros(2)}
    sharded.load(state, checkpoint_id=DATA / "quantized_rank", no_dist=True)
    assert state["q"].int_repr().tolist() == [[3, 5, 7], [9, 11, 13]] and state["q"].q_scale() == 0.5
    assert state["q"].dequantize().tolist() == [[0, 1, 2], [3, 4, 5]] and state["w"].tolist() == [1, 1]


@pytest.mark.parametrize("save", [sharded.save, sharded.async_save])
def test_quantized_tensors_in_a_directory(tmp_path, save):
    numbers = tl.arange(6.0).reshape(2, 3)
    scales, points = tl.tensor([0.5, 0.25]), tl.tensor([1, 2])
    state = {
        "whole": tl.quantize_per_tensor(numbers, 0.5, 3, tl.quint8),
        "channels": tl.quantize_per_channel(numbers, scales, points, 0, tl.qint8),
    }
    state["part"] = state["whole"][:, ::2]
    pending = save(state, checkpoint_id=tmp_path / "step", no_dist=True)
    if save is sharded.async_save:
        pending.result()
    into = {"whole": zeros(2, 3), "channels": zeros(2, 3, dtype=tl.qint8), "part": zeros(2, 2)}
    sharded.load(into, checkpoint_id=tmp_path / "step", no_dist=True)
    dcp_to_torch_save(tmp_path / "step", tmp_path / "whole.pt")
    for again in (into, tl.load(tmp_path / "whole.pt")):
        assert all(tl.equal(again[name], state[name]) for name in state)
        assert again["channels"].q_per_channel_zero_points().tolist() == [1, 2]


def test_quantized_tensors_are_loaded_whole_and_into_quantized_ones(tmp_path):
    sharded.save({"q": zeros(4)}, checkpoint_id=tmp_path, no_dist=True)
    with pytest.raises(sharded.CheckpointException, match=r"'q' can't be read .* call dequantize\(\)"):
        sharded.load({"q": tl.zeros(4)}, checkpoint_id=tmp_path, no_dist=True)
    halves = ChunkedTensor([4], [((0,), zeros(2)), ((2,), zeros(2))])
    with pytest.raises(sharded.CheckpointException, match=r"q is quantized, and .* loaded whole only"):
        sharded.load({"q": halves}, checkpoint_id=tmp_path, no_dist=True)


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


UNDER_THE_NAME_TORCH = """
import pickletools, torch
import torch.distributed.checkpoint as sharded
sharded.save({"weight": torch.ones(2), "epoch": 3}, checkpoint_id="saved")
state = {"weight": torch.zeros(2), "epoch": 0}
sharded.load(state, checkpoint_id="saved")
print(state["weight"].tolist(), state["epoch"])
with open("saved/.metadata", "rb") as file:
    words = [word for _, word, _ in pickletools.genops(file)]
print("torch.distributed.checkpoint.metadata" in words, any("tl_" in str(word) for word in words))
"""


def test_sharded_files_of_programs_that_import_torch(python):
    text = python("-m", "tl.torch", "program.py", files={"program.py": UNDER_THE_NAME_TORCH})
    assert text == "[1.0, 1.0] 3\nTrue False\n"
