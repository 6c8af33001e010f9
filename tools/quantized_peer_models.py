"""Quantized models of two libraries: the same constructors, which take the library.

Models consist of the library's own modules, so that each library reads whole models of the other.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["EXPORTED", "MODELS", "PT2E", "Library", "exported"]


class Library:
    """A library by its name.

    Args:
        name: `tl` or `torch`.
    """

    def __init__(self, name: str) -> None:
        self.name, self.core = name, importlib.import_module(name)
        self.nn, self.quantization = self.core.nn, importlib.import_module(f"{name}.ao.quantization")

    def numbers(self, *shape: int) -> Any:
        """Numbers from -1 to 1, which are the same in each library."""
        count = 1
        for n in shape:
            count *= n
        values = [(i * 7919 % 2003) / 1001.5 - 1 for i in range(count)]
        return self.core.tensor(values, dtype=self.core.float32).reshape(shape)

    def with_weights(self, model: Any) -> Any:
        """The model with parameters that are the same in each library."""
        with self.core.no_grad():
            for parameter in model.parameters():
                parameter.copy_(self.numbers(*parameter.shape) / 4)
        return model


def _static(lib: Library) -> Any:
    nn, tq = lib.nn, lib.quantization
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(128, 10)]
    model = lib.with_weights(nn.Sequential(tq.QuantStub(), *layers, tq.DeQuantStub()).eval())
    model = tq.fuse_modules(model, [["1", "2", "3"]])
    return _calibrated(lib, model, lib.numbers(2, 3, 4, 4))


def _static_linear(lib: Library) -> Any:
    nn, tq = lib.nn, lib.quantization
    layers = [nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4, bias=False)]
    model = lib.with_weights(nn.Sequential(tq.QuantStub(), *layers, tq.DeQuantStub()).eval())
    return _calibrated(lib, model, lib.numbers(5, 16))


def _calibrated(lib: Library, model: Any, data: Any) -> Any:
    tq = lib.quantization
    # Scales of a minimum and a maximum are the same in each library, those of histograms depend on the last bit.
    activation = tq.MinMaxObserver.with_args(dtype=lib.core.quint8, reduce_range=True)
    model.qconfig = tq.QConfig(activation, tq.default_per_channel_weight_observer)
    prepared = tq.prepare(model)
    prepared(data)
    return tq.convert(prepared)


def _dynamic(*kinds: str, half: bool = False) -> Callable[[Library], Any]:
    makers: dict[str, Callable[[Any], Any]] = {
        "Linear": lambda nn: nn.Linear(16, 8),
        "LSTM": lambda nn: nn.LSTM(16, 8, 2, bidirectional=True),
        "GRU": lambda nn: nn.GRU(16, 8),
        "LSTMCell": lambda nn: nn.LSTMCell(16, 8),
        "GRUCell": lambda nn: nn.GRUCell(16, 8),
        "RNNCell": lambda nn: nn.RNNCell(16, 8),
    }

    def make(lib: Library) -> Any:
        model = lib.with_weights(lib.nn.Sequential(*(makers[kind](lib.nn) for kind in kinds)).eval())
        dtype = lib.core.float16 if half else lib.core.qint8
        classes = {getattr(lib.nn, kind) for kind in kinds}
        return lib.quantization.quantize_dynamic(model, classes, dtype=dtype)

    return make


def _embedding(kind: str, config: str) -> Callable[[Library], Any]:
    def make(lib: Library) -> Any:
        options = {} if kind == "Embedding" else {"mode": "sum"}
        model = lib.with_weights(lib.nn.Sequential(getattr(lib.nn, kind)(50, 16, **options)).eval())
        model.qconfig = getattr(lib.quantization, config)
        return lib.quantization.convert(lib.quantization.prepare(model))

    return make


def _training(lib: Library) -> Any:
    nn, tq = lib.nn, lib.quantization
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(128, 10)]
    model = lib.with_weights(nn.Sequential(tq.QuantStub(), *layers, tq.DeQuantStub()).train())
    model.qconfig = tq.get_default_qat_qconfig("x86")
    prepared = tq.prepare_qat(tq.fuse_modules_qat(model, [["1", "2", "3"]]))
    prepared(lib.numbers(2, 3, 4, 4))
    return prepared.eval().apply(tq.disable_observer)


def _graph(lib: Library) -> Any:
    graphs = importlib.import_module(f"{lib.name}.ao.quantization.quantize_fx")
    nn, tq = lib.nn, lib.quantization
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(128, 10)]
    model, x = lib.with_weights(nn.Sequential(*layers).eval()), lib.numbers(2, 3, 4, 4)
    activation = tq.MinMaxObserver.with_args(dtype=lib.core.quint8, reduce_range=True)
    config = tq.QConfig(activation, tq.default_per_channel_weight_observer)
    prepared = graphs.prepare_fx(model, tq.QConfigMapping().set_global(config), (x,))
    prepared(x)
    return graphs.convert_fx(prepared)


def _images(lib: Library) -> Any:
    return lib.numbers(2, 3, 4, 4)


def _rows(lib: Library) -> Any:
    return lib.numbers(5, 16)


def _sequences(lib: Library) -> Any:
    return lib.numbers(7, 2, 16)


def _indices(lib: Library) -> Any:
    return lib.core.arange(40).reshape(4, 10) * 37 % 50


#: The models by name: the constructor, and the function of their input.
MODELS: dict[str, tuple[Callable[[Library], Any], Callable[[Library], Any]]] = {
    "static": (_static, _images),
    "static_linear": (_static_linear, _rows),
    "dynamic": (_dynamic("Linear"), _rows),
    "dynamic_half": (_dynamic("Linear", half=True), _rows),
    "lstm": (_dynamic("LSTM"), _sequences),
    "lstm_half": (_dynamic("LSTM", half=True), _sequences),
    "gru": (_dynamic("GRU"), _sequences),
    "lstm_cell": (_dynamic("LSTMCell"), _rows),
    "gru_cell": (_dynamic("GRUCell"), _rows),
    "rnn_cell": (_dynamic("RNNCell"), _rows),
    "rnn_cell_half": (_dynamic("RNNCell", half=True), _rows),
    "embedding": (_embedding("Embedding", "float_qparams_weight_only_qconfig"), _indices),
    "bag": (_embedding("EmbeddingBag", "float_qparams_weight_only_qconfig"), _indices),
    "bag_4bit": (_embedding("EmbeddingBag", "float_qparams_weight_only_qconfig_4bit"), _indices),
    "training": (_training, _images),
    "graph": (_graph, _images),
}

#: The module with the functions for exported models, which also defines their operators.
PT2E = {"tl": "tl.ao.quantization.quantize_pt2e", "torch": "torchao.quantization.pt2e.quantize_pt2e"}
_X86 = {
    "tl": "tl.ao.quantization.quantizer.x86_inductor_quantizer",
    "torch": "torchao.quantization.pt2e.quantizer.x86_inductor_quantizer",
}


def exported(lib: Library, is_dynamic: bool = False, is_convolution: bool = False) -> tuple[Any, Any]:
    """An exported model with quantized operators, and its input.

    Args:
        lib: the library. With PyTorch, torchao has the functions.
        is_dynamic: whether activations are quantized at each call.
        is_convolution: whether the model begins with a convolution and its normalization.
    """
    nn, pt2e, x86 = lib.nn, importlib.import_module(PT2E[lib.name]), importlib.import_module(_X86[lib.name])
    if is_convolution:
        layers = [
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(128, 10),
        ]
    else:
        layers = [nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)]
    model, x = lib.with_weights(nn.Sequential(*layers).eval()), (_images if is_convolution else _rows)(lib)
    export = lib.core.export.export
    config = x86.get_default_x86_inductor_quantization_config(is_dynamic=is_dynamic)
    quantizer = x86.X86InductorQuantizer().set_global(config)
    prepared = pt2e.prepare_pt2e(export(model, (x,)).module(), quantizer)
    prepared(x)
    return export(pt2e.convert_pt2e(prepared), (x,)), x


#: The exported models by name.
EXPORTED: dict[str, Callable[[Library], tuple[Any, Any]]] = {
    "exported_linear": exported,
    "exported_dynamic": lambda lib: exported(lib, is_dynamic=True),
    "exported_convolution": lambda lib: exported(lib, is_convolution=True),
}
