"""Splitting a graph over devices, by sizes, by time, or as told."""

from __future__ import annotations

import operator
from collections import deque
from typing import NamedTuple

import tl_nn
from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.node import Node
from tl_compiler.fx.passes.split_module import split_module

from .partitioner_utils import (
    Device,
    NodeLatency,
    Partition,
    PartitionerConfig,
    PartitionMode,
    get_extra_size_of,
    get_latency_of_partitioned_graph,
    get_partition_to_latency_mapping,
)

__all__ = ["DAG", "DAGNode", "PartitionResult", "Partitioner"]

_SILENT = ("placeholder", "get_attr", "output")


class DAGNode:
    """A part as a node of the graph of parts.

    Args:
        submodule_node: the node that calls it.
        input_nodes: what it uses.
        output_nodes: what uses it.
        logical_device_ids: its devices.
        size_bytes: its memory.
    """

    def __init__(
        self,
        submodule_node: Node,
        input_nodes: list[Node],
        output_nodes: list[Node],
        logical_device_ids: list[int],
        size_bytes: int,
    ) -> None:
        self.submodule_node = submodule_node
        self.input_nodes = input_nodes
        self.output_nodes = output_nodes
        self.logical_device_ids = logical_device_ids
        self.size_bytes = size_bytes

    def __str__(self) -> str:
        return str(self.submodule_node)


class DAG:
    """The parts, in the order in which they run.

    Example:
        >>> DAG().nodes
        []
    """

    def __init__(self) -> None:
        self.nodes: list[DAGNode] = []

    def create_node(
        self,
        submodule_node: Node,
        input_nodes: list[Node],
        output_nodes: list[Node],
        logical_devices: list[int],
        size_bytes: int,
    ) -> None:
        """Adds a part.

        Args:
            submodule_node: the node that calls it.
            input_nodes: what it uses.
            output_nodes: what uses it.
            logical_devices: its devices.
            size_bytes: its memory.
        """
        self.nodes.append(DAGNode(submodule_node, input_nodes, output_nodes, logical_devices, size_bytes))


class PartitionResult(NamedTuple):
    """The parts, and the module that calls them.

    Example:
        >>> PartitionResult(DAG(), None).dag.nodes
        []
    """

    dag: DAG
    module_with_submodules: GraphModule


class Partitioner:
    """Splits a graph over devices.

    Nodes need `size_bytes`, which `graph_manipulation.get_size_of_all_nodes` finds.

    Example:
        >>> import tl_core
        >>> from tl_compiler.fx import symbolic_trace
        >>> from tl_compiler.fx.passes.graph_manipulation import get_size_of_all_nodes
        >>> made = symbolic_trace(lambda a, b: a + b)
        >>> get_size_of_all_nodes(made, [tl_core.ones(1), tl_core.ones(1)])
        >>> config = PartitionerConfig([Device("small", 4, 0), Device("large", 100, 1)])
        >>> Partitioner().partition_graph(made, made, config).dag.nodes[0].logical_device_ids
        [1]
    """

    def __init__(self) -> None:
        self.partitions: list[Partition] = []
        self.node_to_partition: dict[Node, int] = {}
        self.devices: list[Device] = []

    def partition_graph(
        self, fx_module: GraphModule, torch_module: tl_nn.Module, partitioner_config: PartitionerConfig
    ) -> PartitionResult:
        """Splits a module.

        Args:
            fx_module: the traced module.
            torch_module: the module that it was traced from.
            partitioner_config: devices, and how it is split.

        Returns:
            The parts, and a module that calls them.

        Raises:
            RuntimeError: it doesn't fit the devices.
        """
        self.graph_module = fx_module
        self.torch_module = torch_module
        self.devices = partitioner_config.devices
        config = partitioner_config
        if not self.devices:
            raise RuntimeError("No devices")
        self.partitions, self.node_to_partition = [], {}
        total = _size_of_all(self.graph_module)
        if config.mode is PartitionMode.aot_based:
            self._as_told(config)
        elif (device := self._large_enough(total)) is not None:
            self._in_one(device)
            if config.saturate_host:
                self.saturate_host()
        elif total > sum(d.available_mem_bytes for d in self.devices):
            raise RuntimeError("Devices have no enough memory for the module")
        elif config.mode is PartitionMode.sparse_nn:
            self._sparse(config)
        else:
            self._by_size()
            self._check_devices()
            if config.mode is PartitionMode.cost_aware:
                self._merge_by_cost(config.transfer_rate_bytes_per_sec, config.node_to_latency_mapping)
            elif config.mode is PartitionMode.kl_based:
                self._swap_by_cost(config.transfer_rate_bytes_per_sec, config.node_to_latency_mapping)
            if config.saturate_host:
                self.saturate_host()
        return self.do_partition()

    def _computing(self) -> list[Node]:
        return [n for n in self.graph_module.graph.nodes if n.op not in _SILENT]

    def _large_enough(self, total: int) -> Device | None:
        """The largest device, if everything fits on it."""
        largest = max(self.devices, key=lambda d: d.available_mem_bytes)
        return largest if largest.available_mem_bytes >= total else None

    # ---- making parts
    def _in_one(self, device: Device) -> None:
        part = self._new_part()
        for node in self.graph_module.graph.nodes:
            if node.op != "output":
                part.nodes.add(node)
        part.recalculate_mem_size()
        part.logical_device_ids = [device.logical_id]
        self._number()

    def _new_part(self) -> Partition:
        part = Partition(len(self.partitions))
        self.partitions.append(part)
        return part

    def _by_size(self) -> None:
        """Fills a device after the other, the largest ones for what is left over."""
        devices = deque(self.devices)
        device = devices.popleft()
        part = self._new_part()
        part.logical_device_ids = [device.logical_id]
        for node in self._computing():
            while part.used_mem_bytes + get_extra_size_of(node, part.nodes) > device.available_mem_bytes:
                if not part.nodes:
                    if not devices:
                        raise RuntimeError(f"{node} is too large for the devices")
                    device = devices.popleft()
                    part.logical_device_ids = [device.logical_id]
                    continue
                if not devices:
                    self._onto_old(node)
                    break
                device = devices.popleft()
                part = self._new_part()
                part.logical_device_ids = [device.logical_id]
            else:
                part.add_node(node)
        self._number()

    def _onto_old(self, node: Node) -> None:
        """Puts a node on a device that has room, in a part of its own."""
        for device in self.devices:
            used = sum(
                p.used_mem_bytes for p in self.partitions if p.logical_device_ids == [device.logical_id]
            )
            if used + get_extra_size_of(node, set()) <= device.available_mem_bytes:
                part = self._new_part()
                part.add_node(node)
                part.logical_device_ids = [device.logical_id]
                return
        raise RuntimeError(f"{node} is too large for what is left of the devices")

    def _check_devices(self) -> None:
        """Checks that the parts fit their devices."""
        for device in self.devices:
            used = sum(
                p.used_mem_bytes for p in self.partitions if p.logical_device_ids == [device.logical_id]
            )
            if used > device.available_mem_bytes:
                raise RuntimeError(f"the parts don't fit {device.name}")

    def _as_told(self, config: PartitionerConfig) -> None:
        for node, number in config.node_to_partition_mapping.items():
            while len(self.partitions) <= number:
                self._new_part()
            self.partitions[number].add_node(node)
        for part in self.partitions:
            part.logical_device_ids = config.partition_to_logical_device_mapping[part.partition_id]
        self._number()

    def _sparse(self, config: PartitionerConfig) -> None:
        """Tables of embeddings over the devices first, what is left behind them."""
        tables = (tl_nn.Embedding, tl_nn.EmbeddingBag)
        modules = dict(self.graph_module.named_modules())
        nodes = self._computing()
        embedding = [n for n in nodes if n.op == "call_module" and isinstance(modules[str(n.target)], tables)]
        # What a table needs from others is computed where the table is, so that parts don't wait for each other.
        needed: dict[Node, list[Node]] = {n: self._behind(n, set(embedding)) for n in embedding}
        devices = deque(self.devices)
        device = devices.popleft()
        part = self._new_part()
        placed: set[Node] = set()
        for node in embedding:
            group = [n for n in (*needed[node], node) if n not in placed]
            size = sum(get_extra_size_of(n, part.nodes) for n in group)
            if part.nodes and part.used_mem_bytes + size > device.available_mem_bytes:
                if not devices:
                    raise RuntimeError("Embedding tables don't fit the devices")
                device = devices.popleft()
                part = self._new_part()
            part.logical_device_ids = [device.logical_id]
            for n in group:
                part.add_node(n)
                placed.add(n)
        rest = [n for n in nodes if n not in placed]
        tail = self._new_part()
        for n in rest:
            tail.add_node(n)
        room = [
            d for d in self.devices if tail.used_mem_bytes + self._used_on(d, tail) <= d.available_mem_bytes
        ]
        if not room:
            raise RuntimeError("what is no embedding doesn't fit a device")
        tail.logical_device_ids = [room[0].logical_id]
        self._number()

    def _used_on(self, device: Device, but: Partition) -> int:
        return sum(
            p.used_mem_bytes
            for p in self.partitions
            if p is not but and device.logical_id in p.logical_device_ids
        )

    def _behind(self, node: Node, stop: set[Node]) -> list[Node]:
        """The nodes that one needs and nobody else does, in order."""
        nodes: set[Node] = set()
        pending = [n for n in node.all_input_nodes if n.op not in _SILENT]
        while pending:
            n = pending.pop()
            if n in nodes or n in stop or not all(u in nodes or u is node for u in n.users):
                continue
            nodes.add(n)
            pending += [m for m in n.all_input_nodes if m.op not in _SILENT]
        return [n for n in self.graph_module.graph.nodes if n in nodes]

    # ---- by time
    def _number(self) -> None:
        """Numbers the parts and finds which uses which."""
        self.partitions = [p for p in self.partitions if p.nodes]
        for number, part in enumerate(self.partitions):
            part.partition_id = number
            part.parents, part.children = set(), set()
        self.node_to_partition = {
            node: part.partition_id
            for part in self.partitions
            for node in part.nodes
            if node.op not in _SILENT
        }
        for node, number in self.node_to_partition.items():
            for user in node.users:
                other = self.node_to_partition.get(user)
                if other is not None and other != number:
                    self.partitions[number].children.add(self.partitions[other])
                    self.partitions[other].parents.add(self.partitions[number])

    def _latency(self, rate: float, latencies: dict[Node, NodeLatency]) -> float:
        mapping = get_partition_to_latency_mapping(self.partitions, latencies)
        return get_latency_of_partitioned_graph(self.partitions, mapping, rate)

    def _is_cyclic(self) -> bool:
        visited: set[Partition] = set()
        ready = deque(p for p in self.partitions if not p.parents)
        while ready:
            part = ready.popleft()
            visited.add(part)
            ready.extend(
                c for c in part.children if c.parents <= visited and c not in visited and c not in ready
            )
        return len(visited) != len(self.partitions)

    def _fits(self, part: Partition) -> Device | None:
        return next((d for d in self.devices if d.available_mem_bytes >= part.used_mem_bytes), None)

    def _snapshot(self) -> list[tuple[set[Node], list[int]]]:
        return [(set(p.nodes), list(p.logical_device_ids)) for p in self.partitions]

    def _restore(self, saved: list[tuple[set[Node], list[int]]]) -> None:
        self.partitions = []
        for nodes, devices in saved:
            part = self._new_part()
            part.nodes, part.logical_device_ids = set(nodes), list(devices)
            part.recalculate_mem_size()
        self._number()

    def _assign_devices(self) -> bool:
        """Gives each part a device of its own that it fits; whether there are enough."""
        free = sorted(self.devices, key=lambda d: d.available_mem_bytes)
        for part in sorted(self.partitions, key=lambda p: -p.used_mem_bytes):
            device = next((d for d in free if d.available_mem_bytes >= part.used_mem_bytes), None)
            if device is None:
                return False
            free.remove(device)
            part.logical_device_ids = [device.logical_id]
        return True

    def _merge_by_cost(self, rate: float, latencies: dict[Node, NodeLatency]) -> None:
        """Begins with a part for each node and joins the two that save most, as long as something is saved."""
        saved = self._snapshot()
        best_given = self._latency(rate, latencies)
        self.partitions = []
        for node in self._computing():
            self._new_part().add_node(node)
        self._number()
        while True:
            best: tuple[float, int, int] | None = None
            now = (
                self._latency(rate, latencies) if len(self.partitions) <= len(self.devices) else float("inf")
            )
            start = self._snapshot()
            for i in range(len(start)):
                for j in range(i + 1, len(start)):
                    merged = [s for k, s in enumerate(start) if k not in (i, j)]
                    self._restore([(start[i][0] | start[j][0], []), *merged])
                    if self._is_cyclic() or any(self._fits(p) is None for p in self.partitions):
                        continue
                    cost = self._latency(rate, latencies)
                    if best is None or cost < best[0]:
                        best = cost, i, j
            self._restore(start)
            if best is None or best[0] > now:
                break
            _, i, j = best
            self._restore(
                [(start[i][0] | start[j][0], []), *(s for k, s in enumerate(start) if k not in (i, j))]
            )
        if not self._assign_devices() or self._latency(rate, latencies) > best_given:
            self._restore(saved)

    def _swap_by_cost(self, rate: float, latencies: dict[Node, NodeLatency]) -> None:
        """Moves nodes between parts as long as that saves time."""
        improved = True
        while improved:
            improved = False
            best = self._latency(rate, latencies)
            for node in self._computing():
                start = self._snapshot()
                own = self.node_to_partition[node]
                for other in range(len(start)):
                    if other == own:
                        continue
                    self.partitions[own].remove_node(node)
                    self.partitions[other].add_node(node)
                    fits = all(
                        p.used_mem_bytes <= d.available_mem_bytes
                        for p in self.partitions
                        for d in self.devices
                        if [d.logical_id] == p.logical_device_ids
                    )
                    self._number()
                    if fits and not self._is_cyclic() and self._latency(rate, latencies) < best:
                        improved = True
                        break
                    self._restore(start)
                if improved:
                    break

    def saturate_host(self) -> None:
        """Puts copies of the parts on devices that have none."""
        used = {number for part in self.partitions for number in part.logical_device_ids}
        free = [d for d in self.devices if d.logical_id not in used]
        free.sort(key=lambda d: d.available_mem_bytes)
        groups: list[list[tuple[Partition, Device]]] = []
        while True:
            pairs: list[tuple[Partition, Device]] = []
            rest = list(free)
            for part in self.partitions:
                device = next((d for d in rest if d.available_mem_bytes >= part.used_mem_bytes), None)
                if device is None:
                    break
                rest.remove(device)
                pairs.append((part, device))
            if len(pairs) < len(self.partitions):
                break
            groups.append(pairs)
            free = rest
        for group in groups:
            for part, device in group:
                part.logical_device_ids.append(device.logical_id)

    # ---- the result
    def do_partition(self) -> PartitionResult:
        """Makes submodules of the parts.

        Returns:
            The parts, and a module that calls them.
        """
        split = split_module(self.graph_module, self.torch_module, lambda node: self.node_to_partition[node])
        dag = self.dump_dag(split)
        return PartitionResult(dag, split)

    def dump_dag(self, module_with_submodules: GraphModule) -> DAG:
        """The graph of the parts.

        Args:
            module_with_submodules: the module that calls them.

        Returns:
            The graph.
        """
        dag = DAG()
        for node in module_with_submodules.graph.nodes:
            if node.op != "call_module":
                continue
            users: list[Node] = []
            for user in node.users:
                users += list(user.users) if user.target is operator.getitem else [user]
            number = int(str(node.target).rpartition("_")[2])
            part = self.partitions[number]
            dag.create_node(node, node.all_input_nodes, users, part.logical_device_ids, part.used_mem_bytes)
        return dag


def _size_of_all(module: GraphModule) -> int:
    """The bytes of all nodes, each counted once."""
    part = Partition(0)
    part.nodes = {n for n in module.graph.nodes if n.op != "output"}
    part.recalculate_mem_size()
    return part.used_mem_bytes
