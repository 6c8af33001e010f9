"""The results of a comparison: nested dictionaries, and the parts of two graphs that are compared."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from tl_compiler.fx import Node

__all__ = [
    "NSNodeTargetType",
    "NSResultsType",
    "NSSingleResultType",
    "NSSingleResultValuesType",
    "NSSubgraph",
]


class NSSingleResultValuesType(enum.StrEnum):
    """What the values of a result are: weights, results of nodes, or their inputs."""

    WEIGHT = "weight"
    NODE_OUTPUT = "node_output"
    NODE_INPUT = "node_input"


class NSSubgraph(NamedTuple):
    """A chain of nodes, such as a layer and its activation.

    Args:
        start_node: the first node.
        end_node: the last node.
        base_op_node: the node whose operator is compared.
    """

    start_node: Node
    end_node: Node
    base_op_node: Node


#: The entry of one value: its kind, the values and the nodes.
NSSingleResultType = dict[str, Any]
#: Lists of entries by the layer's name, the kind of values and the model's name.
NSResultsType = dict[str, dict[str, dict[str, list[NSSingleResultType]]]]
#: A function, a class of modules, or the name of a method.
NSNodeTargetType = Callable[..., Any] | str
