"""What passes that split graphs share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import tl_core
import tl_nn

from ..graph import Graph
from ..graph_module import GraphModule
from ..names import qualified_name
from ..node import Node

__all__ = [
    "CALLABLE_NODE_OPS",
    "FxNetAccFusionsFinder",
    "NodeList",
    "NodeSet",
    "Names",
    "Tensors",
    "TensorOrTensors",
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "leads_back",
    "legalize_graph",
    "stable_topological_sort",
]

Tensors = tuple[tl_core.Tensor, ...] | list[tl_core.Tensor]
TensorOrTensors = tl_core.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k: Any) -> str:
    """The name of a function that an accelerator has, with its module for others.

    Args:
        k: the function, or a name.

    Returns:
        The name.

    Example:
        >>> import tl_core
        >>> from tl_compiler.fx import symbolic_trace
        >>> get_acc_ops_name(tl_core.add)
        'tl_core.add'
    """
    if isinstance(k, str):
        return k
    if k.__module__ and "acc_ops" in k.__module__:
        return f"acc_ops.{k.__name__}"
    module = k.__module__.replace("torch._ops", "torch.ops")
    return f"{module if module else ''}.{k.__name__}"


def get_node_target(submodules: Mapping[str, tl_nn.Module], node: Node) -> str:
    """A name for what a node calls.

    Args:
        submodules: the modules that the graph calls, by path.
        node: the node.

    Returns:
        The path of the module's class, the function's full name, or the method's name.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: tl_core.relu(x))
        >>> get_node_target({}, made.graph.find_nodes(op="call_function")[0])
        'torch.relu'
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}")
    if node.op == "call_module":
        module = submodules[str(node.target)]
        called = getattr(module, "_base_class_origin", type(module))
        return get_acc_ops_name(called)
    if node.op == "call_function":
        function: Any = node.target
        if "acc_ops" in (getattr(function, "__module__", "") or ""):
            return f"acc_ops.{function.__name__}"
        name = qualified_name(function)
        return f"_operator.{name.rpartition('.')[2]}" if name.startswith("operator.") else name
    return str(node.target)


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node gives a tensor, as shape propagation found.

    Args:
        node: the node.

    Returns:
        True if it does.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> is_node_output_tensor(next(iter(symbolic_trace(lambda x: x + 1).graph.nodes)))
        False
    """
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, tl_core.Tensor)


class FxNetAccFusionsFinder:
    """Finds nodes that have to stay together, because what is passed between them is no tensor.

    Args:
        module: the module.
        acc_nodes: the nodes that the accelerator runs; those that can't stay together are taken out.
    """

    @dataclass
    class FusionGroup:
        """Nodes that have to stay together.

        Args:
            top_node_idx: the position of the first node in the graph.
            nodes: the nodes.
            inputs: the nodes outside of the group that it reads.
            nodes_need_process: the nodes whose neighbours were not looked at.
        """

        top_node_idx: int
        nodes: NodeSet
        inputs: NodeSet
        nodes_need_process: NodeSet = field(default_factory=set)

        def add_node(self, node: Node) -> None:
            """Adds a node, and its inputs and outputs that the group lacks."""
            if node in self.nodes:
                return
            self.nodes_need_process.add(node)
            self.nodes.add(node)
            self.inputs.discard(node)
            self.inputs.update(
                n for n in node.all_input_nodes if n.op in CALLABLE_NODE_OPS and n not in self.nodes
            )

    def __init__(self, module: GraphModule, acc_nodes: NodeSet) -> None:
        self.module = module
        self.nodes = list(module.graph.nodes)
        self.acc_nodes = acc_nodes

    def recursive_add_node(
        self, fusion_group: FusionGroup, inputs: NodeSet | NodeList, visited: NodeSet | None = None
    ) -> bool:
        """Adds what lies on ways from a group back to itself.

        Args:
            fusion_group: the group.
            inputs: nodes from which the ways are followed upwards.
            visited: those that were seen.

        Returns:
            Whether one of them leads to the group.
        """
        reaches = False
        for node in inputs:
            if visited is not None:
                if node in visited:
                    continue
                visited.add(node)
            if node not in self.acc_nodes and node in fusion_group.nodes:
                return True
            if node in fusion_group.nodes:
                reaches = True
                continue
            if self.nodes.index(node) < fusion_group.top_node_idx:
                continue
            if self.recursive_add_node(fusion_group, node.all_input_nodes, visited):
                fusion_group.add_node(node)
                reaches = True
        return reaches

    def __call__(self) -> dict[Node, NodeSet]:
        result: dict[Node, NodeSet] = {}
        for node in list(self.acc_nodes):
            if node in result or node.op not in CALLABLE_NODE_OPS or "tensor_meta" in node.meta:
                continue
            if node not in self.acc_nodes:
                continue
            group = self.FusionGroup(self.nodes.index(node), {node}, set(node.all_input_nodes), {node})
            while group.nodes_need_process:
                current = group.nodes_need_process.pop()
                self.recursive_add_node(group, group.inputs, visited=set())
                if "tensor_meta" not in current.meta:
                    for user in current.users:
                        if user.op in CALLABLE_NODE_OPS and user not in group.nodes:
                            group.add_node(user)
                            self.recursive_add_node(group, group.inputs, visited=set())
                for argument in current.all_input_nodes:
                    if argument.op not in CALLABLE_NODE_OPS or "tensor_meta" in argument.meta:
                        continue
                    if argument in group.nodes:
                        continue
                    group.add_node(argument)
                    group.top_node_idx = min(group.top_node_idx, self.nodes.index(argument))
                    self.recursive_add_node(group, group.inputs, visited=set())
            if not group.nodes <= self.acc_nodes:
                self.acc_nodes -= group.nodes
            else:
                for member in group.nodes:
                    result[member] = group.nodes
        return result


def leads_back(inside: set[Node]) -> bool:
    """Whether a way leads out of a set of nodes and back into it: then it can't be one node.

    Args:
        inside: the nodes.

    Returns:
        True if there is such a way.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> leads_back(set())
        False
    """
    pending = [user for node in inside for user in node.users if user not in inside]
    visited: set[Node] = set()
    while pending:
        node = pending.pop()
        if node in inside:
            return True
        if node not in visited:
            visited.add(node)
            pending.extend(node.users)
    return False


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Orders the nodes so that each comes after those that it uses, by their distance from the inputs.

    Args:
        gm: the module; its graph is replaced.

    Returns:
        The module.

    Raises:
        RuntimeError: there is a cycle.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> [node.op for node in legalize_graph(symbolic_trace(lambda x: x + 1)).graph.nodes]
        ['placeholder', 'call_function', 'output']
    """
    waiting = {node: len(node.all_input_nodes) for node in gm.graph.nodes}
    ready = [node for node in gm.graph.nodes if waiting[node] == 0]
    graph = Graph()
    copies: dict[Node, Node] = {}
    while ready:
        node = ready.pop(0)
        if node.op == "output":
            continue
        copies[node] = graph.node_copy(node, lambda n: copies[n])
        for user in node.users:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    return _with_nodes(gm, graph, copies)


def _with_nodes(gm: GraphModule, graph: Graph, copies: dict[Node, Node]) -> GraphModule:
    outputs = gm.graph.find_nodes(op="output")
    if len(copies) + len(outputs) < len(gm.graph.nodes):
        missing = [node for node in gm.graph.nodes if node not in copies and node.op != "output"]
        raise RuntimeError(f"Input graph has cycles, unable to add {missing}")
    for output in outputs:
        graph.node_copy(output, lambda n: copies[n])
    graph._codegen = gm.graph._codegen
    gm.graph = graph
    return gm


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Orders the nodes so that each comes after those that it uses; those that do stay where they are.

    Args:
        gm: the module; its graph is replaced.

    Returns:
        The module.

    Raises:
        RuntimeError: there is a cycle.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> [node.op for node in stable_topological_sort(symbolic_trace(lambda x: x + 1)).graph.nodes]
        ['placeholder', 'call_function', 'output']
    """
    graph = Graph()
    copies: dict[Node, Node] = {}
    waiting: dict[Node, list[Node]] = {}
    pending = [node for node in reversed(list(gm.graph.nodes)) if node.op != "output"]
    while pending:
        node = pending.pop()
        missing = [n for n in node.all_input_nodes if n not in copies]
        if missing:
            waiting.setdefault(missing[-1], []).append(node)
            continue
        copies[node] = graph.node_copy(node, lambda n: copies[n])
        pending.extend(reversed(waiting.pop(node, [])))
    return _with_nodes(gm, graph, copies)
