"""The replacement of the layers of a match by a fused layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import tl_core
import tl_nn as nn
from tl_compiler.fx import Graph, Node
from tl_nn import functional as F
from tl_nn.utils.parametrize import type_before_parametrizations

from ..backend_config.wildcard import MatchAllNode
from ..qconfig import qconfig_equals
from .custom_config import FuseCustomConfig

__all__ = ["DefaultFuseHandler", "FuseHandler"]


class FuseHandler(ABC):
    """The base class of handlers: an object for a match.

    Args:
        node: the last node of the match.
    """

    @abstractmethod
    def __init__(self, node: Node) -> None:
        """Takes the last node."""

    @abstractmethod
    def fuse(
        self,
        load_arg: Callable[..., Any],
        named_modules: dict[str, nn.Module],
        fused_graph: Graph,
        root_node: Node,
        extra_inputs: list[Any],
        matched_node_pattern: Any,
        fuse_custom_config: FuseCustomConfig,
        fuser_method_mapping: dict[Any, Any],
        is_qat: bool,
    ) -> Node:
        """Replaces the layers and returns the call of the fused one."""


class DefaultFuseHandler(FuseHandler):
    """The handler of all patterns: the fused layer stands in the place of the layer with the weight.

    Args:
        node: the last node of the match.
    """

    def __init__(self, node: Node) -> None:
        self.last = node

    def fuse(
        self,
        load_arg: Callable[..., Any],
        named_modules: dict[str, nn.Module],
        fused_graph: Graph,
        root_node: Node,
        extra_inputs: list[Any],
        matched_node_pattern: Any,
        fuse_custom_config: FuseCustomConfig,
        fuser_method_mapping: dict[Any, Any],
        is_qat: bool,
    ) -> Node:
        """Replaces the layers and returns the call of the fused one.

        Args:
            load_arg: the node of the new graph for one of the old graph.
            named_modules: the modules by name. The fused layer replaces the root's.
            fused_graph: the new graph.
            root_node: the call of the layer with the weight.
            extra_inputs: further inputs of the fused layer.
            matched_node_pattern: the nodes of the match, nested as the pattern.
            fuse_custom_config: exceptions.
            fuser_method_mapping: the functions that fuse, by pattern of classes and functions.
            is_qat: whether the layers will be trained with rounding.

        Raises:
            AssertionError: If the root is no call of a layer.
        """
        if root_node.op != "call_module":
            raise AssertionError(f"a fused layer needs a layer as its root, but got a {root_node.op}")
        name = str(root_node.target)
        layers = _layers(matched_node_pattern, named_modules, named_modules[name])
        fuse = _fuser(_kinds(layers), _targets(matched_node_pattern, named_modules), fuser_method_mapping)
        module = fuse(is_qat, *_in_order(layers))
        _copy_qconfig(module, _flat(layers))
        named_modules[name] = module
        node = fused_graph.node_copy(root_node, load_arg)
        node.args = (*node.args, *(load_arg(extra) for extra in extra_inputs))
        return node


def _copy_qconfig(module: Any, layers: list[Any]) -> None:
    configs = [
        layer.qconfig for layer in layers if isinstance(layer, nn.Module) and hasattr(layer, "qconfig")
    ]
    if configs and all(qconfig_equals(configs[0], other) for other in configs):
        module.qconfig = configs[0]


def _layers(nodes: Any, modules: dict[str, Any], root: Any) -> Any:
    if isinstance(nodes, tuple):
        return tuple(_layers(part, modules, root) for part in nodes)
    if not isinstance(nodes, Node):
        return MatchAllNode
    if nodes.op == "call_module":
        return modules.get(str(nodes.target), MatchAllNode)
    if nodes.op == "call_function" and nodes.target in _LAYERS:
        return _LAYERS[nodes.target](nodes).train(root.training)
    return nodes.target if nodes.op in ("call_function", "call_method") else MatchAllNode


def _leaky_relu(node: Node) -> nn.Module:
    factor = node.args[1] if len(node.args) > 1 else node.kwargs.get("negative_slope", 0.01)
    return nn.LeakyReLU(factor)


# The layers of functions that are fused.
_LAYERS: dict[Any, Callable[[Node], nn.Module]] = {
    F.relu: lambda node: nn.ReLU(),
    tl_core.relu: lambda node: nn.ReLU(),
    F.leaky_relu: _leaky_relu,
    tl_core.tanh: lambda node: nn.Tanh(),
    F.tanh: lambda node: nn.Tanh(),
}


def _flat(layers: Any) -> list[Any]:
    return [leaf for part in layers for leaf in _flat(part)] if isinstance(layers, tuple) else [layers]


def _kinds(layers: Any) -> Any:
    if isinstance(layers, tuple):
        return tuple(_kinds(part) for part in layers)
    return type_before_parametrizations(layers) if isinstance(layers, nn.Module) else layers


def _targets(nodes: Any, modules: dict[str, Any]) -> Any:
    """The classes and functions of the nodes, nested as they."""
    if isinstance(nodes, tuple):
        return tuple(_targets(part, modules) for part in nodes)
    if isinstance(nodes, Node) and nodes.op == "call_module":
        return type_before_parametrizations(modules[str(nodes.target)])
    return nodes.target if isinstance(nodes, Node) else MatchAllNode


def _fuser(kinds: Any, targets: Any, table: dict[Any, Any]) -> Any:
    for pattern in (targets, kinds):
        if pattern in table:
            return table[pattern]
    for pattern, fuse in table.items():
        if _fits(pattern, kinds) or _fits(pattern, targets):
            return fuse
    raise AssertionError(f"no function fuses the layers {kinds}")


def _fits(pattern: Any, kinds: Any) -> bool:
    if pattern is MatchAllNode:
        return True
    if isinstance(pattern, tuple):
        return (
            isinstance(kinds, tuple)
            and len(pattern) == len(kinds)
            and all(_fits(a, b) for a, b in zip(pattern, kinds, strict=True))
        )
    return bool(pattern == kinds)


def _in_order(layers: Any) -> tuple[Any, ...]:
    """A chain of layers in the order of the calls; branches as they are nested."""
    chain = []
    while isinstance(layers, tuple) and len(layers) == 2:
        chain.append(layers[0])
        layers = layers[1]
    if isinstance(layers, tuple):  # a sum has two operands
        return (*chain, layers) if chain else layers
    return tuple(reversed([*chain, layers]))
