"""Sequences of modules in a graph, and the branches of control flow."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import tl_core
import tl_nn as nn
from tl_compiler.fx import GraphModule, Node
from tl_compiler.fx.passes.utils.source_matcher_utils import SourcePartition, get_source_partitions
from tl_nn import functional as F

__all__ = [
    "bfs_trace_with_node_process",
    "find_sequential_partitions",
    "get_control_flow_submodules",
    "get_equivalent_types",
    "update_equivalent_types_dict",
]

# Modules and functions that compute the same.
_EQUIVALENT_TYPES: list[set[Any]] = [
    {nn.Conv1d, F.conv1d},
    {nn.Conv2d, F.conv2d},
    {nn.AdaptiveAvgPool2d, F.adaptive_avg_pool2d},
    {nn.ReLU, F.relu, F.relu_},
    {nn.BatchNorm2d, F.batch_norm},
    {nn.Hardtanh, F.hardtanh, F.hardtanh_},
    {tl_core.add, operator.add, operator.iadd, "add", "add_"},
    {tl_core.mul, operator.mul, operator.imul, "mul", "mul_"},
]
_TABLE: dict[Any, list[Any]] = {}


def _rebuild() -> None:
    _TABLE.clear()
    for group in _EQUIVALENT_TYPES:
        for kind in group:
            _TABLE[kind] = list(group)


_rebuild()


def get_equivalent_types() -> list[set[Any]]:
    """The groups of modules and functions that compute the same."""
    return _EQUIVALENT_TYPES


def update_equivalent_types_dict(customized_equivalent_types: list[set[Any]] | None = None) -> None:
    """Replaces the groups of modules and functions that compute the same.

    Args:
        customized_equivalent_types: the new groups.

    Raises:
        ValueError: If the groups are None.
    """
    if customized_equivalent_types is None:
        raise ValueError("customized_equivalent_types should not be None")
    _EQUIVALENT_TYPES[:] = customized_equivalent_types
    _rebuild()


def _are_consecutive(parts: tuple[SourcePartition, ...]) -> bool:
    """Whether each part takes the result of the one before it."""
    for first, second in pairwise(parts):
        if len(first.output_nodes) != 1 or first.output_nodes[0] not in second.input_nodes:
            return False
    return True


def find_sequential_partitions(
    gm: GraphModule,
    partition_types: list[Any],
    include_functional_equivalent: bool = True,
    filter_fn: Any = None,
) -> list[tuple[SourcePartition, ...]]:
    """The nodes of a graph where modules or functions of some kinds follow each other.

    Args:
        gm: the graph module.
        partition_types: the kinds in the order of the sequence.
        include_functional_equivalent: whether functions count for modules that compute the same.
        filter_fn: whether a node may be in a part.

    Raises:
        ValueError: If a kind and one that computes the same are both in the sequence.
    """
    groups: list[list[SourcePartition]] = []
    earlier_kinds: set[Any] = set()
    for kind in partition_types:
        kinds = _TABLE.get(kind, [kind]) if include_functional_equivalent else [kind]
        if earlier_kinds & set(kinds):
            raise ValueError(
                f"Invalid partition types: {partition_types}. Each type in the sequence must be unique"
            )
        earlier_kinds |= set(kinds)
        matches = get_source_partitions(gm.graph, list(kinds), filter_fn)
        groups.append([part for parts in matches.values() for part in parts])
    return [parts for parts in product(*groups) if _are_consecutive(parts)]


def _branches(node: Node, model: GraphModule) -> Iterator[tuple[str, Any, Node]]:
    for arg in node.all_input_nodes:
        if arg.op != "get_attr":
            continue
        value: Any = model
        for part in str(arg.target).split("."):
            value = getattr(value, part)
        if isinstance(value, GraphModule):
            yield str(arg.target), value, node


def get_control_flow_submodules(graph_module: GraphModule) -> list[tuple[str, GraphModule, Node]]:
    """The branches of `cond`, `map` and so on: name, graph module and call.

    Args:
        graph_module: the graph module.
    """
    return [entry for node in graph_module.graph.nodes for entry in _branches(node, graph_module)]


def bfs_trace_with_node_process(model: Any, node_op: Any) -> None:
    """Calls a function with each node of a program, those of branches too.

    Args:
        model: an `ExportedProgram` or a graph module.
        node_op: the function.
    """
    pending = [getattr(model, "graph_module", model)]
    while pending:
        current = pending.pop(0)
        for node in current.graph.nodes:
            if node.op not in ("output", "placeholder"):
                node_op(node)
        pending.extend(branch for _, branch, _ in get_control_flow_submodules(current))
