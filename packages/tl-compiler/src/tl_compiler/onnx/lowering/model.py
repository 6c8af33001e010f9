"""An exported program as an ONNX model."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import onnx_ir as ir

import tl_core

from ...export import ExportedProgram
from ...export.decomp_utils import CustomDecompTable
from ...export.graph_signature import ConstantArgument, InputKind, OutputKind
from ...export.regions import without_regions
from ...fx.node import Node
from ...tracer.schemas import schema_of
from ...version import __version__
from ..errors import OnnxExporterError
from .builder import OPSET, Builder, recording
from .function_table import FunctionTable
from .nodes import GraphLowering
from .shapes import describe
from .tensors import model_tensor

__all__ = ["lower_program", "prepared_program"]

IR_VERSION = 10
_lock = threading.RLock()  # onnxscript has one evaluator for all threads


class _Kept:
    """The operators that stay whole, because they have translations."""

    def __init__(self, table: FunctionTable) -> None:
        self.table = table

    def __contains__(self, target: Any) -> bool:
        return self.table.has(target)

    def add(self, target: Any) -> None:
        """Accepts an operator, which is in the set if it has a translation."""


def prepared_program(ep: ExportedProgram, table: FunctionTable) -> ExportedProgram:
    """The program without writes, in operators that have translations as far as there are decompositions.

    Args:
        ep: the program.
        table: the translations.
    """
    if not any(_needs_change(node, table) for graph in _graphs(ep.graph_module) for node in graph.nodes):
        return ep
    decompositions = CustomDecompTable()
    for target in list(decompositions):
        if table.has(target):
            dict.pop(decompositions, target)
    decompositions.deleted = _Kept(table)  # type: ignore[assignment]  # a set by question
    return ep.run_decompositions(decompositions)


def _graphs(module: Any) -> list[Any]:
    return [m.graph for m in module.modules() if hasattr(m, "graph")]


def _needs_change(node: Node, table: FunctionTable) -> bool:
    from .control_flow import CONTROL_FLOW

    target: Any = node.target
    if node.op != "call_function" or (table.of_node(node) is not None and not _writes(target)):
        return False
    if not hasattr(target, "_schema_text"):
        return "wrap_with" in str(target)
    return str(target.name()) not in CONTROL_FLOW


def _writes(target: Any) -> bool:
    return hasattr(target, "_schema_text") and bool(schema_of(target).writes)


def lower_program(
    ep: ExportedProgram, table: FunctionTable, names: Mapping[Any, str], input_names: list[str] | None = None
) -> Any:
    """The ONNX model of a program.

    Args:
        ep: the program, prepared.
        table: the translations.
        names: names of symbols that the user chose.
        input_names: unused names are reserved for the inputs.

    Returns:
        The model of `onnx_ir`.
    """
    graph = ir.Graph([], [], nodes=[], opset_imports={"": OPSET}, name="main_graph")
    builder = Builder(graph)
    module = without_regions(ep.graph_module)
    lowering = GraphLowering(builder, table, module, names)
    with _lock, recording(builder):
        _inputs(ep, module, lowering)
        results = lowering.run()
        _outputs(ep, lowering, results)
    functions = [f.function_ir if hasattr(f, "function_ir") else f for f in builder.functions.values()]
    model = ir.Model(
        graph,
        ir_version=IR_VERSION,
        producer_name="tl",
        producer_version=__version__,
        functions=functions,
    )
    for function in functions:
        for domain, version in function.opset_imports.items():
            graph.opset_imports.setdefault(domain, version)
    return model


def _inputs(ep: ExportedProgram, module: Any, lowering: GraphLowering) -> None:
    specs = {s.arg.name: s for s in ep.graph_signature.input_specs if hasattr(s.arg, "name")}
    nodes = [n for n in module.graph.nodes if n.op == "placeholder"]
    users = [n for n in nodes if specs[n.name].kind is InputKind.USER_INPUT]
    for node in users:
        _user_input(node, specs[node.name], lowering)
    for node in nodes:
        spec = specs[node.name]
        if spec.kind is not InputKind.USER_INPUT:
            lowering.values[node] = _state(ep, node, spec, lowering) if node.users else None


def _user_input(node: Node, spec: Any, lowering: GraphLowering) -> None:
    value = node.meta.get("val")
    if isinstance(spec.arg, ConstantArgument):
        lowering.values[node] = spec.arg.value
        return
    builder = lowering.builder
    result = builder.value(builder.unique(node.name))
    describe(result, value, lowering.names)
    if result.type is None:
        raise OnnxExporterError(
            f"the input {node.name} is a {type(value).__name__}, which can't be an input of a model"
        )
    result.metadata_props["pkg.torch.export.graph_signature.InputSpec.kind"] = "USER_INPUT"
    builder.graph.inputs.append(result)
    lowering.values[node] = result


def _state(ep: ExportedProgram, node: Node, spec: Any, lowering: GraphLowering) -> Any:
    """The tensor of a parameter, buffer or constant."""
    tensor = ep.state_dict.get(spec.target, ep.constants.get(spec.target))
    if not isinstance(tensor, tl_core.Tensor):
        return tensor
    if tensor.dtype.is_complex:
        tensor = tl_core.view_as_real(tensor.detach().resolve_conj())
    result = lowering.builder.initializer(model_tensor(tensor, spec.target), spec.target)
    result.metadata_props["pkg.torch.export.graph_signature.InputSpec.kind"] = spec.kind.name
    result.metadata_props["pkg.torch.export.graph_signature.InputSpec.target"] = str(spec.target)
    return result


def _outputs(ep: ExportedProgram, lowering: GraphLowering, results: tuple[Any, ...]) -> None:
    builder = lowering.builder
    ids: set[int] = set()
    output = next(n for n in lowering.module.graph.nodes if n.op == "output")
    for spec, value, node in zip(ep.graph_signature.output_specs, results, output.args[0], strict=True):
        if spec.kind is not OutputKind.USER_OUTPUT or value is None:
            continue
        if not isinstance(value, ir.Value):
            value = builder.constant(value)
        if value.producer() is None or id(value) in ids or value.graph is not builder.graph:
            value = builder.call_op("Identity", (value,), {}, outputs=[f"output_{len(ids)}"])
        if isinstance(node, Node):
            describe(value, node.meta.get("val"), lowering.names)
        ids.add(id(value))
        value.metadata_props["pkg.torch.export.graph_signature.OutputSpec.kind"] = "USER_OUTPUT"
        builder.graph.outputs.append(value)
