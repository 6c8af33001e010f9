"""Steps that give each worker its share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from tl_core.base import ranks
from tl_data.info import get_worker_info

from ..datapipe import IterDataPipe, functional_datapipe

__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]


class SHARDING_PRIORITIES(IntEnum):
    """The group of workers among which a stream is sharded."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe[Any]):
    """Every n-th sample, for n workers of all processes together, unless `apply_sharding` sets another share.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> shard = IterableWrapper(range(5)).sharding_filter()
        >>> shard.apply_sharding(2, 1)
        >>> list(shard)
        [1, 3]
    """

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        self.source_datapipe, self.sharding_group_filter = source_datapipe, sharding_group_filter
        self._share: tuple[int, int] | None = None
        self._groups: frozenset[int] = frozenset()

    def apply_sharding(
        self,
        num_of_instances: int,
        instance_id: int,
        sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
    ) -> None:
        """Selects every `num_of_instances`-th sample, from number `instance_id` on.

        Raises ValueError for a number that is too large, RuntimeError for the default group beside others.
        """
        if not 0 <= instance_id < num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})"
            )
        default = SHARDING_PRIORITIES.DEFAULT
        if self._groups - {sharding_group} and default in (self._groups | {sharding_group}):
            raise RuntimeError(
                "ShardingFilter cannot mix DEFAULT and non DEFAULT groups: "
                f"{sharding_group!r} follows {sorted(self._groups)}"
            )
        self._groups = self._groups | {sharding_group}
        if self.sharding_group_filter in (None, sharding_group):
            self._share = (instance_id, num_of_instances)

    def _own_share(self) -> tuple[int, int]:
        if self._share is not None:
            return self._share
        rank, world_size = ranks.current() or (0, 1)
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        return rank * workers + worker, world_size * workers

    def __iter__(self) -> Iterator[Any]:
        first, step = self._own_share()
        return itertools.islice(self.source_datapipe, first, None, step)

    def __len__(self) -> int:
        first, step = self._own_share()
        return len(range(first, len(self.source_datapipe), step))
