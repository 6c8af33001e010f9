"""Links of a stage to the stages before and after it: tensors, and once their descriptions, in a fixed order."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor

from ..collectives.point_to_point import irecv, isend, recv
from ._utils import TensorDescription

__all__ = ["Link"]


class Link:
    """Messages to and from one rank. Both sides name them in the same order.

    Args:
        peer: the other rank, globally.
        group: the group of both.
        device: the device of received tensors.

    Example:
        >>> Link(1, None, tl_core.device("cpu")).peer
        1
    """

    def __init__(self, peer: int, group: Any, device: Any):
        self.peer = peer
        self._group, self._device = group, device
        self._sends: list[tuple[Any, Tensor]] = []

    def send(self, tensors: Sequence[Tensor]) -> None:
        """Begins to send tensors.

        Args:
            tensors: the tensors.
        """
        # A tensor is kept until it is gone, and not longer: activations are what limits a pipeline.
        self._sends = [(work, tensor) for work, tensor in self._sends if not work.is_completed()]
        for tensor in tensors:
            own = tensor.detach().contiguous()
            self._sends.append((isend(own, self.peer, self._group), own))

    def send_description(self, description: tuple[TensorDescription, ...]) -> None:
        """Begins to send the description of the tensors that follow.

        Args:
            description: the description.
        """
        text = pickle.dumps([(each.shape, each.dtype, each.requires_grad) for each in description])
        payload = tl_core.frombuffer(bytearray(text), dtype=tl_core.uint8)
        self.send([tl_core.tensor([len(text)]), payload])

    def receive_description(self) -> tuple[TensorDescription, ...]:
        """Waits for a description."""
        length = tl_core.zeros(1, dtype=tl_core.int64)
        recv(length, self.peer, self._group)
        payload = tl_core.empty(int(length), dtype=tl_core.uint8)
        recv(payload, self.peer, self._group)
        return tuple(TensorDescription(*each) for each in pickle.loads(bytes(payload.tolist())))

    def receive(self, descriptions: Sequence[TensorDescription]) -> tuple[list[Tensor], list[Any]]:
        """Begins to receive tensors.

        Args:
            descriptions: their shapes and dtypes.

        Returns:
            The tensors, and the works that end when they are there.
        """
        tensors = [tl_core.empty(d.shape, dtype=d.dtype, device=self._device) for d in descriptions]
        return tensors, [irecv(tensor, self.peer, self._group) for tensor in tensors]

    def finish(self) -> None:
        """Waits until all that was sent has been received."""
        sends, self._sends = self._sends, []
        for work, _ in sends:
            work.wait()
