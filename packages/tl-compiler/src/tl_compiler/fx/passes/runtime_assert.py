"""Checks of sizes, put into a graph where they are known only when it runs."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core.functions.checks import recordable_assert

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["insert_deferred_runtime_asserts"]


def insert_deferred_runtime_asserts(gm: GraphModule, shape_env: Any, name: str, export: bool = False) -> None:
    """Adds the checks that a shape environment put off, behind the nodes that bind their symbols.

    Args:
        gm: the module; its graph is changed. `meta["val"]` of nodes holds sizes that are symbols.
        shape_env: the environment, with `deferred_runtime_asserts`: from a symbol to its checks, each with `expr` and
            `msg`.
        name: the name of the graph, for messages.
        export: whether the graph is to be exported; the checks are the same.
    """
    graph = gm.graph
    bound: dict[str, Node] = {}
    for node in list(graph.nodes):
        if node.op == "placeholder":
            _bind(graph, node, bound)
    pending = [check for checks in shape_env.deferred_runtime_asserts.values() for check in checks]
    asserted: set[str] = set()
    last_input = max((n for n in graph.nodes if n.op == "placeholder"), default=None)
    for node in list(graph.nodes):
        if node.op == "placeholder" and node is not last_input:
            continue
        if node.op != "placeholder":
            _bind(graph, node, bound)
        for check in pending:
            symbols = {str(s) for s in getattr(check.expr, "free_symbols", ())}
            if str(check.expr) in asserted or not symbols <= bound.keys():
                continue
            asserted.add(str(check.expr))
            behind = max((bound[s] for s in symbols), default=node)
            with graph.inserting_after(max(behind, node)):
                condition = _evaluate(graph, check.expr, {s: bound[s] for s in symbols})
            with graph.inserting_after(condition):
                text = f"Runtime assertion failed for expression {check.expr} in {name}"
                graph.call_function(recordable_assert, (condition, text))
    gm.recompile()


def _bind(graph: Graph, node: Node, bound: dict[str, Node]) -> None:
    """Makes nodes for the symbols that a value's sizes are."""
    value = node.meta.get("val", node.meta.get("example_value"))
    symbol = getattr(getattr(value, "node", None), "expr", None)
    if symbol is not None:
        bound.setdefault(str(symbol), node)
    if not isinstance(value, tl_core.Tensor):
        return
    behind = node
    for dim, size in enumerate(value.shape):
        symbol = getattr(getattr(size, "node", None), "expr", None)
        if symbol is None or str(symbol) in bound or not str(symbol).isidentifier():
            continue
        with graph.inserting_after(behind):
            behind = bound[str(symbol)] = graph.call_method("size", (node, dim))


def _holds(text: str, *values: Any) -> bool:
    """Whether an expression of sizes holds: its text with values for `v0`, `v1`, …"""
    import math

    scope = {f"v{i}": value for i, value in enumerate(values)}
    helpers: dict[str, Any] = {"Eq": lambda a, b: a == b, "Ne": lambda a, b: a != b, "Max": max, "Min": min}
    helpers |= {"FloorDiv": lambda a, b: a // b, "Mod": lambda a, b: a % b, "PythonMod": lambda a, b: a % b}
    helpers |= {"floor": math.floor, "ceiling": math.ceil, "__builtins__": {}}
    return bool(eval(text, helpers, scope))


def _evaluate(graph: Graph, expression: Any, symbols: dict[str, Node]) -> Node:
    import re

    text = str(expression)
    for i, symbol in enumerate(symbols):
        text = re.sub(rf"\b{re.escape(symbol)}\b", f"v{i}", text)
    return graph.call_function(_holds, (text, *symbols.values()))
