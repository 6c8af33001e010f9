"""Sizes of the values of nodes; changing targets."""

from __future__ import annotations

from typing import Any, NamedTuple

import tl_core

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_aggregate
from .shape_prop import ShapeProp, TensorMetadata

__all__ = [
    "get_size_of_all_nodes",
    "get_size_of_node",
    "get_tensor_meta",
    "replace_target_nodes_with",
    "size_bytes",
]


class size_bytes(NamedTuple):
    """The bytes of a node's result, and of it with the parameters that it reads.

    Example:
        >>> size_bytes(16, 24).total_size
        24
    """

    output_size: int
    total_size: int


def replace_target_nodes_with(
    fx_module: GraphModule, old_op: str, old_target: Any, new_op: str, new_target: Any
) -> None:
    """Changes what the nodes of one kind and target do.

    Args:
        fx_module: the module; its graph is replaced.
        old_op, old_target: which nodes.
        new_op, new_target: what they become.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: x.neg())
        >>> replace_target_nodes_with(made, "call_method", "neg", "call_method", "abs")
        >>> made(tl_core.tensor(-2.0))
        tensor(2.)
    """
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        copies[node] = graph.node_copy(node, lambda n: copies[n])
        if node.op == old_op and node.target == old_target:
            copies[node].op, copies[node].target = new_op, new_target
    fx_module.graph = graph


def get_size_of_all_nodes(fx_module: GraphModule, args: list[Any] | None = None) -> None:
    """Gives each node an attribute `size_bytes`.

    Args:
        fx_module: the module.
        args: inputs; with them shapes are propagated first.

    Example:
        >>> import tl_core
        >>> from tl_compiler.fx import symbolic_trace
        >>> module = symbolic_trace(lambda x: x + 1)
        >>> get_size_of_all_nodes(module, [tl_core.ones(4)])
        >>> list(module.graph.nodes)[1].size_bytes.output_size
        16
    """
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node: Node) -> Any:
    """What shape propagation found of a node's value.

    Args:
        node: the node.

    Returns:
        The metadata.

    Raises:
        RuntimeError: shapes have not been propagated.

    Example:
        >>> import tl_core
        >>> from tl_compiler.fx import symbolic_trace
        >>> from tl_compiler.fx.passes.shape_prop import ShapeProp
        >>> module = symbolic_trace(lambda x: x + 1)
        >>> _ = ShapeProp(module).propagate(tl_core.ones(2))
        >>> get_tensor_meta(list(module.graph.nodes)[1]).shape
        torch.Size([2])
    """
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run."
        )
    return meta


def _bytes(metadata: Any) -> int:
    total = 0

    def add(leaf: Any) -> Any:
        nonlocal total
        if isinstance(leaf, TensorMetadata):
            count = 1
            for size in leaf.shape:
                count *= int(size)
            total += count * tl_core.empty(0, dtype=leaf.dtype).element_size()
        return leaf

    if isinstance(metadata, TensorMetadata):
        add(metadata)
    else:
        map_aggregate(metadata, add)
    return total


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The bytes of a node's result, and with the parameters that it reads.

    Args:
        fx_module: the module.
        node: the node.

    Returns:
        Both numbers.
    """
    parameters = 0
    if node.op == "call_module":
        called = dict(fx_module.named_modules())[str(node.target)]
        parameters = sum(p.nelement() * p.element_size() for p in called.parameters())
    own = _bytes(get_tensor_meta(node))
    return size_bytes(own, own + parameters)
