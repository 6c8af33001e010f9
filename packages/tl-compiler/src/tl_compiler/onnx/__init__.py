"""Export of models to ONNX.

`export` traces a model and translates its operators by the function library of onnxscript. The libraries of the extra
`onnx` are imported by the first export. The exporter is imported when a program asks for it, because libraries import
this package only to register functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_compiler.onnx.errors import OnnxExporterError, OnnxExporterWarning
from tl_compiler.onnx.model_mode import select_model_mode_for_export
from tl_compiler.onnx.options import OperatorExportTypes, TensorProtoDataType, TrainingMode
from tl_compiler.onnx.scalar_types import JitScalarType
from tl_compiler.onnx.state import is_in_onnx_export
from tl_compiler.onnx.symbolic_registry import register_custom_op_symbolic, unregister_custom_op_symbolic
from tl_core.base.lazy_attributes import attach

if TYPE_CHECKING:
    from tl_compiler.onnx.exporting import export
    from tl_compiler.onnx.program import ONNXProgram

__all__ = [
    "JitScalarType",
    "ONNXProgram",
    "OnnxExporterError",
    "OnnxExporterWarning",
    "OperatorExportTypes",
    "TensorProtoDataType",
    "TrainingMode",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "select_model_mode_for_export",
    "unregister_custom_op_symbolic",
]

__getattr__, __dir__, _ = attach(__name__, {"exporting": ["export"], "program": ["ONNXProgram"]})
