"""Names of inputs, outputs, sizes and initializers of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .errors import OnnxExporterError

__all__ = ["rename_axes", "rename_inputs", "rename_outputs"]


def rename_inputs(model: Any, names: Sequence[str]) -> None:
    """Renames the inputs of a model. Further names are for its initializers.

    Args:
        model: the model.
        names: the names, in order.
    """
    graph = model.graph
    values = [*graph.inputs, *(v for v in graph.initializers.values() if not _is_constant(v))]
    _rename(graph, values, names, "input_names")


def rename_outputs(model: Any, names: Sequence[str]) -> None:
    """Renames the outputs of a model.

    Args:
        model: the model.
        names: the names, in order.
    """
    if len(names) > len(model.graph.outputs):
        raise OnnxExporterError(
            f"output_names has {len(names)} names, but the model has {len(model.graph.outputs)} outputs"
        )
    _rename(model.graph, list(model.graph.outputs), names, "output_names")


def _is_constant(value: Any) -> bool:
    return "pkg.torch.export.graph_signature.InputSpec.kind" not in value.metadata_props


def _rename(graph: Any, values: Sequence[Any], names: Sequence[str], argument: str) -> None:
    if len(set(names)) < len(names):
        raise OnnxExporterError(f"{argument} has a name twice: {list(names)}")
    if len(names) > len(values):
        raise OnnxExporterError(f"{argument} has {len(names)} names for {len(values)} values")
    targets = dict(zip(names, values, strict=False))
    for value in _values(graph):
        if value.name in targets and value is not targets[value.name]:
            _set_name(graph, value, _free(graph, f"{value.name}_"))
    for name, value in targets.items():
        _set_name(graph, value, name)


def _values(graph: Any) -> list[Any]:
    outputs = [value for node in graph for value in node.outputs]
    return [*graph.inputs, *graph.initializers.values(), *outputs]


def _free(graph: Any, name: str) -> str:
    names = {value.name for value in _values(graph)}
    number = 1
    while f"{name}{number}" in names:
        number += 1
    return f"{name}{number}"


def _set_name(graph: Any, value: Any, name: str) -> None:
    if value.name != name:
        value.name = name


def rename_axes(model: Any, names: Mapping[str, str]) -> None:
    """Renames symbols of sizes in all shapes of a model.

    Args:
        model: the model.
        names: new names by old names.
    """
    import onnx_ir as ir

    from .lowering.shapes import replace_words

    for graph in (model.graph, *model.graph.subgraphs()):
        for value in _values(graph):
            if value.shape is None:
                continue
            for i, size in enumerate(value.shape):
                text = getattr(size, "value", None)
                if isinstance(text, str):
                    new = names.get(text) or replace_words(text, names)
                    if new != text:
                        value.shape = ir.Shape([new if j == i else d for j, d in enumerate(value.shape)])
