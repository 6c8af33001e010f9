"""Programs without the tokens that keep operators with effects in order: a list of nodes has an order by itself."""

from __future__ import annotations

import copy
import operator
from typing import Any

from ..fx.node import Node
from ..higher_order.effects import with_effects
from .exported_program import ExportedProgram
from .graph_signature import InputKind, OutputKind
from .naming import name_outputs
from .node_lists import nodes_filter

__all__: list[str] = []


def _remove_effect_tokens(ep: ExportedProgram) -> ExportedProgram:
    """The program with operators called directly, and without tokens among its inputs and outputs."""
    if not any(n.target is with_effects for n in ep.graph.nodes):
        return ep
    module = copy.deepcopy(ep.graph_module)
    signature = copy.deepcopy(ep.graph_signature)
    graph = module.graph
    _drop_outputs(graph, signature)
    for call in nodes_filter(graph.nodes, lambda n: n.target is with_effects):
        _call_directly(call)
    _drop_inputs(graph, signature)
    graph.lint()
    name_outputs(signature, graph)
    module.recompile()
    return ep._update(module, signature)


def _drop_outputs(graph: Any, signature: Any) -> None:
    output = graph.output_node()
    remaining = [
        (spec, node)
        for spec, node in zip(signature.output_specs, output.args[0], strict=True)
        if spec.kind is not OutputKind.TOKEN
    ]
    output.args = (tuple(node for _, node in remaining),)
    signature.output_specs[:] = [spec for spec, _ in remaining]


def _call_directly(call: Node) -> None:
    """Puts the operator in the place of the call with a token; the results are counted without it."""
    graph, (token, op, *args) = call.graph, call.args
    several = len(op._schema.returns) > 1
    with graph.inserting_before(call):
        direct = graph.call_function(op, tuple(args), dict(call.kwargs))
    direct.meta = {k: v for k, v in call.meta.items() if k != "val"}
    values = call.meta.get("val")
    if values is not None:
        direct.meta["val"] = values[1:] if several else values[1]
    for item in sorted(call.users):
        at: Any = item.args[1]
        if at and several:
            item.target, item.args = operator.getitem, (direct, at - 1)
            continue
        item.replace_all_uses_with(direct if at else token)
        graph.erase_node(item)
    graph.erase_node(call)


def _drop_inputs(graph: Any, signature: Any) -> None:
    inputs = {n.name: n for n in graph.find_nodes(op="placeholder")}
    for spec in list(signature.input_specs):
        if spec.kind is InputKind.TOKEN:
            graph.erase_node(inputs[spec.arg.name])
            signature.input_specs.remove(spec)
