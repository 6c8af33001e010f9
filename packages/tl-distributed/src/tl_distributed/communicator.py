"""What a backend has to do: move tensors between the processes of one group."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NoReturn

from tl_core import Tensor

from .reduction import RedOpType
from .work import Work


class Communicator:
    """The connections of one group of processes for one kind of device.

    A backend derives from it and overrides what it can do. The arguments have been checked when a method is called
    (lengths of lists, sizes, types, roots and peers, which are ranks in the group), and no gradient is recorded.

    Args:
        rank: this process's rank in the group, from 0.
        size: how many processes the group has.
        timeout: how long an operation may take.
    """

    name = "undefined"

    def __init__(self, rank: int, size: int, timeout: timedelta):
        self.rank = rank
        self.size = size
        self.timeout = timeout

    def all_reduce(self, tensor: Tensor, op: RedOpType) -> Work:
        """Reduces `tensor` over all processes, in place."""
        self._refuse("all_reduce")

    def reduce(self, tensor: Tensor, root: int, op: RedOpType) -> Work:
        """Reduces `tensor` over all processes, in place on `root`."""
        self._refuse("reduce")

    def broadcast(self, tensor: Tensor, root: int) -> Work:
        """Gives all processes the `tensor` of `root`."""
        self._refuse("broadcast")

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> Work:
        """Writes the tensor of process i into `outputs[i]`, everywhere."""
        self._refuse("all_gather")

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> Work:
        """Writes the tensor of process i into `outputs[i]` on `root`; elsewhere `outputs` is empty."""
        self._refuse("gather")

    def scatter(self, output: Tensor, tensors: Sequence[Tensor], root: int) -> Work:
        """Writes `tensors[i]` of `root` into the `output` of process i; elsewhere `tensors` is empty."""
        self._refuse("scatter")

    def reduce_scatter(self, output: Tensor, tensors: Sequence[Tensor], op: RedOpType) -> Work:
        """Reduces `tensors[i]` over all processes into the `output` of process i."""
        self._refuse("reduce_scatter")

    def all_to_all(self, outputs: Sequence[Tensor], tensors: Sequence[Tensor]) -> Work:
        """Writes `tensors[i]` of process j into `outputs[j]` of process i."""
        self._refuse("all_to_all")

    def barrier(self) -> Work:
        """Ends when all processes have begun it."""
        self._refuse("barrier")

    def monitored_barrier(self, timeout: timedelta, wait_all_ranks: bool) -> None:
        """A barrier that names the processes which did not come in time."""
        self._refuse("monitored_barrier")

    def send(self, tensor: Tensor, peer: int, tag: int) -> Work:
        """Sends a tensor to another process."""
        self._refuse("send")

    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> Work:
        """Receives a tensor from another process, from any if `peer` is None."""
        self._refuse("recv")

    def close(self) -> None:
        """Ends the connections."""

    def _refuse(self, operation: str) -> NoReturn:
        raise NotImplementedError(f"the backend {self.name!r} has no {operation}")
