"""From observers to quantize and dequantize."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any

import tl_core
from tl_compiler.fx import GraphModule, Node

from ..dtypes import is_quantized_dtype
from ..graph.decompose import insert_decomposed
from .graph_facts import annotation_of, observer_of
from .numeric_debugger import copy_handle
from .prepare import OBSERVED

__all__ = ["convert"]

_INTEGERS = (
    tl_core.uint8, tl_core.int8, tl_core.uint16, tl_core.int16, tl_core.int32, tl_core.float8_e5m2,
    tl_core.float8_e4m3fn,
)  # fmt: skip


def convert(model: GraphModule) -> GraphModule:
    """The model with quantize and dequantize in place of observers.

    Args:
        model: a model from `prepare_pt2e` or `prepare_qat_pt2e`. It stays as it is.

    Raises:
        ValueError: If the model has no observers of this mode.
    """
    if OBSERVED not in model.meta:
        raise ValueError("convert_pt2e takes a model of prepare_pt2e or prepare_qat_pt2e")
    facts = model.meta[OBSERVED]
    model = deepcopy(model)
    for node in list(model.graph.nodes):
        observer = observer_of(node, model)
        if observer is not None:
            _replace(model, node, observer)
    model.graph.eliminate_dead_code()
    model.delete_all_unused_submodules()
    result = GraphModule(model, model.graph)
    result.meta.update({name: value for name, value in model.meta.items() if name != OBSERVED})
    result.meta["is_qat"] = facts["is_qat"]
    _follow_copies(result)
    return result


def _follow_copies(model: GraphModule) -> None:
    """Lets annotations name the nodes of a copied graph: a copy of a graph keeps the metadata of its nodes."""
    own = {node.name: node for node in model.graph.nodes}
    for node in model.graph.nodes:
        annotation = annotation_of(node)
        if annotation is not None:
            specs = {
                own.get(source.name, source): spec for source, spec in annotation.input_qspec_map.items()
            }
            annotation = copy(annotation)
            annotation.input_qspec_map = specs
            node.meta["quantization_annotation"] = annotation


def _replace(model: GraphModule, node: Node, observer: Any) -> None:
    if hasattr(observer, "convert"):
        observer.convert(model, node)
        return
    dtype = observer.dtype
    if not (is_quantized_dtype(dtype) or dtype in (*_INTEGERS, tl_core.float16)):
        node.replace_all_uses_with(node.args[0])
        return
    source: Any = node.args[0]
    with model.graph.inserting_before(node):
        result = insert_decomposed(model, node, observer, "")
    _describe(source, result)
    copy_handle(node, result)
    node.replace_all_uses_with(result)


def _describe(source: Node, result: Node) -> None:
    """The value of the result, which has the shape of the number that is quantized."""
    value = source.meta.get("val")
    if value is not None:
        result.meta["val"] = value
