"""Nodes of a graph that match a pattern of operators."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import tl_core
from tl_compiler.fx import Graph, Node
from tl_nn import functional as F
from tl_nn.utils.parametrize import type_before_parametrizations

from ..backend_config import BackendConfig, BackendPatternConfig
from ..backend_config.wildcard import MatchAllNode

__all__ = ["Match", "canonical", "find_matches", "is_match", "pattern_size"]

# Functions of `nn.functional` that patterns know as functions or methods of tensors.
_SAME = {
    F.adaptive_avg_pool1d: tl_core.adaptive_avg_pool1d,
    F.avg_pool1d: tl_core.avg_pool1d,
    F.pixel_shuffle: tl_core.pixel_shuffle,
    F.pixel_unshuffle: tl_core.pixel_unshuffle,
    F.sigmoid: tl_core.sigmoid,
    F.tanh: tl_core.tanh,
    tl_core.max_pool1d: F.max_pool1d,
    tl_core.max_pool2d: F.max_pool2d,
    tl_core.max_pool3d: F.max_pool3d,
}


def canonical(target: Any) -> Any:
    """The function under which patterns name a function.

    Args:
        target: the target of a node.

    Example:
        >>> import tl_core, tl_nn
        >>> canonical(tl_nn.functional.sigmoid) is tl_core.sigmoid
        True
    """
    return _SAME.get(target, target)


@dataclass
class Match:
    """Nodes that match a pattern.

    Args:
        config: the pattern's configuration.
        nodes: the nodes, nested as the pattern.
        last: the node with the pattern's result.
        root: the node that takes the pattern's input.
        members: all nodes, the last one first.
        kind: "pattern", "custom" for a custom class, or "standalone".
        indices: the positions of the root's weight and bias.
    """

    config: BackendPatternConfig
    nodes: Any
    last: Node
    root: Node
    members: list[Node] = field(default_factory=list)
    kind: str = "pattern"
    indices: dict[str, int] = field(default_factory=dict)


def pattern_size(pattern: Any) -> int:
    """The number of entries of a nested pattern.

    Args:
        pattern: the pattern.

    Example:
        >>> pattern_size(("relu", ("add", "conv", "x")))
        4
    """
    return sum(map(pattern_size, pattern)) if isinstance(pattern, tuple) else 1


def is_match(modules: dict[str, Any], node: Any, pattern: Any, max_uses: int = sys.maxsize) -> bool:
    """Whether a node and its arguments match a nested pattern.

    Args:
        modules: the modules by name.
        node: the node.
        pattern: the entry of the node, or a tuple with the entries of its arguments behind it.
        max_uses: the number of users that the node may have. Nodes within a pattern may have one.
    """
    entry, inner = (pattern[0], pattern[1:]) if isinstance(pattern, tuple) else (pattern, ())
    if isinstance(entry, type) and issubclass(entry, MatchAllNode):
        return True
    if not isinstance(node, Node) and not callable(entry) and not isinstance(entry, str):
        return not inner and type(node) is type(entry) and bool(node == entry)  # a constant
    if not isinstance(node, Node) or len(node.users) > max_uses or not _is_call_of(modules, node, entry):
        return False
    if not inner:
        return True
    if len(inner) != len(node.args):
        return False
    return all(is_match(modules, arg, part, 1) for arg, part in zip(node.args, inner, strict=True))


_is_match = is_match  # PyTorch's name


def _is_call_of(modules: dict[str, Any], node: Node, entry: Any) -> bool:
    if node.op == "call_module":
        module = modules.get(str(node.target))
        return (
            isinstance(entry, type) and module is not None and type_before_parametrizations(module) is entry
        )
    if node.op == "call_method":
        return bool(node.target == entry)
    if node.op != "call_function":
        return False
    if node.target is getattr:
        return bool(node.args[1] == entry)
    return canonical(node.target) is entry


def nodes_of(node: Any, pattern: Any) -> Any:
    """The nodes of a match, nested as the pattern.

    Args:
        node: the last node.
        pattern: the nested pattern.
    """
    if not isinstance(pattern, tuple):
        return node
    return (node, *(nodes_of(arg, part) for arg, part in zip(node.args, pattern[1:], strict=True)))


def first_root(nodes: Any) -> Node:
    """The node behind the last arguments of a match: of `(relu, (norm, conv))` the convolution.

    Args:
        nodes: the nodes, nested as a pattern.
    """
    while isinstance(nodes, tuple):
        nodes = nodes[-1]
    return nodes


def _members(nodes: Any, pattern: Any) -> list[Node]:
    if isinstance(pattern, tuple):
        return [n for part, entry in zip(nodes, pattern, strict=True) for n in _members(part, entry)]
    return [] if isinstance(pattern, type) and issubclass(pattern, MatchAllNode) else [nodes]


def match_of(node: Node, pattern: Any, config: BackendPatternConfig) -> Match:
    """The match of a node that matches a pattern.

    Args:
        node: the last node.
        pattern: the nested pattern.
        config: its configuration.
    """
    nodes = nodes_of(node, pattern)
    get_root = config._root_node_getter or first_root
    return Match(config, nodes, node, get_root(nodes), _members(nodes, pattern))


def sorted_patterns(backend: BackendConfig) -> list[tuple[Any, BackendPatternConfig]]:
    """The patterns of a backend in nested form with their configurations, the longest first.

    Args:
        backend: the backend.
    """
    table = backend._pattern_complex_format_to_config
    return sorted(table.items(), key=lambda item: -pattern_size(item[0]))


def find_matches(
    graph: Graph,
    modules: dict[str, Any],
    backend: BackendConfig,
    standalone: Callable[[Node], bool] = lambda node: False,
    custom_classes: Iterable[type] = (),
    is_wanted: Callable[[BackendPatternConfig], bool] = lambda config: True,
) -> dict[str, Match]:
    """The matches of a graph, by the name of each node in a match. No node is in two matches.

    Args:
        graph: the graph.
        modules: the modules by name.
        backend: the backend with the patterns.
        standalone: whether a node calls a module that is quantized apart.
        custom_classes: classes that the user replaces.
        is_wanted: whether a pattern takes part.
    """
    custom = tuple(custom_classes)
    patterns = [(p, config) for p, config in sorted_patterns(backend) if is_wanted(config)]
    matches: dict[str, Match] = {}
    for node in reversed(graph.nodes):
        if node.op not in ("call_function", "call_method", "call_module"):
            continue
        if node.op == "call_module" and (kind := _special(node, modules, standalone, custom)):
            matches[node.name] = Match(BackendPatternConfig(), node, node, node, [node], kind)
            continue
        if node.name in matches:
            continue
        for pattern, config in patterns:
            if not is_match(modules, node, pattern):
                continue
            match = match_of(node, pattern, config)
            if any(member.name in matches for member in match.members):
                continue
            match.indices = _indices(match, backend)
            matches.update((member.name, match) for member in match.members)
            break
    return matches


def _indices(match: Match, backend: BackendConfig) -> dict[str, int]:
    """The positions of weight and bias, as the pattern or the root alone has them."""
    own = match.config._input_type_to_index
    if own or match.root.op != "call_function":
        return own
    alone = backend._pattern_complex_format_to_config.get(canonical(match.root.target))
    return alone._input_type_to_index if alone is not None else {}


def _special(node: Node, modules: dict[str, Any], standalone: Any, custom: tuple[type, ...]) -> str:
    if standalone(node):
        return "standalone"
    return "custom" if type_before_parametrizations(modules[str(node.target)]) in custom else ""
