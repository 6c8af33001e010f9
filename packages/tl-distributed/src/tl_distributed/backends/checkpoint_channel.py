"""Messages of the ranks of a checkpoint, as pickled bytes between the members of a group."""

from __future__ import annotations

import pickle
from typing import Any

import tl_core
from tl_core import Tensor

from .communicator import Communicator


class CheckpointChannel:
    """Objects between the ranks of a group, one of which decides.

    Args:
        link: the group's connections.
        coordinator: the rank in the group that decides.
    """

    def __init__(self, link: Communicator, coordinator: int):
        self._link = link.blocking
        self.rank = link.rank
        self.world_size = link.size
        self.coordinator = coordinator

    def gather(self, value: Any) -> list[Any] | None:
        """The values of all ranks, on the coordinator."""
        values = self.all_gather(value)
        return values if self.rank == self.coordinator else None

    def scatter(self, values: list[Any] | None) -> Any:
        """This rank's of the coordinator's values."""
        return self.broadcast(values)[self.rank]

    def broadcast(self, value: Any) -> Any:
        """The coordinator's value."""
        here = self.rank == self.coordinator
        data = _pickle_tensor(value) if here else _room(0)
        size = tl_core.tensor([data.numel()])
        self._link.broadcast(size, self.coordinator).wait()
        if not here:
            data = _room(int(size))
        self._link.broadcast(data, self.coordinator).wait()
        return value if here else _unpickle_tensor(data)

    def all_gather(self, value: Any) -> list[Any]:
        """The values of all ranks."""
        data = _pickle_tensor(value)
        sizes = tl_core.zeros(self.world_size, dtype=tl_core.int64)
        self._link.all_gather_single(sizes, tl_core.tensor([data.numel()])).wait()
        longest = int(sizes.max())
        padded = tl_core.zeros(longest, dtype=tl_core.uint8)
        padded[: data.numel()] = data
        rows = _room(self.world_size * longest)
        self._link.all_gather_single(rows, padded).wait()
        return [_unpickle_tensor(part) for part in rows.view(self.world_size, longest).unbind(0)]


def _pickle_tensor(value: Any) -> Tensor:
    return tl_core.frombuffer(bytearray(pickle.dumps(value)), dtype=tl_core.uint8)


def _unpickle_tensor(data: Tensor) -> Any:
    # what stands behind the end of the pickle is padding, which pickle doesn't look at
    return pickle.loads(memoryview(data))


def _room(size: int) -> Tensor:
    return tl_core.empty(size, dtype=tl_core.uint8)
