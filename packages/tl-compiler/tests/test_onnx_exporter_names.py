"""Names of PyTorch's exporter to ONNX: tensors of a model, and the check of a model."""

from __future__ import annotations

import io

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import onnx as export

pytest.importorskip("onnxscript")

from tl_compiler.compat import onnx_names


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int64", "float16", "float32", "float64", "complex64"]
)
def test_tensors_of_a_model(dtype: str) -> None:
    tensor = onnx_names.TorchTensor(tl.tensor([1, 0, 1]).to(getattr(tl, dtype)), "x")
    expected = np.array([1, 0, 1], dtype)
    assert tensor.numpy().dtype == expected.dtype and (np.asarray(tensor) == expected).all()
    assert tensor.tobytes() == expected.tobytes() and tensor.name == "x"
    file = io.BytesIO()
    tensor.tofile(file)
    assert file.getvalue() == expected.tobytes()


def test_bfloat16_has_the_bits_of_the_tensor() -> None:
    tensor = onnx_names.TorchTensor(tl.tensor([1.0, -2.0], dtype=tl.bfloat16))
    assert tensor.numpy().view(np.uint16).tolist() == [0x3F80, 0xC000]


def test_the_check_of_a_model() -> None:
    import onnx

    file = io.BytesIO()
    export.export(nn.ReLU(), (tl.ones(2),), file)
    model = onnx.load_from_string(file.getvalue())
    onnx_names.check_onnx_proto(model.SerializeToString(), full_check=True)
    model.ir_version = 0
    with pytest.raises(RuntimeError, match="the model isn't valid"):
        onnx_names.check_onnx_proto(model.SerializeToString())
