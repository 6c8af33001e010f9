"""Patterns of graphs."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from tl_compiler.fx import Graph, GraphModule, Node
from tl_compiler.fx.node import map_aggregate
from tl_core.pytree import tree_leaves

from .patterns import (
    CallFunction,
    CallMethod,
    CallModule,
    ExclusiveKeywordArg,
    Ignored,
    KeywordArg,
    MultiOutputPattern,
    PatternExpr,
    extract_target,
)

__all__ = ["fx_to_pattern"]

_CALLS = {"call_function": CallFunction, "call_method": CallMethod, "call_module": CallModule}


def fx_to_pattern(
    gm: GraphModule | Graph,
    ignore_types: Sequence[type[Any]] = (),
    argnames: Sequence[str] = (),
    scalar_workaround: dict[str, float | int] | None = None,
    exclusive_arg_names: Sequence[str] = (),
) -> Any:
    """The pattern that matches the operators of a graph.

    Args:
        gm: the graph.
        ignore_types: constants of these types match any constant.
        argnames: the names of the inputs, in order; without names those of the graph.
        scalar_workaround: numbers that are arguments, by name.
        exclusive_arg_names: arguments whose values differ.

    Returns:
        A pattern of one result, or a `MultiOutputPattern`.

    Raises:
        RuntimeError: the graph has attributes.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> fx_to_pattern(symbolic_trace(lambda x: x + 1))
        CallFunction(add, KeywordArg('x'), 1)
    """
    names = {value: name for name, value in (scalar_workaround or {}).items()}
    builder = _Builder(tuple(ignore_types), list(argnames), names, set(exclusive_arg_names))
    graph = gm.graph if isinstance(gm, GraphModule) else gm
    for node in graph.nodes:
        if node.op == "output":
            break
        builder.add(node)
    results = map_aggregate(graph.output_node().args[0], builder.value)
    if isinstance(results, PatternExpr):
        return results
    leaves = tree_leaves(results)
    return MultiOutputPattern([p if isinstance(p, PatternExpr) else None for p in leaves])


class _Builder:
    """The patterns of the nodes of a graph."""

    def __init__(
        self, ignored: tuple[type[Any], ...], names: list[str], numbers: dict[Any, str], exclusive: set[str]
    ) -> None:
        self.ignored, self.names, self.numbers, self.exclusive = ignored, names, numbers, exclusive
        self.patterns: dict[Node, PatternExpr] = {}
        self.count = 0

    def add(self, node: Node) -> None:
        if node.op == "placeholder":
            self.patterns[node] = self._input(str(node.target))
        elif node.op in _CALLS:
            kinds = (
                tuple(t for t in self.ignored if t is not int)
                if node.target is operator.getitem
                else self.ignored
            )
            args = [self._argument(arg, kinds) for arg in node.args]
            kwargs = {name: self._argument(arg, kinds) for name, arg in node.kwargs.items()}
            call = _CALLS[node.op](extract_target(node), *args, _users=len(node.users), **kwargs)
            self.patterns[node] = call
        else:
            raise RuntimeError(
                f"fx_to_pattern(): the graph has the attribute {node.target!r}, which no pattern matches"
            )

    def _input(self, target: str) -> PatternExpr:
        position, self.count = self.count, self.count + 1
        name = target
        if position < len(self.names):
            name = self.names[position]
        elif self.names and not target.startswith("tangent"):
            raise RuntimeError(f"fx_to_pattern(): argnames must name the input {target!r}")
        return ExclusiveKeywordArg(name) if name in self.exclusive else KeywordArg(name)

    def _argument(self, arg: Any, kinds: tuple[type[Any], ...]) -> Any:
        if isinstance(arg, Node):
            return self.patterns[arg]
        if isinstance(arg, tuple | list):
            items = [self._argument(item, kinds) for item in arg]
            if list in kinds and items and all(isinstance(item, Ignored) for item in items):
                return Ignored()
            return items if isinstance(arg, list) else tuple(items)
        if isinstance(arg, dict):
            return {name: self._argument(item, kinds) for name, item in arg.items()}
        if type(arg) in (int, float) and arg in self.numbers:
            return KeywordArg(self.numbers[arg])
        return Ignored() if type(arg) in kinds else arg

    def value(self, result: Any) -> Any:
        return self.patterns[result] if isinstance(result, Node) else result
