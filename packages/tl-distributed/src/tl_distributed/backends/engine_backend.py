"""The backend `gloo`: the package's own engine, over shared memory or a network."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from tl_core import Tensor

from .._C import REDUCTIONS, Group, Task
from ..base.errors import DistBackendError
from ..base.reduction import RedOpType
from ..base.work import GroupWork, Work, all_of
from .bootstrap import connect_group
from .communicator import Communicator
from .flight_recorder import write_for_launcher
from .group_context import GroupContext
from .sparse_reduction import all_reduce_sparse

_REDUCTIONS = {op: REDUCTIONS[op.name] for op in RedOpType if op.name in REDUCTIONS}


class EngineBackend(Communicator):
    """Processes of one machine, which share memory, or of several, which a network connects.

    Args:
        context: the group.
        native: the connections of another backend of this group; new ones by default.
        waits: whether an operation is over when a method returns.
    """

    name = "gloo"

    def __init__(self, context: GroupContext, native: Group | None = None, waits: bool = False):
        super().__init__(context)
        self._wait = waits
        if native is None:
            write_for_launcher()
            native = connect_group(context.store, self.rank, context.global_ranks, context.name, self.timeout)
        self.native = native
        self._blocking = None if waits else EngineBackend(context, native, waits=True)

    @property
    def blocking(self) -> Communicator:
        return self._blocking or self

    def _work(self, task: Task | None, result: list[Tensor], name: str) -> Work:
        return Work(result) if task is None else GroupWork(task, result, name)

    def all_reduce(self, tensor: Tensor, op: RedOpType) -> Work:
        if tensor.is_sparse:
            return all_reduce_sparse(self, tensor, op)
        task = self.native.all_reduce(tensor, _REDUCTIONS[op], None, self._wait)
        return self._work(task, [tensor], "all_reduce")

    def reduce(self, tensor: Tensor, root: int, op: RedOpType) -> Work:
        return self._work(
            self.native.all_reduce(tensor, _REDUCTIONS[op], root, self._wait), [tensor], "reduce"
        )

    def broadcast(self, tensor: Tensor, root: int) -> Work:
        return self._work(self.native.broadcast([tensor], root, self._wait), [tensor], "broadcast")

    def broadcast_coalesced(self, tensors: Sequence[Tensor], root: int) -> Work:
        return self._work(self.native.broadcast(tensors, root, self._wait), list(tensors), "broadcast")

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> Work:
        return self._work(
            self.native.all_gather(outputs, tensor, None, self._wait), list(outputs), "all_gather"
        )

    def all_gather_single(self, output: Tensor, tensor: Tensor) -> Work:
        return self._work(self.native.all_gather(output, tensor, None, self._wait), [output], "all_gather")

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> Work:
        return self._work(self.native.all_gather(outputs, tensor, root, self._wait), list(outputs), "gather")

    def scatter(self, output: Tensor, tensors: Sequence[Tensor], root: int) -> Work:
        return self._work(self.native.scatter(output, tensors, root, self._wait), [output], "scatter")

    def reduce_scatter(self, output: Tensor, tensors: Sequence[Tensor], op: RedOpType) -> Work:
        task = self.native.reduce_scatter(output, tensors, _REDUCTIONS[op], self._wait)
        return self._work(task, [output], "reduce_scatter")

    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, op: RedOpType) -> Work:
        task = self.native.reduce_scatter(output, tensor, _REDUCTIONS[op], self._wait)
        return self._work(task, [output], "reduce_scatter")

    def all_to_all(self, outputs: Sequence[Tensor], tensors: Sequence[Tensor]) -> Work:
        return self._work(self.native.all_to_all(outputs, tensors, self._wait), list(outputs), "all_to_all")

    def all_to_all_single(self, output: Tensor, tensor: Tensor) -> Work:
        return self._work(self.native.all_to_all(output, tensor, self._wait), [output], "all_to_all")

    def all_reduce_coalesced(self, tensors: Sequence[Tensor], op: RedOpType) -> Work:
        return all_of([self.all_reduce(tensor, op) for tensor in tensors]) if tensors else Work([])

    def barrier(self) -> Work:
        return self._work(self.native.barrier(None, self._wait), [], "barrier")

    def monitored_barrier(self, timeout: timedelta, wait_all_ranks: bool) -> None:
        try:
            self.native.barrier(int(timeout.total_seconds() * 1e9), True)
        except DistBackendError as error:
            milliseconds = int(timeout.total_seconds() * 1e3)
            text = self._barrier_text(error.missing_ranks, milliseconds, wait_all_ranks)
            raise DistBackendError(f"{text}: {error}") from error

    def _barrier_text(self, missing: Sequence[int], milliseconds: int, wait_all_ranks: bool) -> str:
        """PyTorch's text for a failed barrier. Rank 0 names the missing ranks, any other rank names itself."""
        if self.rank:
            return (
                f"Rank {self.rank} successfully reached monitoredBarrier, but received errors while waiting for "
                "send/recv from rank 0"
            )
        if not missing or not milliseconds:
            return f"Rank 0 timed out in monitoredBarrier after {milliseconds} ms"
        if wait_all_ranks and len(missing) > 1:
            return f"Ranks {', '.join(map(str, sorted(missing)))} failed to pass monitoredBarrier in {milliseconds} ms"
        return f"Rank {min(missing)} failed to pass monitoredBarrier in {milliseconds} ms"

    def send(self, tensor: Tensor, peer: int, tag: int) -> Work:
        return GroupWork(self.native.send(tensor, peer, tag, self._wait), [tensor], "send")

    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> Work:
        return GroupWork(self.native.receive(tensor, peer, tag, self._wait), [tensor], "recv")

    def set_timeout(self, timeout: timedelta) -> None:
        super().set_timeout(timeout)
        self.native.set_limit(int(timeout.total_seconds() * 1e9))

    def abort(self) -> None:
        self.native.abort("")

    def close(self) -> None:
        self.native.close()
