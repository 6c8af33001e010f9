"""Programs for runtimes that write in place: copies that `run_decompositions` made are given up."""

from __future__ import annotations

import copy
import operator
from typing import Any

from ..fx.node import Node
from ..higher_order.auto_functionalize import auto_functionalized, written_names
from .exported_program import ExportedProgram
from .naming import name_outputs
from .node_lists import nodes_filter

__all__ = ["unsafe_remove_auto_functionalized_pass"]


def unsafe_remove_auto_functionalized_pass(ep: ExportedProgram) -> ExportedProgram:
    """The program with operators that write to their arguments, in place of those that return what would be written.

    Unsafe where something still reads the value from before the write: it gets the new one.

    Args:
        ep: the program.

    Returns:
        A new program; the same one if it has no such operators.
    """
    calls = nodes_filter(ep.graph.nodes, _is_functionalized)
    if not calls:
        return ep
    module = copy.deepcopy(ep.graph_module)
    for call in nodes_filter(module.graph.nodes, _is_functionalized):
        _write_in_place(call)
    module.graph.lint()
    module.recompile()
    signature = copy.deepcopy(ep.graph_signature)
    name_outputs(signature, module.graph)
    return ep._update(module, signature)


def _is_functionalized(node: Node) -> bool:
    return node.op == "call_function" and node.target is auto_functionalized


def _write_in_place(call: Node) -> None:
    """Puts the call of the writing operator in the place of the other, and what it wrote in that of the copies."""
    graph, op = call.graph, call.args[0]
    schema: Any = op._schema
    args, kwargs = _arguments(schema, dict(call.kwargs))
    count = len(schema.returns)
    with graph.inserting_before(call):
        mutation = graph.call_function(op, args, kwargs)
    mutation.meta = {k: v for k, v in call.meta.items() if k != "val"}
    values = call.meta.get("val")
    if values is not None:
        mutation.meta["val"] = values[:count] if count > 1 else values[0]
    mutated = [call.kwargs[name] for name in written_names(op)]
    for item in sorted(call.users):
        at: Any = item.args[1]
        _replace(
            item, _result(mutation, at, count, item) if at < max(count, 1) else mutated[at - max(count, 1)]
        )
    graph.erase_node(call)


def _arguments(schema: Any, named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by position as far as the schema has them so, the others by name."""
    args: list[Any] = []
    for argument in schema.arguments:
        if argument.kwarg_only or argument.name not in named:
            break
        args.append(named.pop(argument.name))
    return tuple(args), named


def _result(mutation: Node, at: int, count: int, like: Node) -> Node:
    if count < 2:
        return mutation
    with mutation.graph.inserting_before(like):
        item = mutation.graph.call_function(operator.getitem, (mutation, at))
    item.meta = dict(like.meta)
    return item


def _replace(item: Node, value: Any) -> None:
    item.replace_all_uses_with(value)
    item.graph.erase_node(item)
