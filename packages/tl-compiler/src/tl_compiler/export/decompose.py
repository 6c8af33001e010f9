"""`run_decompositions`: a program in other operators, without writes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import tl_core
import tl_nn
from tl_core.operators.composites import CompositeOperator
from tl_core.subclasses import FakeTensor

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node, map_arg
from ..tracer.graphs import eliminate_dead
from ..tracer.make_fx import parts_of
from ..tracer.proxy_mode import ProxyTorchDispatchMode, PythonKeyTracer
from ..tracer.symbolic_fakes import mode_of_values
from ..tracer.whole_calls import recorded_whole
from .decomp_utils import CustomDecompTable, is_taken_apart
from .exported_program import ExportedProgram
from .functional import functional_graph
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from .inherited import inherited_meta
from .regions import without_regions
from .verifier import Verifier

__all__ = ["decompose_program"]

_MUTATION = {
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
    InputKind.CONSTANT_TENSOR: OutputKind.BUFFER_MUTATION,
}


def decompose_program(ep: ExportedProgram, table: dict[Any, Callable[..., Any]] | None) -> ExportedProgram:
    """The program in other operators; `run_decompositions` has the arguments."""
    flat = without_regions(ep.graph_module)
    graph, mutated = _functional(ep, flat)
    table = CustomDecompTable() if table is None else table
    root, graph = _retrace(flat, graph, table)
    module = GraphModule(root, graph, "GraphModule")
    module.meta.update(ep.graph_module.meta)
    signature = _signature(ep, graph, mutated)
    return ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=signature,
        state_dict=ep.state_dict,
        range_constraints=dict(ep.range_constraints),
        module_call_graph=copy.copy(ep.module_call_graph),
        example_inputs=ep.example_inputs,
        constants=ep.constants,
        verifiers=[Verifier],
    )


def _functional(ep: ExportedProgram, flat: GraphModule) -> tuple[Graph, list[OutputSpec]]:
    """The graph without writes; new values of inputs come first among its outputs."""
    graph, _nodes, values_after = functional_graph(flat.graph)
    specs = {s.arg.name: s for s in ep.graph_signature.input_specs}
    values, mutated = [], []
    for node in flat.graph.nodes:
        if node in values_after and node.op == "placeholder":
            spec = specs[node.name]
            target = spec.target if spec.target is not None else node.name
            values.append(values_after[node])
            mutated.append(OutputSpec(_MUTATION[spec.kind], TensorArgument(""), target))
    output = graph.output_node()
    output.args = ((*values, *output.args[0]),)
    eliminate_dead(graph)
    return graph, mutated


def _retrace(flat: GraphModule, graph: Graph, table: Any) -> tuple[Any, Graph]:
    """The graph with operators replaced by what the table says."""
    tracer = PythonKeyTracer()
    tracer.root = tl_nn.Module()
    env = flat.meta.get("shape_env")
    lookup = _Table(table)
    mode = ProxyTorchDispatchMode(
        tracer,
        "symbolic",
        pre_dispatch=True,
        decomposition_table=lookup,
        fake_mode=mode_of_values([n.meta.get("val") for n in graph.nodes], env),
    )
    values: dict[Node, Any] = {}
    with mode:
        for node in graph.nodes:
            if node.op == "output":
                _end(tracer, mode, node, values)
            else:
                values[node] = _run(flat, tracer, mode, node, values)
    eliminate_dead(tracer.graph)
    return tracer.root, tracer.graph


def _run(flat: GraphModule, tracer: Any, mode: Any, node: Node, values: dict[Node, Any]) -> Any:
    if node.op == "placeholder":
        placeholder = tracer.graph.placeholder(str(node.target))
        placeholder.meta = dict(node.meta)
        value = node.meta.get("val")
        if isinstance(value, tl_core.Tensor):
            value = value.__deepcopy__({}) if isinstance(value, FakeTensor) else value
            placeholder.meta["val"] = value
        if isinstance(value, tl_core.Tensor) or hasattr(value, "node"):
            mode.track(value, placeholder)
        return value
    if node.op == "get_attr":
        attribute: Any = flat
        for part in str(node.target).split("."):
            attribute = getattr(attribute, part)
        return attribute
    args = map_arg(tuple(node.args), lambda n: values[n])
    kwargs = dict(map_arg(dict(node.kwargs), lambda n: values[n]))
    args = tuple(list(a) if isinstance(a, list) else a for a in args)
    mode.recorder.inherited = inherited_meta(node)
    target: Any = node.target
    try:
        if isinstance(target, CompositeOperator) and not kwargs and not is_taken_apart(target):
            replacement = mode.decomposition_table.get(target)
            return replacement(*args) if replacement else recorded_whole(target, args, node.name)
        return target(*args, **kwargs)
    finally:
        mode.recorder.inherited = {}


def _end(tracer: Any, mode: Any, node: Node, values: dict[Node, Any]) -> None:
    def result(value: Any) -> Any:
        return mode.node_of(values[value]) if isinstance(value, Node) else value

    tracer.graph.output(tuple(result(v) for v in node.args[0]))


class _Table(dict[Any, Any]):
    """A table in which operators that are made of others have an entry too, unless they are core operators."""

    def __init__(self, table: Any) -> None:
        super().__init__(table)
        self.deleted = getattr(table, "deleted", set())  # type: ignore[var-annotated]
        self.running: set[Any] = set()  # some are made of themselves, with other arguments
        self.fixed = not isinstance(table, CustomDecompTable)

    def get(self, key: Any, default: Any = None) -> Any:
        """The function that takes an operator's place."""
        decomposition = super().get(key)
        if decomposition is not None or self.fixed or key in self.deleted:
            return decomposition
        if key in self.running or not is_taken_apart(key):
            return None

        def parts(*args: Any, **kwargs: Any) -> Any:
            self.running.add(key)
            try:
                return parts_of(key, args, kwargs)
            finally:
                self.running.discard(key)

        return parts


def _signature(ep: ExportedProgram, graph: Graph, mutated: list[OutputSpec]) -> ExportGraphSignature:
    nodes = graph.output_node().args[0]
    specs = [*mutated, *(copy.deepcopy(s) for s in ep.graph_signature.output_specs)]
    for spec, node in zip(specs, nodes, strict=True):
        if isinstance(node, Node) and not isinstance(spec.arg, ConstantArgument):
            spec.arg = type(spec.arg)(node.name)  # type: ignore[call-arg]
    return ExportGraphSignature(copy.deepcopy(ep.graph_signature.input_specs), specs)
