"""Finding a pattern in a graph: both are walked from their results towards their inputs."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from ...graph import Graph
from ...node import Node
from ..tools_common import leads_back

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """An occurrence of a pattern.

    Args:
        anchors: the nodes from which the pattern was walked, its last ones.
        nodes_map: from nodes of the pattern to those of the graph.
        placeholder_nodes: what the pattern's arguments stand for, in their order.
        returning_nodes: the nodes whose values the pattern returns.
        name_node_map: nodes by names that the pattern gives, where it does.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Node] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            list(self.anchors),
            dict(self.nodes_map),
            list(self.placeholder_nodes),
            list(self.returning_nodes),
            dict(self.name_node_map),
        )


class SubgraphMatcher:
    """Looks for a pattern.

    Args:
        pattern: the pattern's graph; its placeholders stand for any value.
        match_output: whether the output node must be matched too.
        match_placeholder: whether placeholders stand for placeholders only.
        remove_overlapping_matches: whether a node belongs to one occurrence only.
        ignore_literals: whether constants in the pattern stand for any.

    Raises:
        ValueError: the pattern has no nodes but its arguments and its result.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.is_impure() and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        self.pattern_returning_nodes = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:
            self.pattern_anchors = [n for n in self.pattern_returning_nodes if len(n.users) == 1]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The occurrences of the pattern.

        Args:
            graph: the graph that is searched.
            node_name_match: a text that the names of matched anchors contain.

        Returns:
            The occurrences, the one nearest to the graph's end first.
        """
        candidates = [
            [n for n in reversed(graph.nodes) if self._same_kind(anchor, n) and node_name_match in n.name]
            for anchor in self.pattern_anchors
        ]
        matches: list[InternalMatch] = []
        self._from_anchors(0, candidates, InternalMatch([]), matches)
        contained = [m for m in matches if self._is_contained(m) and not _leads_back(m)]
        return self._without_overlaps(contained) if self.remove_overlapping_matches else contained

    def _from_anchors(
        self, index: int, candidates: list[list[Node]], match: InternalMatch, matches: list[InternalMatch]
    ) -> None:
        if index == len(self.pattern_anchors):
            match.placeholder_nodes = [
                match.nodes_map[n] for n in self.pattern_placeholder_nodes if n in match.nodes_map
            ]
            match.returning_nodes = [match.nodes_map[n] for n in self.pattern_returning_nodes]
            matches.append(match)
            return
        for node in candidates[index]:
            trial = copy.copy(match)
            if self._match_nodes(self.pattern_anchors[index], node, trial):
                trial.anchors.append(node)
                self._from_anchors(index + 1, candidates, trial, matches)

    # ---- two nodes
    def _same_kind(self, own: Node, other: Node) -> bool:
        if own.op == "placeholder" and not self.match_placeholder:
            return True
        if own.op != other.op:
            return False
        if own.op in ("placeholder", "output"):
            return True
        if own.op in ("get_attr", "call_module"):
            return self._same_attribute(own, other)
        return own.target == other.target

    def _same_attribute(self, own: Node, other: Node) -> bool:
        """Modules are the same if their classes are, other attributes if their types are."""
        own_value, other_value = (_attribute(node) for node in (own, other))
        if own_value is None or other_value is None:
            return own.target == other.target
        return type(own_value) is type(other_value)

    def _match_nodes(self, own: Node, other: Any, match: InternalMatch) -> bool:
        if not isinstance(other, Node):
            return own.op == "placeholder" and self._stand_for(own, other, match)
        if own in match.nodes_map:
            return match.nodes_map[own] is other
        is_matched = own.op != "placeholder" and other in match.nodes_map.values()
        if is_matched or not self._same_kind(own, other):
            return False
        match.nodes_map[own] = other
        if own.op == "placeholder":
            return True
        if self._match_structure(own.args, other.args, match) and self._match_structure(
            own.kwargs, other.kwargs, match
        ):
            return True
        left, right = _by_schema(own), _by_schema(other)
        if left is not None and right is not None and self._match_structure(left, right, match):
            return True
        del match.nodes_map[own]
        return False

    def _stand_for(self, own: Node, value: Any, match: InternalMatch) -> bool:
        """An argument of the pattern may be a constant in the graph."""
        if own in match.nodes_map:
            return bool(match.nodes_map[own] == value)
        match.nodes_map[own] = value
        return True

    def _match_structure(self, own: Any, other: Any, match: InternalMatch) -> bool:
        if isinstance(own, Node):
            return self._match_nodes(own, other, match)
        if isinstance(own, (list, tuple)):
            if not isinstance(other, (list, tuple)) or len(own) != len(other):
                return False
            return all(self._match_structure(a, b, match) for a, b in zip(own, other, strict=True))
        if isinstance(own, dict):
            if not isinstance(other, dict) or own.keys() != other.keys():
                return False
            return all(self._match_structure(own[key], other[key], match) for key in own)
        if isinstance(other, Node):
            return False
        return self.ignore_literals or (type(own) is type(other) and own == other)

    # ---- an occurrence
    def _is_contained(self, match: InternalMatch) -> bool:
        """Whether nobody outside uses a value inside, but for those that are returned."""
        inner = {
            n: own for own, n in match.nodes_map.items() if isinstance(n, Node) and own.op != "placeholder"
        }
        returned = set(self.pattern_returning_nodes)
        return all(
            own in returned or own.op == "output" or all(user in inner for user in node.users)
            for node, own in inner.items()
        )

    def _without_overlaps(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        matched: set[Node] = set()
        alone: list[InternalMatch] = []
        for match in matches:
            inner = {n for own, n in match.nodes_map.items() if own.op not in ("placeholder", "output")}
            if not matched & inner:
                alone.append(match)
                matched |= inner
        return alone


def _by_schema(node: Node) -> list[Any] | None:
    """All arguments of an operator in the order of its schema, with the defaults that were left out."""
    parameters = _schema_arguments(node.target)
    if parameters is None or len(node.args) > len(parameters):
        return None
    values: list[Any] = list(node.args)
    for name, default in parameters[len(values) :]:
        if name in node.kwargs:
            values.append(node.kwargs[name])
        elif default is _REQUIRED:
            return None
        else:
            values.append(default)
    return values


_REQUIRED: Any = object()


def _schema_arguments(target: Any) -> list[tuple[str, Any]] | None:
    """Names and defaults of an operator's arguments; None for other functions."""
    schema = getattr(target, "_schema", None)
    arguments = getattr(schema, "arguments", None)
    if arguments is None:
        return None
    return [(a.name, a.default_value if a.has_default_value() else _REQUIRED) for a in arguments]


def _leads_back(match: InternalMatch) -> bool:
    """Whether a way leads out of an occurrence and back into it: it can't be replaced as one."""
    inside = {
        n
        for own, n in match.nodes_map.items()
        if isinstance(n, Node) and own.op not in ("placeholder", "output")
    }
    return leads_back(inside)


def _attribute(node: Node) -> Any:
    value = node.graph.owning_module
    for part in str(node.target).split("."):
        value = getattr(value, part, None)
    return value
