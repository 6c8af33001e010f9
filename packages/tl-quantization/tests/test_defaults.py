"""The defaults of arguments and the texts of layers, as PyTorch 2.13 had them."""

import importlib
import inspect
import json
from pathlib import Path

import pytest

import tl_core as tl
import tl_quantization as tq
from tl_quantization.nn import quantized as nnq
from tl_quantization.nn.quantized import dynamic as nnqd

RECORDED = json.loads((Path(__file__).parent / "data" / "defaults.json").read_text())


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in RECORDED.items() for name in names]
)
def test_arguments_have_the_recorded_defaults(module, name):
    parameters = inspect.signature(getattr(importlib.import_module(module), name)).parameters
    recorded = RECORDED[module][name]
    assert {argument: parameters[argument].default for argument in recorded} == recorded
    assert all(type(parameters[argument].default) is type(value) for argument, value in recorded.items())


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
