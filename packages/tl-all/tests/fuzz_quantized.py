"""Loads many damaged and forged states of quantized layers, and runs the layers: `python fuzz_quantized.py`.

The states have packed weights. Each file is refused or loads the same layer, and no file runs code. The exit status is
1 if there is a fault. `tl_checkpoint.testing.fuzzing` describes faults and how to repeat a file.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as numpy

import tl
from tl import nn
from tl.ao.nn import quantized
from tl.ao.nn.quantized import dynamic
from tl_checkpoint import numpy_data as numpy_data  # loads now, with numpy, as no file may import a module
from tl_checkpoint.testing import fuzzing
from tl_checkpoint.testing.forgery import forge_archive

ARCHIVE = Path(__file__).parent / "data" / "quantized_models.zip"
Layer = Callable[[], nn.Module]
LAYERS: dict[str, tuple[Layer, Callable[[], Any]]] = {
    "static_linear": (
        lambda: nn.Sequential(
            quantized.Quantize(1.0, 0, tl.quint8), quantized.Linear(16, 32), nn.ReLU(),
            quantized.Linear(32, 4, bias_=False), quantized.DeQuantize(),
        ),
        lambda: tl.ones(5, 16),
    ),
    "dynamic_half": (lambda: nn.Sequential(dynamic.Linear(16, 8, dtype=tl.float16)), lambda: tl.ones(5, 16)),
    "lstm": (
        lambda: nn.Sequential(dynamic.LSTM(16, 8, 2, bidirectional=True)), lambda: tl.ones(3, 2, 16)
    ),
    "gru": (lambda: nn.Sequential(dynamic.GRU(16, 8)), lambda: tl.ones(3, 2, 16)),
    "lstm_cell": (lambda: nn.Sequential(dynamic.LSTMCell(16, 8)), lambda: tl.ones(5, 16)),
    "rnn_cell_half": (lambda: nn.Sequential(dynamic.RNNCell(16, 8, dtype=tl.float16)), lambda: tl.ones(5, 16)),
    "embedding": (lambda: nn.Sequential(quantized.Embedding(50, 16)), lambda: tl.arange(10)),
    "bag_4bit": (
        lambda: nn.Sequential(quantized.EmbeddingBag(50, 16, dtype=tl.quint4x2)),
        lambda: tl.arange(10).reshape(2, 5),
    ),
}  # fmt: skip


def _loader(name: str) -> Callable[[bytes], Any]:
    make, data = LAYERS[name]

    def load(file: bytes) -> Any:
        model = make()
        state = tl.load(io.BytesIO(file))
        if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
            raise ValueError("the file has no state")  # of `load_state_dict`, which takes names as keys
        model.load_state_dict(state)
        with tl.no_grad():
            result = model(data())
        while isinstance(result, tuple):
            result = result[0]
        return result

    return load


def good_files() -> list[fuzzing.GoodFile]:
    """The states that PyTorch wrote."""
    files = []
    with zipfile.ZipFile(ARCHIVE) as archive:
        for name in LAYERS:
            data, load = archive.read(f"{name}.state"), _loader(name)
            files.append(
                fuzzing.GoodFile(name, data, load, forge_archive, fuzzing.snapshot(load(data)), True, 0.2)
            )
    return files


if __name__ == "__main__":
    sys.exit(fuzzing.main(good_files(), 50_000, __doc__))
