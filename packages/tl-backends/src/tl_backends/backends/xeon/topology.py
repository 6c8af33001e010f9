"""Topology of the machine: the processors of each core, and the cores of each memory node."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["CPUInfo", "allowed_cores"]

_SYSTEM = Path("/sys/devices/system")


class _Processor(NamedTuple):
    cpu: int
    core: int
    socket: int
    node: int


def allowed_cores() -> set[int]:
    """The processors that this process may use."""
    return set(os.sched_getaffinity(0))


def _parse(text: str) -> list[_Processor]:
    """The output of `lscpu --parse=CPU,Core,Socket,Node`."""
    rows = [line.split(",") for line in text.splitlines() if re.match(r"\d", line)]
    return [_Processor(*(int(cell) if cell else 0 for cell in row[:4])) for row in rows]


def _number(path: Path) -> int:
    return int(path.read_text()) if path.exists() else 0


def _node_of(folder: Path) -> int:
    return next((int(link.name[4:]) for link in folder.glob("node[0-9]*")), 0)


def _detect() -> list[_Processor]:
    """The topology from sysfs; without it, each processor is a core of one node."""
    folders = sorted((_SYSTEM / "cpu").glob("cpu[0-9]*"), key=lambda f: int(f.name[3:]))
    processors = [
        _Processor(
            int(f.name[3:]),
            _number(f / "topology/core_id"),
            _number(f / "topology/physical_package_id"),
            _node_of(f),
        )
        for f in folders
        if (f / "topology").exists()
    ]
    return processors or [_Processor(n, n, 0, 0) for n in sorted(allowed_cores())]


class CPUInfo:
    """The processors of this machine.

    Args:
        test_input: the output of `lscpu --parse=CPU,Core,Socket,Node`; empty for this machine.

    Example:
        >>> CPUInfo("0,0,0,0\\n1,1,0,1\\n2,0,0,0\\n3,1,0,1").get_node_logical_cores(1)
        [1, 3]
    """

    def __init__(self, test_input: str = "") -> None:
        self._processors = _parse(test_input) if test_input else _detect()
        self.nodes = sorted({p.node for p in self._processors})

    def _physical(self) -> list[_Processor]:
        """The first processor of each core."""
        first: dict[tuple[int, int], _Processor] = {}
        for p in self._processors:
            first.setdefault((p.socket, p.core), p)
        return list(first.values())

    def _physical_core_nums(self) -> int:
        """Number of cores."""
        return len(self._physical())

    def _logical_core_nums(self) -> int:
        """Number of processors."""
        return len(self._processors)

    def _check_node(self, node_id: int) -> int:
        if node_id not in self.nodes:
            raise ValueError(f"CPUInfo: the nodes are {self.nodes}, got {node_id}")
        return node_id

    def get_node_physical_cores(self, node_id: int) -> list[int]:
        """The first processor of each core of a node."""
        return [p.cpu for p in self._physical() if p.node == self._check_node(node_id)]

    def get_node_logical_cores(self, node_id: int) -> list[int]:
        """The processors of a node."""
        return [p.cpu for p in self._processors if p.node == self._check_node(node_id)]

    def get_all_physical_cores(self) -> list[int]:
        """The first processor of each core, node by node."""
        return [cpu for node in self.nodes for cpu in self.get_node_physical_cores(node)]

    def get_all_logical_cores(self) -> list[int]:
        """All processors, node by node."""
        return [cpu for node in self.nodes for cpu in self.get_node_logical_cores(node)]

    def numa_aware_check(self, core_list: list[int]) -> list[int]:
        """The nodes of some processors."""
        return sorted({p.node for p in self._processors if p.cpu in core_list})
