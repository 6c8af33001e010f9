"""The optimizer of onnxscript, and the conversion between operator sets."""

from __future__ import annotations

import threading
from typing import Any

from .errors import OnnxExporterError

__all__ = ["FIRST_OPSET", "LAST_OPSET", "convert", "optimize"]

FIRST_OPSET, LAST_OPSET = 7, 23
_rules = threading.Lock()  # the rules of onnxscript hold the match that they work on


def optimize(model: Any) -> None:
    """Folds constants, fuses nodes and removes unused ones.

    Args:
        model: the model, which is changed.
    """
    from onnxscript import optimizer
    from onnxscript.rewriter import onnx_fusions

    with _rules:
        optimizer.optimize_ir(model)
        onnx_fusions.fuse(model)
    _restore_types(model)
    _restore_texts(model)


def _restore_texts(model: Any) -> None:
    """Gives texts their own class again: the optimizer stores folded texts as numbers, which have bytes."""
    import onnx_ir as ir

    for value in model.graph.initializers.values():
        tensor = value.const_value
        if tensor is None or tensor.dtype != ir.DataType.STRING or isinstance(tensor, ir.StringTensor):
            continue
        texts = [t if isinstance(t, bytes) else str(t).encode() for t in tensor.numpy().flat]
        value.const_value = ir.StringTensor(texts, shape=tensor.shape, name=value.name)


def _restore_types(model: Any) -> None:
    """Gives fused weights the element type of the input. The fusion of a norm computes bfloat16 in float32."""
    import onnx_ir as ir

    for node in model.graph.all_nodes():
        if node.op_type not in ("Conv", "ConvTranspose", "Gemm") or node.inputs[0] is None:
            continue
        dtype = node.inputs[0].dtype
        for value in node.inputs[1:]:
            tensor = None if value is None else value.const_value
            if tensor is not None and dtype is not None and tensor.dtype != dtype:
                value.const_value = ir.tensor(
                    tensor.numpy().astype(dtype.numpy()), dtype=dtype, name=value.name
                )
                value.dtype = dtype


def convert(model: Any, opset: int) -> None:
    """Converts a model to an operator set.

    Args:
        model: the model, which is changed.
        opset: the operator set.

    Raises:
        OnnxExporterError: the conversion isn't possible.
    """
    from onnxscript import version_converter

    if model.graph.opset_imports.get("") != opset:
        with _rules:
            version_converter.convert_version(model, opset, fallback=True)
    reached = model.graph.opset_imports.get("")
    if reached == opset:
        _settle(model, opset)
    else:
        raise OnnxExporterError(
            f"the model can't be converted to operator set {opset}: an operator has no form there. "
            f"The model has operator set {reached}"
        )


def _settle(model: Any, opset: int) -> None:
    """Gives the nodes of later operator sets their domain."""
    from .lowering.builder import LATER

    for node in model.graph.all_nodes():
        if node.domain == LATER:
            node.domain, node.version = "", opset
    model.graph.opset_imports.pop(LATER, None)
