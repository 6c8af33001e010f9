"""The sampler of one process among several."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Generic

import tl_core
from tl_core import Generator, Tensor
from tl_core.base import ranks

from .dataset import Dataset, T_co
from .sampler import DrawnSampler

__all__ = ["DistributedSampler"]


class DistributedSampler(DrawnSampler, Generic[T_co]):
    """Every `num_replicas`-th index, from `rank` on, of an order common to all processes.

    The order depends on `seed` and on the epoch of `set_epoch`. All processes get the same number of indices: if the
    dataset's length is no multiple, some indices are repeated, or the tail is dropped (`drop_last`).

    Raises RuntimeError without rank or number of processes outside a process group, ValueError for an invalid rank.

    Args:
        dataset: a dataset with a length.
        num_replicas: the number of processes; None for the size of the process group.
        rank: the number of this process; None for the rank in the process group.
        shuffle: whether the order is random.
        seed: the seed of the order, the same in all processes.
        drop_last: whether indices at the end are dropped instead of repeated.

    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Dataset[T_co],
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            own_rank, world_size = _group()
            num_replicas = world_size if num_replicas is None else num_replicas
            rank = own_rank if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)  # type: ignore[arg-type]
        if drop_last and count % num_replicas:
            self.num_samples = math.ceil((count - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def start(self) -> int:
        return self.epoch

    def order(self, epoch: int) -> Tensor:
        """The indices in the order of an epoch, the same in all processes."""
        count = len(self.dataset)  # type: ignore[arg-type]
        if self.shuffle:
            return tl_core.randperm(count, generator=Generator().manual_seed(self.seed + epoch))
        return tl_core.arange(count)

    def index_chunks(self, start: int, again: bool = False) -> Iterator[Tensor]:
        order = self.order(start)
        if self.total_size > (count := len(order)) > 0:
            order = order.repeat(-(-self.total_size // count))
        yield order[self.rank : self.total_size : self.num_replicas]

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, which selects the order."""
        self.epoch = epoch


def _group() -> tuple[int, int]:
    group = ranks.current()
    if group is None:
        raise ValueError(
            "DistributedSampler needs num_replicas and rank: this process belongs to no process group "
            "(the distributed package has not been initialized)"
        )
    return group
