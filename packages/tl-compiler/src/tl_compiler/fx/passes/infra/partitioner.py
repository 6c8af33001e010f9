"""Partitions: the largest groups of nodes that a backend can run as one, without cycles between groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...graph_module import GraphModule
from ...names import qualified_name
from ...node import Node
from ..operator_support import OperatorSupportBase
from ..utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """A group of nodes.

    Args:
        id: its number.
        nodes: the nodes.
        node_orders: the place of each in the graph.

    Example:
        >>> Partition(id=3).id
        3
    """

    def __init__(
        self,
        id: int | None = None,
        nodes: Iterable[Node] | None = None,
        node_orders: Iterable[int] | None = None,
    ) -> None:
        self.id = id
        self.nodes: dict[Node, int | None] = {}
        for node in nodes or ():
            self.nodes[node] = None
        if node_orders is not None:
            self.nodes = dict(zip(self.nodes, node_orders, strict=True))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Adds a node.

        Args:
            node: the node.
            node_order: its place in the graph.
        """
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """Removes a node.

        Args:
            node: the node.
        """
        del self.nodes[node]

    def size(self) -> int:
        """The number of nodes.

        Returns:
            It.
        """
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Groups the nodes that a backend supports.

    Args:
        graph_module: the module.
        operator_support: says which nodes are supported.
        allows_single_node_partition: whether a group of one node that computes something stays a group.
        non_compute_ops: names of targets that compute nothing, such as views.
        allowed_single_node_partition_ops: names of targets that may be alone in a group.

    Example:
        >>> import operator
        >>> from tl_compiler.fx import symbolic_trace
        >>> from tl_compiler.fx.passes.operator_support import create_op_support
        >>> made = symbolic_trace(lambda x: ((x + 1) + 2).neg())
        >>> adds = create_op_support(lambda modules, node: node.target is operator.add)
        >>> print(CapabilityBasedPartitioner(made, adds).partition_and_fuse().graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %fused_0 : [num_users=1] = call_module[target=fused_0](args = (%x,), kwargs = {})
            %neg : [num_users=1] = call_method[target=neg](args = (%fused_0,), kwargs = {})
            return neg
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
    ) -> None:
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self._modules: Mapping[str, object] = dict(graph_module.named_modules())

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(self._modules, node)

    def propose_partitions(self) -> list[Partition]:
        """The groups.

        Returns:
            Those of the graph's end first.
        """
        group_of: dict[Node, int] = {}
        groups: dict[int, Partition] = {}
        index = {node: i for i, node in enumerate(self.graph_module.graph.nodes)}
        for node in reversed(self.graph_module.graph.nodes):
            if not self._is_node_supported(node):
                continue
            own = len(index) - index[node]
            groups[own] = Partition(own, [node], [index[node]])
            group_of[node] = own
            # With its users first, then with the other groups, as long as no cycle comes of it.
            near = dict.fromkeys(group_of[user] for user in node.users if user in group_of)
            for other in [*near, *(g for g in reversed(list(groups)) if g not in near)]:
                if other != own and not self._is_cyclic(groups[own], groups[other], group_of, groups):
                    for member, order in groups.pop(other).nodes.items():
                        groups[own].add_node(member, order)
                        group_of[member] = own
        self._keep_items_with_their_source(group_of, groups)
        if not self.allows_single_node_partition:
            self._drop_small(groups)
        partitions = [group for group in groups.values() if group.size()]
        return sorted(partitions, key=lambda g: -max(order or 0 for order in g.nodes.values()))

    def _is_cyclic(
        self, one: Partition, other: Partition, group_of: dict[Node, int], groups: dict[int, Partition]
    ) -> bool:
        """Whether a way leads from two groups, taken as one, out of them and back; other groups are one step."""
        merged = {**one.nodes, **other.nodes}
        pending = [user for node in merged for user in node.users if user not in merged]
        visited: set[Node] = set()
        seen_groups: set[int] = set()
        while pending:
            node = pending.pop()
            if node in merged:
                return True
            if node in visited:
                continue
            visited.add(node)
            members: Iterable[Node] = (node,)
            if node in group_of:
                if group_of[node] in seen_groups:
                    continue
                seen_groups.add(group_of[node])
                members = groups[group_of[node]].nodes
            pending += [user for member in members for user in member.users]
        return False

    def _keep_items_with_their_source(self, group_of: dict[Node, int], groups: dict[int, Partition]) -> None:
        """Items of a result of several values stay in the group that makes it."""
        for source in self.graph_module.graph.nodes:
            if not all(_target_name(user) == "_operator.getitem" for user in source.users):
                continue
            home = group_of.get(source)
            for item in source.users:
                before = group_of.get(item)
                if before == home:
                    continue
                if before is not None:
                    groups[before].remove_node(item)
                    del group_of[item]
                if home is not None:
                    groups[home].add_node(item)
                    group_of[item] = home

    def _drop_small(self, groups: dict[int, Partition]) -> None:
        idle = {"torch.ops.aten.view", "_operator.getitem", *self.non_compute_ops}
        for number, group in list(groups.items()):
            computing = [n for n in group.nodes if n.op != "call_function" or _target_name(n) not in idle]
            alone = any(_target_name(n) in self.allowed_single_node_partition_ops for n in group.nodes)
            if len(computing) <= 1 and not alone:
                del groups[number]

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """Makes a submodule of each group.

        Args:
            partitions: the groups.
            prefix: how the submodules' names begin.

        Returns:
            The module, changed.
        """
        return fuse_by_partitions(
            self.graph_module, [partition.nodes for partition in partitions], prefix=prefix
        )

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Takes nodes that compute nothing from the beginnings and ends of groups.

        Args:
            partitions: the groups, changed in place.
        """
        idle = set(self.non_compute_ops)

        def is_idle(node: Node) -> bool:
            return node.op == "call_function" and _target_name(node) in idle

        for group in partitions:
            changed = True
            while changed:
                changed = False
                for node in list(group.nodes):
                    if not is_idle(node):
                        continue
                    begins = not any(n in group.nodes for n in node.all_input_nodes)
                    ends = not any(n in group.nodes for n in node.users)
                    if begins or ends:
                        group.remove_node(node)
                        changed = True

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Groups and fuses.

        Args:
            prefix: how the submodules' names begin.

        Returns:
            The module, changed.
        """
        return self.fuse_partitions(self.propose_partitions(), prefix)


def _target_name(node: Node) -> str:
    if node.op != "call_function" or isinstance(node.target, str):
        return ""
    packet = getattr(node.target, "overloadpacket", node.target)
    if hasattr(packet, "overloads"):
        return f"torch.ops.{packet}"
    name = qualified_name(packet)
    return f"_operator.{name.rpartition('.')[2]}" if name.startswith("operator.") else name
