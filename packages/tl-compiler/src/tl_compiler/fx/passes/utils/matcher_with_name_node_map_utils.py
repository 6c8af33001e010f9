"""Patterns that give names to the nodes that they match."""

from __future__ import annotations

import tl_nn

from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node
from .matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["SubgraphMatcherWithNameNodeMap"]


def _split_to_graph_and_name_node_map(gm: GraphModule) -> tuple[GraphModule, dict[str, Node]]:
    """The module without the dictionary at the end of its results, and that dictionary: nodes by name."""
    from tl_core import pytree

    names: dict[str, Node] = {}
    for node in gm.graph.nodes:
        if node.op != "output":
            continue
        codegen = gm.graph._codegen
        info = getattr(codegen, "pytree_info", None)
        if info is not None and info.out_spec is not None:
            result = pytree.tree_unflatten(list(node.args[0]), info.out_spec)
        else:
            result = node.args[0]
        if not isinstance(result, tuple):
            raise AssertionError("Expecting the pattern graph to return a tuple")
        *rest, names = result
        if not isinstance(names, dict):
            raise AssertionError("Expecting the input graph to have a dict output as the last element")
        names = dict(names)
        results = tuple(rest) if len(rest) > 1 else rest[0]
        if info is not None and info.out_spec is not None:
            leaves, out_spec = pytree.tree_flatten(results)
            codegen.pytree_info = info._replace(out_spec=out_spec)  # type: ignore[attr-defined]
            node.args = (tuple(leaves),)
        else:
            node.args = (results,)
    gm.recompile()
    return gm, names


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """Looks for a pattern whose last result is a dictionary that names nodes.

    Args:
        pattern_gm: the pattern.
        match_output: whether the output node must be matched too.
        match_placeholder: whether placeholders stand for placeholders only.
        remove_overlapping_matches: whether a node belongs to one occurrence only.
        ignore_literals: whether constants in the pattern stand for any.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> pattern = symbolic_trace(lambda x: (lambda y: (y, {"it": y}))(x.relu()))
        >>> found = SubgraphMatcherWithNameNodeMap(pattern).match(symbolic_trace(lambda a: a.neg().relu()).graph)
        >>> found[0].name_node_map["it"]
        relu
    """

    def __init__(
        self,
        pattern_gm: GraphModule,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        pattern_gm, self.name_node_map = _split_to_graph_and_name_node_map(pattern_gm)
        self.pattern_gm: tl_nn.Module = pattern_gm
        super().__init__(
            pattern_gm.graph, match_output, match_placeholder, remove_overlapping_matches, ignore_literals
        )

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The occurrences of the pattern, with the named nodes.

        Args:
            graph: the graph that is searched.
            node_name_match: a text that the names of matched anchors contain.

        Returns:
            The occurrences.
        """
        matches = super().match(graph, node_name_match)
        for one in matches:
            for name, node in self.name_node_map.items():
                one.name_node_map[name] = one.nodes_map[node]
        return matches
