"""Parts of a graph on devices, and how long they take."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from tl_compiler.fx.node import Node, map_arg

__all__ = [
    "Device",
    "NodeLatency",
    "Partition",
    "PartitionLatency",
    "PartitionMode",
    "PartitionerConfig",
    "get_comm_latency_between",
    "get_extra_size_of",
    "get_latency_of_one_partition",
    "get_latency_of_partitioned_graph",
    "get_partition_to_latency_mapping",
]

_SILENT = ("placeholder", "get_attr")


class Partition:
    """A part of a graph that runs on a device.

    Args:
        partition_id: its number.

    Example:
        >>> Partition(3).partition_id
        3
    """

    def __init__(self, partition_id: int) -> None:
        self.nodes: set[Node] = set()
        self.partition_id = partition_id
        self.parents: set[Partition] = set()
        self.children: set[Partition] = set()
        self.bfs_level = -1
        self.used_mem_bytes = 0
        self.logical_device_ids: list[int] = []

    def __str__(self) -> str:
        return str(self.partition_id)

    def recalculate_mem_size(self) -> None:
        """Adds up the bytes of the nodes again."""
        self.used_mem_bytes = 0
        for node in self.nodes:
            self.used_mem_bytes += get_extra_size_of(node, self.nodes)

    def add_node(self, node: Node) -> None:
        """Adds a node, and the inputs and attributes that it uses.

        Args:
            node: the node.
        """
        self.nodes.add(node)
        self.nodes.update(used for used in node.all_input_nodes if used.op in _SILENT)
        self.recalculate_mem_size()

    def remove_node(self, node: Node) -> None:
        """Removes a node, and the inputs and attributes that only it uses.

        Args:
            node: the node.
        """
        if node not in self.nodes:
            return
        self.nodes.remove(node)
        for used in node.all_input_nodes:
            if used.op in _SILENT and not any(user in self.nodes for user in used.users):
                self.nodes.remove(used)
        self.recalculate_mem_size()


class Device(NamedTuple):
    """A device: its name, its memory and its number.

    Args:
        name: its name.
        available_mem_bytes: the bytes it has.
        logical_id: its number.

    Example:
        >>> Device("first", 1 << 30, 0).name
        'first'
    """

    name: str
    available_mem_bytes: int
    logical_id: int


class NodeLatency(NamedTuple):
    """How long a node takes: for its memory, and for computing.

    Example:
        >>> NodeLatency(0.5, 2.0).computer_latency_sec
        2.0
    """

    mem_latency_sec: float
    computer_latency_sec: float


class PartitionLatency(NamedTuple):
    """How long a part takes: for its memory, for computing, and together on its longest way.

    Args:
        mem_latency_sec: seconds for memory.
        computer_latency_sec: seconds for computing.
        overall_latency_sec: seconds on the longest way.

    Example:
        >>> PartitionLatency(0.5, 2.0, 2.0).overall_latency_sec
        2.0
    """

    mem_latency_sec: float
    computer_latency_sec: float
    overall_latency_sec: float


class PartitionMode(Enum):
    """The way in which parts are made.

    Example:
        >>> PartitionMode.size_based.name
        'size_based'
    """

    size_based = 0
    sparse_nn = 1
    cost_aware = 2
    kl_based = 3
    aot_based = 4


class PartitionerConfig(NamedTuple):
    """What a partitioner is told.

    Args:
        devices: the devices.
        mode: how parts are chosen.
        transfer_rate_bytes_per_sec: bytes a second between devices.
        node_to_latency_mapping: the time of each node.
        node_to_partition_mapping: the part of each node, for `aot_based`.
        partition_to_logical_device_mapping: the devices of each part, for `aot_based`.
        saturate_host: whether parts are repeated on free devices.

    Example:
        >>> PartitionerConfig([Device("first", 1 << 30, 0)]).mode.name
        'size_based'
    """

    devices: list[Device]
    mode: PartitionMode = PartitionMode.size_based
    transfer_rate_bytes_per_sec: float = 0.0
    node_to_latency_mapping: dict[Node, NodeLatency] = {}  # noqa: RUF012 - nobody writes to it
    node_to_partition_mapping: dict[Node, int] = {}  # noqa: RUF012
    partition_to_logical_device_mapping: dict[int, list[int]] = {}  # noqa: RUF012
    saturate_host: bool = False


def get_extra_size_of(node: Node, nodes: set[Node]) -> int:
    """The bytes that a node adds to a part: its own, and those of inputs that the part has not.

    Args:
        node: the node, with `size_bytes`.
        nodes: the nodes of the part.

    Returns:
        The number.

    Raises:
        RuntimeError: sizes aren't known.
    """
    used: dict[Node, None] = {}
    map_arg(node.args, lambda n: used.setdefault(n))
    map_arg(node.kwargs, lambda n: used.setdefault(n))
    total = 0
    for n in used:
        if n not in nodes:
            total += _size_of(n).output_size
    return int(total + _size_of(node).total_size)


def _size_of(node: Node) -> Any:
    size = getattr(node, "size_bytes", None)
    if not size:
        raise RuntimeError(f"node {node} has no size_bytes: get_size_of_all_nodes finds them")
    return size


def get_latency_of_one_partition(
    partition: Partition, node_to_latency_mapping: dict[Node, NodeLatency]
) -> PartitionLatency:
    """How long a part takes: along its longest way, each node as long as its memory or its computing, if longer.

    Args:
        partition: the part.
        node_to_latency_mapping: how long nodes take.

    Returns:
        The times.
    """

    def inner_users(node: Node) -> list[Node]:
        return [user for user in node.users if user in partition.nodes]

    def along(node: Node, so_far: PartitionLatency) -> PartitionLatency:
        latency = node_to_latency_mapping[node]
        now = PartitionLatency(
            so_far.mem_latency_sec + latency.mem_latency_sec,
            so_far.computer_latency_sec + latency.computer_latency_sec,
            so_far.overall_latency_sec + max(latency.mem_latency_sec, latency.computer_latency_sec),
        )
        ways = [along(user, now) for user in inner_users(node)]
        return max(ways, key=lambda way: way.overall_latency_sec, default=now)

    def begins(node: Node) -> bool:
        if node.op in (*_SILENT, "output"):
            return False
        return not any(n in partition.nodes and n.op not in _SILENT for n in node.all_input_nodes)

    tops = sorted((node for node in partition.nodes if begins(node)), key=lambda node: node.name)
    zero = PartitionLatency(0.0, 0.0, 0.0)
    return max((along(node, zero) for node in tops), key=lambda way: way.overall_latency_sec, default=zero)


def get_partition_to_latency_mapping(
    partitions: list[Partition], node_to_latency_mapping: dict[Node, NodeLatency]
) -> dict[Partition, PartitionLatency]:
    """How long each part takes.

    Args:
        partitions: the parts.
        node_to_latency_mapping: how long nodes take.

    Returns:
        The times by part.
    """
    return {part: get_latency_of_one_partition(part, node_to_latency_mapping) for part in partitions}


def get_comm_latency_between(
    parent_partition: Partition, child_partition: Partition, transfer_rate_bytes_per_sec: float
) -> float:
    """How long it takes to send what one part uses of another one.

    Args:
        parent_partition: the part that computes it.
        child_partition: the part that uses it.
        transfer_rate_bytes_per_sec: the rate.

    Returns:
        The time; 0 on one device.
    """
    if parent_partition.logical_device_ids and (
        parent_partition.logical_device_ids == child_partition.logical_device_ids
    ):
        return 0.0
    sources = {
        used
        for node in child_partition.nodes
        for used in node.all_input_nodes
        if used in parent_partition.nodes and used not in child_partition.nodes
    }
    return sum(_size_of(node).output_size for node in sources) / transfer_rate_bytes_per_sec


def get_latency_of_partitioned_graph(
    partitions: list[Partition],
    partition_to_latency_mapping: dict[Partition, PartitionLatency],
    transfer_rate_bytes_per_sec: float,
) -> float:
    """How long the longest way through all parts takes, with what is sent.

    Args:
        partitions: the parts.
        partition_to_latency_mapping: how long they take.
        transfer_rate_bytes_per_sec: the rate.

    Returns:
        The time.
    """

    def along(part: Partition) -> float:
        own = partition_to_latency_mapping[part].overall_latency_sec
        ways = [
            get_comm_latency_between(part, child, transfer_rate_bytes_per_sec) + along(child)
            for child in part.children
        ]
        return own + max(ways, default=0.0)

    return max((along(part) for part in partitions if not part.parents), default=0.0)
