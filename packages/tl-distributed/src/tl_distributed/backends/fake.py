"""The backend `fake`: a group of any size in one process, which moves nothing and counts what would be moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from tl_core import Tensor

from ..base.reduction import RedOpType
from ..base.work import Work
from .communicator import Communicator
from .group_context import GroupContext


@dataclass
class Traffic:
    """The traffic that a rank of a fake group would have caused.

    Args:
        calls: how often each operation was called.
        messages: how many messages it would have sent.
        sent: how many bytes.
        peak: the most bytes in flight.

    Attributes:
        calls: how often each operation was called.
        messages: how many messages this rank would have sent, a ring or pairwise exchange among the ranks.
        sent: bytes of them.
        peak: bytes of the largest operation's tensors on this rank.
    """

    calls: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    sent: int = 0
    peak: int = 0
    _parts: dict[str, Traffic] = field(default_factory=dict)

    def count(self, operation: str, messages: int, sent: int, held: int) -> None:
        """Adds one call."""
        self.calls[operation] += 1
        self._add(messages, sent, held)
        self.of(operation)._add(messages, sent, held)

    def _add(self, messages: int, sent: int, held: int) -> None:
        self.messages += messages
        self.sent += sent
        if held > self.peak:
            self.peak = held

    def of(self, operation: str) -> Traffic:
        """The part of one operation."""
        part = self._parts.get(operation)
        if part is None:
            part = self._parts[operation] = Traffic()
        return part


class FakeGroup(Communicator):
    """A group of which the other ranks are not there. Tensors that others would write are left as they are."""

    name = "fake"

    def __init__(self, context: GroupContext):
        super().__init__(context)
        self.traffic = Traffic()

    def _count(self, operation: str, tensor: Tensor, rounds: int, share: int, copies: int = 1) -> Work:
        """A call that sends `rounds` messages, each with one part in `share` of the tensor."""
        size = tensor.numel() * tensor.element_size()
        self.traffic.count(operation, rounds, rounds * (size // max(share, 1)), copies * size)
        return Work([tensor])

    def all_reduce(self, tensor: Tensor, op: RedOpType) -> Work:
        return self._count("all_reduce", tensor, 2 * (self.size - 1), self.size)

    def reduce(self, tensor: Tensor, root: int, op: RedOpType) -> Work:
        return self._count("reduce", tensor, int(root != self.rank), 1)

    def broadcast(self, tensor: Tensor, root: int) -> Work:
        return self._count("broadcast", tensor, int(root == self.rank), 1)

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> Work:
        outputs[self.rank].copy_(tensor)
        self._count("all_gather", tensor, self.size - 1, 1, self.size + 1)
        return Work(list(outputs))

    def all_gather_single(self, output: Tensor, tensor: Tensor) -> Work:
        self._count("all_gather", tensor, self.size - 1, 1, self.size + 1)
        return Work([output])

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> Work:
        self._count("gather", tensor, int(root != self.rank), 1, 1 + len(outputs))
        return Work(list(outputs))

    def scatter(self, output: Tensor, tensors: Sequence[Tensor], root: int) -> Work:
        return self._count("scatter", output, max(0, len(tensors) - 1), 1, 1 + len(tensors))

    def reduce_scatter(self, output: Tensor, tensors: Sequence[Tensor], op: RedOpType) -> Work:
        return self._count("reduce_scatter", output, self.size - 1, 1, self.size + 1)

    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, op: RedOpType) -> Work:
        return self._count("reduce_scatter", output, self.size - 1, 1, self.size + 1)

    def all_to_all(self, outputs: Sequence[Tensor], tensors: Sequence[Tensor]) -> Work:
        sizes = [t.numel() * t.element_size() for t in tensors]
        self.traffic.count("all_to_all", self.size - 1, sum(sizes) - sizes[self.rank], 2 * sum(sizes))
        return Work(list(outputs))

    def all_to_all_single(self, output: Tensor, tensor: Tensor) -> Work:
        self._count("all_to_all", tensor, self.size - 1, self.size, 2)
        return Work([output])

    def barrier(self) -> Work:
        self.traffic.count("barrier", 1, 0, 0)
        return Work()

    def monitored_barrier(self, timeout: timedelta, wait_all_ranks: bool) -> None:
        self.barrier()

    def send(self, tensor: Tensor, peer: int, tag: int) -> Work:
        return self._count("send", tensor, 1, 1)

    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> Work:
        self._count("recv", tensor, 0, 1)
        return Work([tensor], self.rank if peer is None else peer)

    def abort(self) -> None:
        return
