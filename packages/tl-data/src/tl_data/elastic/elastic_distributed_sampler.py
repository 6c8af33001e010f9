"""The sampler of one process among several that continues in the middle of an epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tl_core import Tensor

from ..distributed import DistributedSampler

__all__ = ["ElasticDistributedSampler"]


class ElasticDistributedSampler(DistributedSampler):
    """A `DistributedSampler` that skips the first `start_index` indices of an epoch's order.

    A job that resumes with another number of processes reads exactly the rest of its epoch: all processes together
    have read `start_index` indices before.

    Args:
        dataset: a dataset with a length.
        num_replicas: the number of processes; by default the size of the process group.
        rank: the number of this process; by default the rank in the process group.
        start_index: number of indices that all processes together have read.

    Example:
        >>> sampler = ElasticDistributedSampler(range(10), num_replicas=2, rank=1, start_index=4)
        >>> len(sampler), len(list(sampler))
        (3, 3)
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        start_index: int = 0,
    ) -> None:
        super().__init__(dataset, num_replicas, rank)
        if not 0 <= start_index < len(dataset):
            raise ValueError(
                f"ElasticDistributedSampler: start_index must be one of 0 .. {len(dataset) - 1}, got {start_index}"
            )
        self.start_index = start_index
        self.num_samples = math.ceil((len(dataset) - start_index) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def index_chunks(self, start: int, again: bool = False) -> Iterator[Tensor]:
        rest = self.order(start)[self.start_index :]
        if len(rest) < self.total_size:
            rest = rest.repeat(-(-self.total_size // len(rest)))
        yield rest[self.rank : self.total_size : self.num_replicas]
