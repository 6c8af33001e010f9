"""The world of one process, in which every collective is a copy or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NoReturn

from tl_core import Tensor

from ..base.reduction import RedOpType
from ..base.work import Work
from .communicator import Communicator


class SingleProcess(Communicator):
    """A group of this process only: a reduction over one tensor, sum or average, is that tensor."""

    name = "gloo"

    def all_reduce(self, tensor: Tensor, op: RedOpType) -> Work:
        return Work([tensor])

    def reduce(self, tensor: Tensor, root: int, op: RedOpType) -> Work:
        return Work([tensor])

    def broadcast(self, tensor: Tensor, root: int) -> Work:
        return Work([tensor])

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> Work:
        return _copy(outputs, [tensor])

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> Work:
        return _copy(outputs, [tensor])

    def scatter(self, output: Tensor, tensors: Sequence[Tensor], root: int) -> Work:
        return _copy([output], tensors)

    def reduce_scatter(self, output: Tensor, tensors: Sequence[Tensor], op: RedOpType) -> Work:
        return _copy([output], tensors)

    def all_to_all(self, outputs: Sequence[Tensor], tensors: Sequence[Tensor]) -> Work:
        return _copy(outputs, tensors)

    def all_gather_single(self, output: Tensor, tensor: Tensor) -> Work:
        output.view(tensor.shape).copy_(tensor)
        return Work([output])

    def barrier(self) -> Work:
        return Work()

    def monitored_barrier(self, timeout: timedelta, wait_all_ranks: bool) -> None:
        return

    def send(self, tensor: Tensor, peer: int, tag: int) -> Work:
        self._nobody("send to")

    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> Work:
        self._nobody("receive from")

    def abort(self) -> None:
        return

    def _nobody(self, what: str) -> NoReturn:
        raise RuntimeError(
            f"there is nobody to {what}: the group has one process, and none is connected to itself"
        )


def _copy(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> Work:
    for output, tensor in zip(outputs, inputs, strict=True):
        output.copy_(tensor)
    return Work(list(outputs))
