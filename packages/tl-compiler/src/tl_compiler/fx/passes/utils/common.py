"""Lifting and comparing of subgraphs."""

from __future__ import annotations

import tl_nn

from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node
from .matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(tl_nn.Module):
    """Holds all attributes of another module.

    Args:
        d: the attributes by name.
    """

    def __init__(self, d: dict[str, object]) -> None:
        super().__init__()
        for name, value in d.items():
            self.add_module(name, value)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """Makes a module of a graph that names attributes of another module.

    Args:
        gm: the module that has the attributes.
        subgraph: the graph.
        comp_name: the name that the new module will have; it stands before the new paths.
        class_name: the name of its class.

    Returns:
        The module, and the new path of each attribute by the old one.
    """
    holder = HolderModule({})
    paths: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        target = str(node.target)
        *path, last = target.split(".")
        source: object = gm
        to: tl_nn.Module = holder
        for part in path:
            source = getattr(source, part)
            if not hasattr(to, part):
                to.add_module(part, HolderModule({}))
            to = getattr(to, part)
        setattr(to, last, getattr(source, last))
        paths[target] = f"{comp_name}.{target}"
    return GraphModule(holder, subgraph, class_name), paths


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs do the same, node for node.

    Args:
        left, right: the graphs.

    Returns:
        True if the one is found in the other, with all its inputs and its output.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> a, b = (symbolic_trace(lambda x: x.neg()).graph for _ in range(2))
        >>> compare_graphs(a, b)
        True
    """
    matches = SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right)
    return len(matches) > 0 and all(isinstance(n, Node) for n in matches[0].nodes_map)
