"""Groups of nodes turned into submodules."""

from __future__ import annotations

import operator
from collections.abc import Iterable

from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node
from ..tools_common import NodeList, leads_back, legalize_graph
from .common import lift_subgraph_as_module

__all__ = [
    "erase_nodes",
    "fuse_as_graphmodule",
    "fuse_by_partitions",
    "insert_subgm",
    "topo_sort",
    "validate_partition",
]


def topo_sort(nodes: NodeList) -> NodeList:
    """Nodes in an order in which each comes after those that it uses.

    Args:
        nodes: the nodes.

    Returns:
        The same nodes in order.

    Raises:
        AssertionError: there is a cycle.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> module = symbolic_trace(lambda x: (x + 1) * 2)
        >>> x, plus, times, _ = module.graph.nodes
        >>> [node.name for node in topo_sort([times, plus])]
        ['add', 'mul']
    """
    waiting = {node: sum(n in nodes for n in node.all_input_nodes) for node in nodes}
    ready = [node for node in nodes if waiting[node] == 0]
    ordered: NodeList = []
    while ready:
        node = ready.pop(0)
        ordered.append(node)
        for user in node.users:
            if user in waiting:
                waiting[user] -= 1
                if waiting[user] == 0:
                    ready.append(user)
    if len(ordered) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return ordered


def validate_partition(partition: NodeList) -> bool:
    """Whether no way leads out of a group and back into it.

    Args:
        partition: the nodes of the group.

    Returns:
        True if the group can be one step.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> module = symbolic_trace(lambda x: (x + 1) * 2)
        >>> x, plus, times, _ = module.graph.nodes
        >>> validate_partition([plus, times])
        True
    """
    return not leads_back(set(partition))


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: NodeList,
    module_name: str,
    partition_lookup_table: dict[Node, int | None] | None = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """Makes a module of some nodes of a graph.

    Args:
        gm: the module with the graph.
        nodes: the nodes, in order.
        module_name: the name of the new module's class.
        partition_lookup_table: the same nodes, for look-up.
        always_return_tuple: whether it returns a tuple even of one value.

    Returns:
        The module, the nodes that it uses, and those of its nodes that others use.

    Raises:
        AssertionError: a node is of another module, or a way leads out of the group and back.

    Example:
        >>> import tl_core
        >>> from tl_compiler.fx import symbolic_trace
        >>> module = symbolic_trace(lambda x: (x + 1) * 2)
        >>> x, plus, times, _ = module.graph.nodes
        >>> part, inputs, outputs = fuse_as_graphmodule(module, [plus, times], "fused")
        >>> part(tl_core.ones(2)), inputs, outputs
        (tensor([4., 4.]), (x,), (mul,))
    """
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    inside = dict.fromkeys(nodes) if partition_lookup_table is None else partition_lookup_table
    graph = Graph()
    inputs: dict[Node, Node] = {}
    copies: dict[Node, Node] = {}

    def remap(used: Node) -> Node:
        if used in inside:
            return copies[used]
        if used not in inputs:
            inputs[used] = graph.placeholder(used.name, type_expr=used.type)
            inputs[used].meta = used.meta.copy()
        return inputs[used]

    for node in nodes:
        copies[node] = graph.node_copy(node, remap)
    outputs = tuple(node for node in nodes if any(user not in inside for user in node.users))
    values = tuple(copies[node] for node in outputs)
    graph.output(values[0] if len(values) == 1 and not always_return_tuple else values)
    graph.lint()
    module, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return module, tuple(inputs), outputs


def insert_subgm(
    gm: GraphModule, sub_gm: GraphModule, orig_inputs: tuple[Node, ...], orig_outputs: tuple[Node, ...]
) -> GraphModule:
    """Calls a module in the place of nodes.

    Args:
        gm: the module with the graph.
        sub_gm: the module that is called; it is added under the name of its class.
        orig_inputs: what it takes.
        orig_outputs: the nodes whose values it gives.

    Returns:
        The module with the graph.
    """
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    last = max(orig_outputs, default=None)
    with gm.graph.inserting_after(last if last is not None else max(orig_inputs)):
        call = gm.graph.call_module(name, args=orig_inputs)
        output = sub_gm.graph.output_node().args[0]
        if len(orig_outputs) == 1 and not isinstance(output, tuple):
            orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
            return gm
    behind = call
    for i, old in enumerate(orig_outputs):
        with gm.graph.inserting_after(behind):
            behind = gm.graph.call_function(operator.getitem, (call, i))
        old.replace_all_uses_with(behind, propagate_meta=True)
    call.meta["val"] = tuple(old.meta.get("val") for old in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: NodeList) -> None:
    """Removes nodes that nobody outside uses.

    Args:
        gm: the module with the graph.
        nodes: the nodes, in order.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> module = symbolic_trace(lambda x: x)
        >>> erase_nodes(module, [])
    """
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule,
    partitions: Iterable[dict[Node, int | None]],
    prefix: str = "fused_",
    always_return_tuple: bool = False,
) -> GraphModule:
    """Makes submodules of groups of nodes.

    Args:
        gm: the module; it is changed.
        partitions: the groups.
        prefix: how the names of the submodules begin.
        always_return_tuple: whether they return a tuple even of one value.

    Returns:
        The module.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> module = symbolic_trace(lambda x: (x + 1) * 2)
        >>> x, plus, times, _ = module.graph.nodes
        >>> fused = fuse_by_partitions(module, [{plus: None, times: None}])
        >>> [node.op for node in fused.graph.nodes]
        ['placeholder', 'call_module', 'output']
    """
    for number, group in enumerate(partitions):
        ordered = topo_sort(list(group))
        module, inputs, outputs = fuse_as_graphmodule(
            gm, ordered, f"{prefix}{number}", group, always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, module, inputs, outputs)
        erase_nodes(gm, ordered)
    return legalize_graph(gm)
