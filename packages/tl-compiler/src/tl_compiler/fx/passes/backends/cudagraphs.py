"""Partitions that could be captured as CUDA graphs."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from ...graph_module import GraphModule
from ...node import Node
from ..fake_tensor_prop import FakeTensorProp
from ..infra.partitioner import CapabilityBasedPartitioner
from ..operator_support import OperatorSupport
from ..tools_common import CALLABLE_NODE_OPS

__all__ = ["CudaGraphsSupport", "partition_cudagraphs"]


class CudaGraphsSupport(OperatorSupport):
    """Supported are nodes all of whose tensors are on a CUDA device.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> node = list(symbolic_trace(lambda x: x + 1).graph.nodes)[1]
        >>> CudaGraphsSupport().is_node_supported({}, node)
        False
    """

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Whether a node's tensors are all on a CUDA device.

        Args:
            submodules: the modules that the graph calls.
            node: the node, with its value in `meta["val"]`.

        Returns:
            True if they are.
        """
        if node.op not in CALLABLE_NODE_OPS:
            return False
        if node.target is operator.getitem:
            return True
        values: list[Any] = [n.meta.get("val") for n in (*node.all_input_nodes, node)]
        devices = [value.device.type for value in values if hasattr(value, "device")]
        return bool(devices) and all(kind == "cuda" for kind in devices)


def partition_cudagraphs(gm: GraphModule, inputs: Sequence[Any]) -> GraphModule:
    """Makes submodules of the parts of a graph that run on a CUDA device only.

    Args:
        gm: the module; it is changed.
        inputs: its inputs, from which the devices of values are found.

    Returns:
        The module; without a CUDA device in use there are no parts.
    """
    FakeTensorProp(gm).propagate(*inputs)
    for node in gm.graph.nodes:
        node.meta.setdefault("val", None)
    return CapabilityBasedPartitioner(
        gm, CudaGraphsSupport(), allows_single_node_partition=True
    ).partition_and_fuse()
