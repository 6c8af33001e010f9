"""ONNX: models may ask, files are not written."""

import pytest

from tl_backends.compat import onnx


def test_no_model_is_being_exported():
    assert onnx.is_in_onnx_export() is False


def test_files_are_not_written(tmp_path):
    with pytest.raises(onnx.OnnxExporterError, match="not written yet"):
        onnx.export(lambda x: x, (1,), tmp_path / "model.onnx", opset_version=17)
    assert list(tmp_path.iterdir()) == []
