"""The defaults of arguments, the values of enumerations and the texts of layers, as PyTorch 2.13 had them."""

import importlib
import inspect
import json
from operator import attrgetter
from pathlib import Path

import pytest

import tl_core as tl
import tl_quantization as tq
from tl_quantization.nn import quantizable
from tl_quantization.nn import quantized as nnq
from tl_quantization.nn.intrinsic import quantized as nniq
from tl_quantization.nn.intrinsic.quantized import dynamic as nniqd
from tl_quantization.nn.quantized import dynamic as nnqd

DATA = Path(__file__).parent / "data"
RECORDED = json.loads((DATA / "defaults.json").read_text())
ENUMERATIONS = json.loads((DATA / "enumerations.json").read_text())


@pytest.mark.parametrize("name", RECORDED)
def test_arguments_have_the_recorded_defaults(name):
    module, _, path = name.partition(":")
    parameters = inspect.signature(attrgetter(path)(importlib.import_module(module))).parameters
    defaults = {argument: parameters[argument].default for argument in RECORDED[name]}
    assert repr(defaults) == repr(RECORDED[name])


TEXTS = {
    "DynamicQuantizedLinear(in_features=6, out_features=5, dtype=torch.qint8, qscheme=torch.per_tensor_affine)": (
        lambda: nnqd.Linear(6, 5)
    ),
    "DynamicQuantizedLinear(in_features=6, out_features=5, dtype=torch.float16)": (
        lambda: nnqd.Linear(6, 5, dtype=tl.float16)
    ),
    "DynamicQuantizedLSTMCell(6, 5)": lambda: nnqd.LSTMCell(6, 5),
    "QuantizedLinear(in_features=6, out_features=5, scale=1.0, zero_point=0, qscheme=torch.per_tensor_affine)": (
        lambda: nnq.Linear(6, 5)
    ),
    "QuantizedEmbedding(num_embeddings=7, embedding_dim=4, dtype=torch.quint8, "
    "qscheme=torch.per_channel_affine_float_qparams)": lambda: nnq.Embedding(7, 4),
    "QuantizedEmbeddingBag(num_embeddings=7, embedding_dim=4, dtype=torch.quint8, "
    "qscheme=torch.per_channel_affine_float_qparams)": lambda: nnq.EmbeddingBag(7, 4),
    "QFunctional(\n  scale=1.0, zero_point=0\n  (activation_post_process): Identity()\n)": nnq.QFunctional,
    "Quantize(scale=tensor([0.5000]), zero_point=tensor([3]), dtype=torch.quint8)": (
        lambda: nnq.Quantize(0.5, 3, tq.quint8)
    ),
    "DeQuantize()": nnq.DeQuantize,
    "QuantizedConv2d(2, 4, kernel_size=(3, 3), stride=(2, 2), scale=1.0, zero_point=0, padding=(1, 1), groups=2)": (
        lambda: nnq.Conv2d(2, 4, 3, stride=2, padding=1, groups=2, bias=True)
    ),
    "DynamicQuantizedLSTM(6, 5, num_layers=2, batch_first=True, dropout=0.5, bidirectional=True)": (
        lambda: nnqd.LSTM(6, 5, 2, batch_first=True, dropout=0.5, bidirectional=True)
    ),
    "HistogramObserver(min_val=inf, max_val=-inf)": tq.HistogramObserver,
    "FusedMovingAvgObsFakeQuantize(\n  fake_quant_enabled=tensor([1]), observer_enabled=tensor([1]), "
    "scale=tensor([1.]), zero_point=tensor([0], dtype=torch.int32), dtype=torch.quint8, quant_min=0, quant_max=255, "
    "qscheme=torch.per_tensor_affine, reduce_range=False\n  (activation_post_process): "
    "MovingAverageMinMaxObserver(min_val=inf, max_val=-inf)\n)": tq.FusedMovingAvgObsFakeQuantize,
    "QConfigMapping (\n global_qconfig\n  None\n object_type_qconfigs\n  OrderedDict()\n "
    "module_name_regex_qconfigs\n  OrderedDict()\n module_name_qconfigs\n  OrderedDict()\n "
    "module_name_object_type_order_qconfigs\n  OrderedDict()\n)": (
        lambda: tq.QConfigMapping().set_global(None)
    ),
    "Sigmoid()": lambda: nnq.Sigmoid(0.5, 3),
    "MinMaxObserver(min_val=inf, max_val=-inf)": tq.MinMaxObserver,
    "PlaceholderObserver(dtype=torch.float16, is_dynamic=False)": (
        lambda: tq.PlaceholderObserver(dtype=tl.float16)
    ),
    "FakeQuantize(\n  fake_quant_enabled=tensor([1], dtype=torch.uint8), observer_enabled=tensor([1], "
    "dtype=torch.uint8), quant_min=0, quant_max=255, dtype=torch.quint8, qscheme=torch.per_tensor_affine, "
    "ch_axis=-1, scale=tensor([1.]), zero_point=tensor([0], dtype=torch.int32)\n  (activation_post_process): "
    "MovingAverageMinMaxObserver(min_val=inf, max_val=-inf)\n)": tq.FakeQuantize,
    "QuantStub()": tq.QuantStub,
    "FixedQParamsObserver()": lambda: tq.FixedQParamsObserver(0.5, 3),
}


@pytest.mark.parametrize("text", TEXTS)
def test_layers_have_the_recorded_texts(text):
    assert repr(TEXTS[text]()) == text


def names_with_dims(name, module, dims=(1, 2, 3)):
    return [(f"{name}{n}d", module, n) for n in dims]


@pytest.mark.parametrize(
    ("name", "module", "dims"),
    [
        *names_with_dims("DynamicQuantizedConv", nnqd),
        *names_with_dims("DynamicQuantizedConvTranspose", nnqd),
        *names_with_dims("QuantizedConv", nnq),
        *names_with_dims("QuantizedConvTranspose", nnq),
        *names_with_dims("QuantizedConvReLU", nniq),
        *names_with_dims("QuantizedConvAdd", nniq, (2,)),
        *names_with_dims("QuantizedConvAddReLU", nniq, (2,)),
    ],
)
def test_convolutions_have_the_recorded_texts(name, module, dims):
    kind = getattr(module, name.removeprefix("Dynamic").removeprefix("Quantized"))
    sizes = [f"({', '.join([str(n)] * dims)}{',' * (dims == 1)})" for n in (3, 1)]
    text = f"{name}(3, 4, kernel_size={sizes[0]}, stride={sizes[1]}, scale=1.0, zero_point=0)"
    assert repr(kind(3, 4, 3)) == text


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("QuantizedLinearReLU", nniq.LinearReLU(6, 5)),
        ("QuantizedLinearLeakyReLU", nniq.LinearLeakyReLU(6, 5, 0.1)),
        ("QuantizedLinearTanh", nniq.LinearTanh(6, 5)),
        ("DynamicQuantizedLinearReLU", nniqd.LinearReLU(6, 5)),
        ("QuantizableMultiheadAttention", quantizable.MultiheadAttention(8, 2)),
        ("QuantizedMultiheadAttention", nnq.MultiheadAttention(8, 2)),
        ("QuantizableLSTMCell", quantizable.LSTMCell(6, 5)),
        ("QuantizableLSTM", quantizable.LSTM(6, 5)),
        ("QuantizedLSTM", nnq.LSTM(6, 5)),
        ("DynamicQuantizedLSTM", nnqd.LSTM(6, 5)),
        ("DynamicQuantizedGRU", nnqd.GRU(6, 5)),
        ("DynamicQuantizedRNNCell", nnqd.RNNCell(6, 5)),
        ("DynamicQuantizedGRUCell", nnqd.GRUCell(6, 5)),
    ],
)
def test_layers_have_the_recorded_names(name, layer):
    assert repr(layer).startswith(f"{name}(")


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_enumerations_have_the_recorded_values(name):
    module, _, path = name.partition(":")
    members = getattr(importlib.import_module(module), path).__members__
    assert {member: members[member].value for member in ENUMERATIONS[name]} == ENUMERATIONS[name]
