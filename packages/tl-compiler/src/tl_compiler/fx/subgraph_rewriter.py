"""Replacing every occurrence of a pattern in a graph."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import tl_nn

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

Filter = Callable[[InternalMatch, Graph, Graph], bool]


class Match(NamedTuple):
    """Where a pattern was found: the node that its result was, and the nodes by those of the pattern.

    Example:
        >>> import tl_core
        >>> from tl_compiler.fx import symbolic_trace
        >>> def pattern(x):
        ...     return tl_core.relu(x)
        ...
        >>> module = symbolic_trace(lambda x: tl_core.relu(x) + 1)
        >>> found = replace_pattern(module, pattern, lambda x: tl_core.sigmoid(x))
        >>> type(found[0]).__name__, found[0].anchor.name
        ('Match', 'relu')
    """

    anchor: Node
    nodes_map: dict[Node, Node]


class ReplacedPatterns(NamedTuple):
    """A match, and the nodes that came in its place.

    Args:
        anchor: the node from which the pattern was found.
        nodes_map: the nodes of the match, by node of the pattern.
        replacements: the nodes that came in.

    Example:
        >>> import tl_core
        >>> from tl_compiler.fx import symbolic_trace
        >>> def pattern(x):
        ...     return tl_core.relu(x)
        ...
        >>> module = symbolic_trace(lambda x: tl_core.relu(x) + 1)
        >>> found = replace_pattern_with_filters(module, pattern, lambda x: tl_core.sigmoid(x))
        >>> [node.name for node in found[0].replacements]
        ['sigmoid']
    """

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _graph_of(pattern: Any) -> Graph:
    if isinstance(pattern, GraphModule):
        return pattern.graph
    return pattern if isinstance(pattern, Graph) else symbolic_trace(pattern).graph


def _take_attributes(gm: GraphModule, replacement: Any) -> None:
    """Gives the module what the replacement names and the module lacks."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _find(gm, str(node.target)) is not None:
            continue
        value = _find(replacement, str(node.target))
        if value is None:
            raise RuntimeError(
                f"the replacement names {node.target} ({node.op}), which neither it nor the module has"
            )
        if isinstance(value, tl_nn.Module):
            gm.add_submodule(str(node.target), copy.deepcopy(value))
        else:
            *path, last = str(node.target).split(".")
            holder = gm.get_submodule(".".join(path))
            setattr(holder, last, copy.deepcopy(value))


def _find(module: Any, target: str) -> Any:
    for part in target.split("."):
        module = getattr(module, part, None)
    return module


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Puts a replacement where a pattern occurs. Occurrences don't overlap: the first from the end wins.

    Args:
        gm: the module whose graph is changed.
        pattern: what is looked for: a function, module or graph; its arguments stand for any value.
        replacement: what comes instead, with the same arguments in the same order.

    Returns:
        The occurrences.

    Example:
        >>> made = symbolic_trace(lambda x: (x + 1).relu())
        >>> len(replace_pattern(made, lambda x: x.relu(), lambda x: x.sigmoid()))
        1
        >>> print(made.code.strip())
        def forward(self, x):
            add = x + 1;  x = None
            sigmoid = add.sigmoid();  add = None
            return sigmoid
    """
    return [Match(r.anchor, r.nodes_map) for r in _replace(gm, pattern, replacement, [], False)]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:
    """As `replace_pattern`, for occurrences that filters accept.

    Args:
        gm: the module whose graph is changed.
        pattern: what is looked for.
        replacement: what comes instead.
        match_filters: each takes the occurrence, the graph and the pattern's graph, and says whether it counts.
        ignore_literals: whether numbers and texts in the pattern stand for any.
        replacement_callback: makes the replacement for an occurrence, in place of `replacement`.

    Returns:
        The occurrences with the nodes that came in their place.

    Example:
        >>> import tl_core
        >>> from tl_compiler.fx import symbolic_trace
        >>> def pattern(x):
        ...     return tl_core.relu(x)
        ...
        >>> module = symbolic_trace(lambda x: tl_core.relu(x) + 1)
        >>> found = replace_pattern_with_filters(module, pattern, lambda x: tl_core.sigmoid(x))
        >>> module(tl_core.zeros(1))
        tensor([1.5000])
    """
    return _replace(gm, pattern, replacement, match_filters or [], ignore_literals, replacement_callback)


def _replace(
    gm: GraphModule,
    pattern: Any,
    replacement: Any,
    filters: list[Filter],
    ignore_literals: bool,
    make: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(
        pattern_graph, match_output=False, match_placeholder=False, ignore_literals=ignore_literals
    )
    matches = [m for m in matcher.match(graph) if all(f(m, graph, pattern_graph) for f in filters)]
    replacement_graph = None if replacement is None else _graph_of(replacement)
    replaced: list[ReplacedPatterns] = []
    moved: dict[Node, Node] = {}  # a node that was replaced -> what came in its place
    for match in matches:
        graph_in = replacement_graph if make is None else make(match, graph, pattern_graph)
        if graph_in is None:
            raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
        replaced.append(_put_in(graph, match, graph_in, moved))
    gm.recompile()
    if isinstance(replacement, tl_nn.Module):
        _take_attributes(gm, replacement)
    return replaced


def _put_in(
    graph: Graph, match: InternalMatch, replacement: Graph, moved: dict[Node, Node]
) -> ReplacedPatterns:
    inputs = [node for node in replacement.nodes if node.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise AssertionError(
            f"the pattern has {len(match.placeholder_nodes)} arguments, its replacement {len(inputs)}"
        )
    val_map = {
        own: moved.get(value, value) for own, value in zip(inputs, match.placeholder_nodes, strict=True)
    }
    anchor = match.anchors[0]
    last = max(
        (n for n in match.nodes_map.values() if isinstance(n, Node) and n not in match.placeholder_nodes),
        default=None,
    )
    inner = set(match.nodes_map.values()) - set(match.placeholder_nodes)
    behind = max((v for v in val_map.values() if isinstance(v, Node)), default=None)
    first_user = min(
        (user for out in match.returning_nodes for user in out.users if user not in inner), default=None
    )
    before = set(graph.nodes)
    with (
        graph.inserting_before(first_user)
        if first_user is not None
        else graph.inserting_after(last or behind)
    ):
        result = graph.graph_copy(replacement, val_map)
    new_nodes = [node for node in graph.nodes if node not in before]
    results = [result] if isinstance(result, Node) else list(result or ())
    if len(results) != len(match.returning_nodes):
        raise AssertionError(
            f"the pattern returns {len(match.returning_nodes)} values, its replacement {len(results)}"
        )
    for old, new in zip(match.returning_nodes, results, strict=True):
        old.replace_all_uses_with(new)
        moved[old] = new
    for node in reversed(list(graph.nodes)):
        if node in inner and node.op not in ("placeholder", "output") and not node.users:
            graph.erase_node(node)
    return ReplacedPatterns(anchor, match.nodes_map, new_nodes)
