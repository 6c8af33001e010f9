"""Functions that write operators with what set 11 of ONNX has: none yet, as tl writes no ONNX files."""

from typing import Any

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    raise AttributeError(f"tl.onnx.symbolic_opset11.{name}: ONNX files are not written yet")
