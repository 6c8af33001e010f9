"""The interface of a backend, which moves tensors between the processes of one group."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import NoReturn

from tl_core import Tensor

from ..base.reduction import RedOpType
from ..base.work import PartsOf, Work, all_of
from .group_context import GroupContext


class Communicator:
    """The connections of one group of processes for one kind of device.

    A backend derives from it and overrides what it can do. The arguments have been checked when a method is called
    (lengths of lists, sizes, types, roots and peers, which are ranks in the group), and no gradient is recorded. What
    begins an operation returns its handle, a `Work` with the tensors that it writes.

    Args:
        context: the group.

    Example:
        >>> import tl_distributed as dist
        >>> class Silent(dist.Communicator):
        ...     def barrier(self, timeout):
        ...         return None
        ...
        >>> issubclass(Silent, dist.Communicator)
        True
    """

    name = "undefined"

    def __init__(self, context: GroupContext):
        self.context = context
        self.rank = context.rank
        self.size = context.size
        self.timeout = context.timeout

    @property
    def blocking(self) -> Communicator:
        """The same connections for a caller who waits for each operation: it may be over when a method returns."""
        return self

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

    def together(self) -> AbstractContextManager[None]:
        """A block whose messages begin together, for backends in which one message waits for another."""
        return nullcontext()

    # What follows is made of the above where a backend has nothing better.

    def all_gather_single(self, output: Tensor, tensor: Tensor) -> Work:
        """`all_gather` into one tensor, in which the parts lie one after the other."""
        return PartsOf(self.all_gather(_parts(output, tensor, self.size), tensor), [output])

    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, op: RedOpType) -> Work:
        """`reduce_scatter` of one tensor, in which the parts lie one after the other."""
        return self.reduce_scatter(output, _parts(tensor, output, self.size), op)

    def all_to_all_single(self, output: Tensor, tensor: Tensor) -> Work:
        """`all_to_all` of equal parts of one tensor along its first dimension."""
        parts = [list(each.tensor_split(self.size)) for each in (output, tensor)]
        return PartsOf(self.all_to_all(*parts), [output])

    def all_reduce_coalesced(self, tensors: Sequence[Tensor], op: RedOpType) -> Work:
        """`all_reduce` of several tensors."""
        return all_of([self.all_reduce(tensor, op) for tensor in tensors])

    def broadcast_coalesced(self, tensors: Sequence[Tensor], root: int) -> Work:
        """`broadcast` of several tensors."""
        return all_of([self.broadcast(tensor, root) for tensor in tensors])

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long an operation may take."""
        self.timeout = timeout

    def abort(self) -> None:
        """Makes what is under way, and all that follows, fail on every process."""
        self._refuse("abort")

    def close(self) -> None:
        """Ends the connections."""

    def _refuse(self, operation: str) -> NoReturn:
        raise NotImplementedError(f"the backend {self.name!r} has no {operation}")


def _parts(whole: Tensor, part: Tensor, size: int) -> list[Tensor]:
    return list(whole.view(size, *part.shape).unbind(0))
