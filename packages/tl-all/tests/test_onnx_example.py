"""The example of ONNX models: both models agree with their originals. Without the libraries, it names the extra."""

from importlib.util import find_spec

import pytest


@pytest.mark.skipif(find_spec("tqdm") is None, reason="the extra `examples` is not installed")
def test_both_models_agree(python, tmp_path):
    folder = tmp_path / "models"
    arguments = ("-m", "tl.examples.onnx_model", "--quickstart", "--quiet", "--folder", str(folder))
    if find_spec("onnxscript"):
        assert "quickstart ok" in python(*arguments, timeout=300)
        assert {p.name for p in folder.iterdir()} >= {"resnet.onnx", "llama.onnx"}
    else:
        assert "pip install 'tl-all[onnx]'" in python(*arguments, code=1, timeout=300)
