"""Pairs of layers of two graphs of one model, such as a float one and a quantized one."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from tl_compiler.fx import GraphModule, Node

from ..fake_quantize import FakeQuantizeBase
from ..observer_base import ObserverBase
from .fusions import end_node_matches_reversed_fusion, get_reversed_fusions, get_type_a_related_to_b
from .related_operators import get_base_name_to_sets_of_related_ops, get_unmatchable_types_map
from .results import NSNodeTargetType, NSSubgraph

__all__ = ["GraphMatchingException", "SubgraphTypeRelationship", "get_matching_subgraph_pairs"]

Targets = dict[str, set[NSNodeTargetType]]


class GraphMatchingException(Exception):
    """The layers of two graphs are no pairs."""


class SubgraphTypeRelationship(enum.Enum):
    """How the operators of two layers are related."""

    EQUAL = enum.auto()
    EQUAL_BUT_UKNOWN = enum.auto()  # the spelling is PyTorch's
    RELATED_BUT_NOT_EQUAL = enum.auto()
    NOT_RELATED = enum.auto()


class _Layers:
    """The layers of a graph, from the last one to the first.

    Args:
        gm: the graph module.
        unmatchable: the operators that are no layers.
    """

    def __init__(self, gm: GraphModule, unmatchable: Targets) -> None:
        self.gm, self.unmatchable = gm, unmatchable
        self.seen: set[Node] = set()
        self.stack: list[Node] = [
            arg for node in gm.graph.nodes if node.op == "output" for arg in node.all_input_nodes
        ]
        self.fusions = get_reversed_fusions()

    def __iter__(self) -> Iterator[NSSubgraph]:
        while self.stack:
            end = self.stack.pop()
            if end in self.seen:
                continue
            start, base = self._chain(end)
            self.seen.add(start)
            self.stack += start.all_input_nodes
            if self._is_matchable(base) and not (start is end and self._is_watcher(end)):
                yield NSSubgraph(start, end, base)

    def _chain(self, end: Node) -> tuple[Node, Node]:
        """The first node and the naming node of the longest chain that ends at a node."""
        start = base = end
        for chain, position in self.fusions:
            if not end_node_matches_reversed_fusion(end, chain, self.gm, self.seen):
                continue
            for step in range(len(chain) - 1):
                self.seen.add(start)
                start = start.args[0]
                if step == len(chain) - 2 - position:
                    base = start
            break
        return start, base

    def _is_watcher(self, node: Node) -> bool:
        if node.op != "call_module":
            return False
        return isinstance(self.gm.get_submodule(str(node.target)), (ObserverBase, FakeQuantizeBase))

    def _is_matchable(self, node: Node) -> bool:
        if node.op == "call_function":
            return node.target not in self.unmatchable["funs_unmatchable"]
        if node.op == "call_method":
            return node.target not in self.unmatchable["meths_unmatchable"]
        if node.op != "call_module":
            return False
        kinds: Any = tuple(self.unmatchable["mods_unmatchable"])
        return not isinstance(self.gm.get_submodule(str(node.target)), kinds)


def _target_type(node: Node, gm: GraphModule) -> Any:
    if node.op in ("call_function", "call_method"):
        return node.target
    return type(gm.get_submodule(str(node.target))) if node.op == "call_module" else None


def _relationship(
    a: NSSubgraph, b: NSSubgraph, models: tuple[GraphModule, GraphModule], related: set[Any]
) -> SubgraphTypeRelationship:
    kinds = SubgraphTypeRelationship
    node_a, node_b = a.base_op_node, b.base_op_node
    if node_a.op != node_b.op and "call_module" in (node_a.op, node_b.op):
        return kinds.NOT_RELATED
    type_a, type_b = _target_type(node_a, models[0]), _target_type(node_b, models[1])
    if node_a.op == "call_module":
        if a.base_op_node is not a.start_node or b.base_op_node is not b.start_node:
            raise AssertionError("the naming module of a chain must be its first node")
        is_equal = type_a is type_b
    else:
        # A chain that begins before its naming operator, such as with dequantize, is another layer.
        is_equal = type_a == type_b and (node_a is a.start_node) == (node_b is b.start_node)
    if (type_a, type_b) in related:
        return kinds.EQUAL if is_equal else kinds.RELATED_BUT_NOT_EQUAL
    return kinds.EQUAL_BUT_UKNOWN if type_a == type_b else kinds.NOT_RELATED


def _name_of(layer: NSSubgraph, gm: GraphModule, sets: Targets, names: set[str]) -> str:
    """A name of a layer's set and its number among the layers of the set, from the end of the graph."""
    target = _target_type(layer.base_op_node, gm)
    base = None
    for name, each in sets.items():
        if target in each:
            base = name
    number = 0
    while (result := f"base_op_{base}_{number}") in names:
        number += 1
    names.add(result)
    return result


def get_matching_subgraph_pairs(
    gm_a: GraphModule,
    gm_b: GraphModule,
    base_name_to_sets_of_related_ops: Targets | None = None,
    unmatchable_types_map: Targets | None = None,
) -> dict[str, tuple[NSSubgraph, NSSubgraph]]:
    """The layers of two graphs of one model in pairs, by names that only depend on the layers.

    Both graphs must have the same number of layers, and in the same order the operators of each pair must be related.
    Observers, and functions that move or quantize numbers, are no layers.

    Args:
        gm_a: the first graph module.
        gm_b: the second one.
        base_name_to_sets_of_related_ops: the sets of related operators.
        unmatchable_types_map: the operators that are no layers.

    Raises:
        GraphMatchingException: the layers are no pairs.

    Example:
        >>> import tl_nn as nn
        >>> from tl_compiler.fx import symbolic_trace
        >>> model = symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
        >>> [(a.start_node.name, b.end_node.name) for a, b in get_matching_subgraph_pairs(model, model).values()]
        [('_0', '_1')]
    """
    unmatchable = get_unmatchable_types_map() if unmatchable_types_map is None else unmatchable_types_map
    sets = base_name_to_sets_of_related_ops
    sets = get_base_name_to_sets_of_related_ops() if sets is None else sets
    related = get_type_a_related_to_b(sets)
    layers_a, layers_b = iter(_Layers(gm_a, unmatchable)), iter(_Layers(gm_b, unmatchable))
    names_a: set[str] = set()
    names_b: set[str] = set()
    result: dict[str, tuple[NSSubgraph, NSSubgraph]] = {}
    while True:
        a, b = next(layers_a, None), next(layers_b, None)
        if a is None and b is None:
            return dict(reversed(result.items()))
        if a is None or b is None:
            raise GraphMatchingException(
                f"the models must have the same number of layers, but {_say(a, gm_a)} and {_say(b, gm_b)} are no pair"
            )
        relationship = _relationship(a, b, (gm_a, gm_b), related)
        if relationship is SubgraphTypeRelationship.NOT_RELATED:
            raise GraphMatchingException(
                f"the layers {_say(a, gm_a)} and {_say(b, gm_b)} are not related; both models must have the same "
                "layers in the same order"
            )
        if relationship is SubgraphTypeRelationship.EQUAL_BUT_UKNOWN:
            continue
        name_a, name_b = _name_of(a, gm_a, sets, names_a), _name_of(b, gm_b, sets, names_b)
        if name_a != name_b:
            raise AssertionError(f"the names of a pair must be equal, but got {name_a} and {name_b}")
        result[name_a] = a, b


def _say(layer: NSSubgraph | None, gm: GraphModule) -> str:
    if layer is None:
        return "none"
    return f"{layer.start_node.name}..{layer.end_node.name} ({_target_type(layer.start_node, gm)})"
