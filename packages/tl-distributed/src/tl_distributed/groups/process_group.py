"""A group of processes, and the numbers by which its members are known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tl_core import Tensor

from ..backends.backend import Backend, BackendConfig, make
from ..backends.checkpoint_channel import CheckpointChannel
from ..backends.communicator import Communicator
from ..backends.group_context import GroupContext
from ..base.reduction import RedOpType, ReduceOp
from ..base.work import Work
from ..stores.store import PrefixStore, Store


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
        options: what was given as `pg_options`.
        is_late: whether the members connect at the first operation, rather than here.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> everyone = dist.group.WORLD
        >>> isinstance(everyone, dist.ProcessGroup), everyone.rank(), everyone.size()
        (True, 0, 1)
        >>> dist.destroy_process_group()
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
        options: Any = None,
        is_late: bool = False,
    ):
        self.ranks = list(ranks)
        self.backend = backend
        self.config = BackendConfig(backend)
        self.store = store
        self.timeout = timeout
        self.group_name = name
        self.group_desc = description
        self._rank = rank
        self._size = len(self.ranks)
        self.options = options
        self._background: Communicator | None = None
        self._connected: dict[str, Communicator] = {}
        if not is_late:
            self._connect_all()

    @property
    def _communicators(self) -> dict[str, Communicator]:
        if not self._connected:
            self._connect_all()
        return self._connected

    def _connect_all(self) -> None:
        for device, backend_name in self.config.device_backend_map.items():
            if backend_name not in self._connected:
                self._connected[backend_name] = self._connect(backend_name, device, self.store)

    def _connect(self, backend: str, device: str, store: Store) -> Communicator:
        context = GroupContext(
            self._rank,
            self._size,
            PrefixStore(backend, store),
            self.timeout,
            self.group_name,
            self.group_desc,
            self.ranks,
            self.options,
            device,
        )
        return make(backend, context)

    def rank(self) -> int:
        """This process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """The number of processes of the group."""
        return self._size

    def name(self) -> str:
        """The name of the backend."""
        return next(iter(self.config.device_backend_map.values()))

    def communicator(self, device: str = "cpu") -> Communicator:
        """The connections for tensors of a kind of device.

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
        for communicator in self._connected.values():
            communicator.close()
        if self._background is not None:
            self._background.close()

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long an operation may take."""
        self.timeout = timeout
        for communicator in self._communicators.values():
            communicator.set_timeout(timeout)

    def abort(self) -> None:
        """Makes what is under way, and all that follows, fail on every member."""
        for communicator in self._communicators.values():
            communicator.abort()

    def _link(self, tensor: Tensor) -> Communicator:
        return self.communicator(tensor.device.type)

    def allreduce(self, tensors: Tensor | list[Tensor], op: RedOpType = ReduceOp.SUM) -> Work:
        """Reduces one tensor over the group, in place."""
        tensor = self._one(tensors, "allreduce")
        return self._link(tensor).all_reduce(tensor, op)

    def allreduce_coalesced(self, tensors: list[Tensor], op: RedOpType = ReduceOp.SUM) -> Work:
        """Reduces tensors over the group, in place."""
        return self._link(tensors[0]).all_reduce_coalesced(tensors, op)

    def reduce(self, tensors: Tensor | list[Tensor], root: int = 0, op: RedOpType = ReduceOp.SUM) -> Work:
        """Reduces one tensor over the group, in place on its member `root`."""
        tensor = self._one(tensors, "reduce")
        return self._link(tensor).reduce(tensor, root, op)

    def broadcast(self, tensors: Tensor | list[Tensor], root: int = 0) -> Work:
        """Gives the group the tensor of its member `root`."""
        tensor = self._one(tensors, "broadcast")
        return self._link(tensor).broadcast(tensor, root)

    def allgather(self, output_tensors: list[Any], input_tensor: Tensor | list[Tensor]) -> Work:
        """Collects the tensors of all members, everywhere; the outputs may stand in a list of one list."""
        tensor = self._one(input_tensor, "allgather")
        outputs = output_tensors if isinstance(output_tensors[0], Tensor) else output_tensors[0]
        return self._link(tensor).all_gather(outputs, tensor)

    def _allgather_base(self, output: Tensor, input: Tensor) -> Work:
        return self._link(input).all_gather_single(output, input)

    def gather(self, output_tensors: list[Any], input_tensor: Tensor | list[Tensor], root: int = 0) -> Work:
        """Collects the tensors of all members in its member `root`."""
        tensor = self._one(input_tensor, "gather")
        outputs = output_tensors[0] if output_tensors and not isinstance(output_tensors[0], Tensor) else None
        return self._link(tensor).gather(output_tensors if outputs is None else outputs, tensor, root)

    def scatter(self, output_tensor: Tensor | list[Tensor], input_tensors: list[Any], root: int = 0) -> Work:
        """Gives each member one of the tensors of its member `root`."""
        tensor = self._one(output_tensor, "scatter")
        inputs = input_tensors[0] if input_tensors and not isinstance(input_tensors[0], Tensor) else None
        return self._link(tensor).scatter(tensor, input_tensors if inputs is None else inputs, root)

    def reduce_scatter(
        self, output: Tensor | list[Tensor], input_tensors: list[Any], op: RedOpType = ReduceOp.SUM
    ) -> Work:
        """Reduces lists of tensors over the group, and gives each member one of the results."""
        tensor = self._one(output, "reduce_scatter")
        inputs = input_tensors if isinstance(input_tensors[0], Tensor) else input_tensors[0]
        return self._link(tensor).reduce_scatter(tensor, inputs, op)

    def _reduce_scatter_base(self, output: Tensor, input: Tensor, op: RedOpType = ReduceOp.SUM) -> Work:
        return self._link(input).reduce_scatter_single(output, input, op)

    def alltoall(self, output_tensors: list[Tensor], input_tensors: list[Tensor]) -> Work:
        """Sends each member one tensor, and receives one from each."""
        return self._link(input_tensors[0]).all_to_all(output_tensors, input_tensors)

    def send(self, tensors: Tensor | list[Tensor], dstRank: int, tag: int = 0) -> Work:
        """Sends one tensor to a member."""
        tensor = self._one(tensors, "send")
        return self._link(tensor).send(tensor, dstRank, tag)

    def recv(self, tensors: Tensor | list[Tensor], srcRank: int, tag: int = 0) -> Work:
        """Receives one tensor from a member."""
        tensor = self._one(tensors, "recv")
        return self._link(tensor).receive(tensor, srcRank, tag)

    def recv_anysource(self, tensors: Tensor | list[Tensor], tag: int = 0) -> Work:
        """Receives one tensor from whatever member."""
        tensor = self._one(tensors, "recv_anysource")
        return self._link(tensor).receive(tensor, None, tag)

    def barrier(self) -> Work:
        """Ends when all members have begun it."""
        return self.communicator_for_barrier().barrier()

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """Waits until all members have come here, and names those that don't.

        Args:
            timeout: how long to wait; that of the group by default.
            wait_all_ranks: whether to name all that are missing, rather than the first.
        """
        limit = self.timeout if timeout is None else timeout
        self.communicator().monitored_barrier(limit, wait_all_ranks)

    def communicator_for_barrier(self) -> Communicator:
        """The connections for an operation without tensors."""
        return next(iter(self._communicators.values()))

    def __checkpoint_channel__(self, coordinator_rank: int) -> CheckpointChannel:
        """The channel over which tl-checkpoint saves and loads on several ranks."""
        return CheckpointChannel(self.communicator(), coordinator_rank)

    def __checkpoint_background_channel__(self, coordinator_rank: int) -> CheckpointChannel:
        """The same for a thread beside the program, whose operations have no place among the program's.

        It has connections of its own, made when all members ask for the first time.
        """
        if self._background is None:
            backend = self.config.device_backend_map["cpu"]
            self._background = self._connect(backend, "cpu", PrefixStore("background", self.store))
        return CheckpointChannel(self._background, coordinator_rank)

    def _one(self, tensors: Any, function: str) -> Tensor:
        several = [tensors] if isinstance(tensors, Tensor) else list(tensors)
        if len(several) != 1:
            raise ValueError(f"ProcessGroup.{function}: expected one tensor, got {len(several)}")
        return several[0]

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name!r} of {self.backend}, ranks {self.ranks}>"
