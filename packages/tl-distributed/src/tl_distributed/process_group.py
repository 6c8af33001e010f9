"""A group of processes, and the numbers by which its members are known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tl_core import Tensor

from .backend import Backend, BackendConfig, make
from .communicator import Communicator
from .reduction import RedOpType, ReduceOp
from .store import PrefixStore, Store
from .work import Work


class ProcessGroup:
    """Processes that talk to each other; `new_group` and `init_process_group` make them.

    Args:
        ranks: the numbers that the members have in the world, in the group's order.
        rank: this process's rank among them.
        backend: the name that was asked for.
        store: where the members find each other.
        timeout: how long an operation may take.
        name: the group's name, the same in all members.
        description: what it is for.
    """

    def __init__(
        self,
        ranks: Sequence[int],
        rank: int,
        backend: Backend,
        store: Store,
        timeout: timedelta,
        name: str,
        description: str = "undefined",
    ):
        self.ranks = list(ranks)
        self.backend = backend
        self.config = BackendConfig(backend)
        self.store = store
        self.timeout = timeout
        self.group_name = name
        self.group_desc = description
        self._rank = rank
        self._communicators = {
            backend_name: make(backend_name, PrefixStore(backend_name, store), rank, len(ranks), timeout)
            for backend_name in dict.fromkeys(self.config.device_backend_map.values())
        }

    def rank(self) -> int:
        """This process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """How many processes the group has."""
        return len(self.ranks)

    def name(self) -> str:
        """The name of the backend."""
        return next(iter(self._communicators))

    def communicator(self, device: str = "cpu") -> Communicator:
        """What moves tensors of a kind of device.

        Raises:
            RuntimeError: the group has no backend for it.
        """
        config = self.config.device_backend_map
        if device not in config:
            raise RuntimeError(f"the group has no backend for {device} tensors, only {self.config!r}")
        return self._communicators[config[device]]

    def position(self, global_rank: int) -> int:
        """Rank in the group of the process with this global rank.

        Raises:
            ValueError: it is no member.
        """
        if global_rank not in self.ranks:
            raise ValueError(f"Global rank {global_rank} is not part of group {self!r}")
        return self.ranks.index(global_rank)

    def close(self) -> None:
        """Ends the group's connections."""
        for communicator in self._communicators.values():
            communicator.close()

    def allreduce(self, tensors: Tensor | list[Tensor], op: RedOpType = ReduceOp.SUM) -> Work:
        """Reduces one tensor over the group, in place."""
        tensor = self._one(tensors, "allreduce")
        return self.communicator(tensor.device.type).all_reduce(tensor, op)

    def broadcast(self, tensors: Tensor | list[Tensor], root: int = 0) -> Work:
        """Gives the group the tensor of its member `root`."""
        tensor = self._one(tensors, "broadcast")
        return self.communicator(tensor.device.type).broadcast(tensor, root)

    def barrier(self) -> Work:
        """Ends when all members have begun it."""
        return next(iter(self._communicators.values())).barrier()

    def _one(self, tensors: Any, function: str) -> Tensor:
        found = [tensors] if isinstance(tensors, Tensor) else list(tensors)
        if len(found) != 1:
            raise ValueError(f"ProcessGroup.{function}: expected one tensor, got {len(found)}")
        return found[0]

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name!r} of {self.backend}, ranks {self.ranks}>"


class _NonGroupMember:
    """What stands for a group that this process isn't in."""

    def __repr__(self) -> str:
        return "GroupMember.NON_GROUP_MEMBER"


class _WorldProperty(type):
    _world: ProcessGroup | None = None

    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None before it is made."""
        return _WorldProperty._world

    @WORLD.setter
    def WORLD(cls, value: ProcessGroup | None) -> None:
        _WorldProperty._world = value


class group(metaclass=_WorldProperty):
    """`group.WORLD` is the group of all processes."""


class GroupMember(metaclass=_WorldProperty):
    """`GroupMember.NON_GROUP_MEMBER` stands for a group that this process isn't in."""

    NON_GROUP_MEMBER: Any = _NonGroupMember()
