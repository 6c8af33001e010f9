"""Files of quantized models that PyTorch 2.13 wrote, with the results of each model.

`PYTHON -m tools.quantized_peer --side write --folder FOLDER` writes them, where PYTHON has PyTorch. PyTorch's reader
is not here, so the other direction compares the structure of files: what tl writes of such a model has the globals, the
numbers and the sizes of PyTorch's own file.
"""

import io
import json
import pickle
import sys
import zipfile
from collections import OrderedDict
from functools import partial
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_quantized import good_files

import tl
from tl import nn
from tl.ao import quantization as tq
from tl.ao.nn import quantized
from tl.ao.nn.quantized import dynamic
from tl_checkpoint.testing.fuzzing import run
from tl_core.extensions.custom_classes import class_of

ARCHIVE = zipfile.ZipFile(Path(__file__).parent / "data" / "quantized_models.zip")
NAMES = sorted(name for name in ARCHIVE.namelist() if not name.endswith(".json"))


def numbers(*shape):
    values = [(i * 7919 % 2003) / 1001.5 - 1 for i in range(int(np.prod(shape)))]
    return tl.tensor(values).reshape(shape)


def indices():
    return tl.arange(40).reshape(4, 10) * 37 % 50


IMAGES, ROWS, SEQUENCES = partial(numbers, 2, 3, 4, 4), partial(numbers, 5, 16), partial(numbers, 7, 2, 16)
INPUTS = {
    **dict.fromkeys(("static", "training", "graph"), IMAGES),
    **dict.fromkeys(("static_linear", "dynamic_half", "lstm_cell", "rnn_cell_half"), ROWS),
    **dict.fromkeys(("lstm", "lstm_half", "gru"), SEQUENCES),
    **dict.fromkeys(("embedding", "bag_4bit"), indices),
}
# Layers that read a state; the models of "static", "training" and "graph" are whole only, but for their conversion.
LAYERS = {
    "static_linear": lambda: [quantized.Quantize(1.0, 0, tl.quint8), quantized.Linear(16, 32), nn.ReLU(),
                              quantized.Linear(32, 4, bias_=False), quantized.DeQuantize()],
    "dynamic_half": lambda: [dynamic.Linear(16, 8, dtype=tl.float16)],
    "lstm": lambda: [dynamic.LSTM(16, 8, 2, bidirectional=True)],
    "lstm_half": lambda: [dynamic.LSTM(16, 8, 2, bidirectional=True, dtype=tl.float16)],
    "gru": lambda: [dynamic.GRU(16, 8)],
    "lstm_cell": lambda: [dynamic.LSTMCell(16, 8)],
    "rnn_cell_half": lambda: [dynamic.RNNCell(16, 8, dtype=tl.float16)],
    "embedding": lambda: [quantized.Embedding(50, 16)],
    "bag_4bit": lambda: [quantized.EmbeddingBag(50, 16, dtype=tl.quint4x2)],
}  # fmt: skip


def small_model(relu):
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(128, 10)]
    return nn.Sequential(tq.QuantStub(), *layers[: None if relu else 2], tq.DeQuantStub())


def training_model():
    model = small_model(relu=True).train()
    model.qconfig = tq.get_default_qat_qconfig("x86")
    prepared = tq.prepare_qat(tq.fuse_modules_qat(model, [["1", "2", "3"]]))
    return prepared.eval().apply(tq.disable_observer)


def read(name, **options):
    return tl.load(io.BytesIO(ARCHIVE.read(name)), **options)


def results(model, name):
    result = model(INPUTS[name]())
    while isinstance(result, (tuple, list)):
        result = result[0]
    return result.detach().flatten().tolist()


def expected(file):
    return json.loads(ARCHIVE.read(f"{file}.json"))[0]


def check(model, file):
    recorded = expected(file)
    atol = 1e-6 * max(map(abs, recorded))  # a sum of float16's products in another order
    np.testing.assert_allclose(results(model, file.partition(".")[0]), recorded, rtol=0, atol=atol)


@pytest.mark.parametrize("file", [name for name in NAMES if name.endswith(".whole")])
def test_whole_models(file):
    with pytest.raises(pickle.UnpicklingError, match="not an allowed global"):
        read(file)
    check(read(file, weights_only=False), file)


@pytest.mark.parametrize("name", LAYERS)
def test_states(name):
    model = nn.Sequential(*LAYERS[name]()).eval()
    assert model.load_state_dict(read(f"{name}.state")) == ([], [])
    check(model, f"{name}.state")


def test_the_state_of_a_model_in_training():
    model = training_model()
    assert model.load_state_dict(read("training.state")) == ([], [])
    check(model, "training.state")


class Recorded:
    """An object of a pickle: its class, its arguments and its state."""

    def __new__(cls, *args):
        instance = object.__new__(cls)
        instance.args, instance.state = args, None
        return instance

    def __setstate__(self, state):
        self.state = state

    def parts(self):
        name = type(self).__name__
        if name == "torch._utils._rebuild_parameter":  # layers of tl hold biases as tensors
            return parts(self.args[0])
        if name == "torch._utils._rebuild_qtensor":  # tl names the exact scheme of floating zero points
            return name, parts(self.args[:4]), parts(self.args[4][1:])
        return name, parts(self.args), parts(self.state)


class Reader(pickle.Unpickler):
    def find_class(self, module, name):
        if module in ("collections", "__builtin__", "builtins"):
            return super().find_class(module, name)
        return type(f"{module}.{name}", (Recorded,), {})

    def persistent_load(self, description):
        return "storage", description[1].__name__, description[4]


def parts(value):
    if isinstance(value, Recorded):
        return value.parts()
    if isinstance(value, dict):
        # PyTorch names modules without entries of their own too; an empty hook table is not a difference
        return {key: parts(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [parts(entry) for entry in value]
    return value.__name__ if isinstance(value, type) else value


def structure(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        return parts(Reader(io.BytesIO(archive.read(name))).load())


@pytest.mark.parametrize("name", LAYERS)
def test_states_are_written_as_pytorch_writes_them(name, tmp_path):
    model = nn.Sequential(*LAYERS[name]()).eval()
    model.load_state_dict(read(f"{name}.state"))
    tl.save(model.state_dict(), tmp_path / "state")
    assert structure((tmp_path / "state").read_bytes()) == structure(ARCHIVE.read(f"{name}.state"))


@pytest.mark.parametrize("name", LAYERS)
def test_whole_layers_are_written_as_pytorch_writes_them(name, tmp_path):
    """The layers of a pickle have PyTorch's classes and attributes, and may have more of these."""
    model = read(f"{name}.whole", weights_only=False)
    tl.save(model, tmp_path / "whole")
    own, theirs = structure((tmp_path / "whole").read_bytes()), structure(ARCHIVE.read(f"{name}.whole"))
    compare_modules(own, theirs)


def compare_modules(own, theirs):
    assert own[0] == theirs[0]
    own, theirs = own[2], theirs[2]
    assert theirs.keys() <= own.keys()
    for name in theirs.keys() - {"_modules"}:
        assert own[name] == theirs[name], name
    assert own["_modules"].keys() == theirs["_modules"].keys()
    for name, module in theirs["_modules"].items():
        compare_modules(own["_modules"][name], module)


def packed_state(name):
    return OrderedDict(read(f"{name}.state"))


def test_packed_weights_are_objects_of_their_class():
    cell = packed_state("lstm")["0._all_weight_values.0.param"]
    assert isinstance(cell, tl.ScriptObject)
    state, name = cell.__getstate__()
    assert name == "__torch__.torch.classes.rnn.CellParamsBase" and state[0] == "quantized_dynamic"
    again = class_of(name)._of_state(state)
    assert tl.equal(again.ih.weight().int_repr(), cell.ih.weight().int_repr())
    twin = pickle.loads(pickle.dumps(cell))
    assert tl.equal(twin.hh.bias, cell.hh.bias) and type(twin) is type(cell)


def test_a_cell_shared_by_two_entries_is_written_once(tmp_path):
    cell = packed_state("gru")["0._all_weight_values.0.param"]
    tl.save({"a": cell, "b": cell}, tmp_path / "shared")
    result = tl.load(tmp_path / "shared")
    assert result["a"] is result["b"]


def test_damaged_and_forged_states():
    """The short form of `fuzz_quantized.py`."""
    counts, faults = run(good_files(), 400, seed=3)
    assert faults == []
    assert sum(counts.values()) == 400
    assert len(counts) > 16
