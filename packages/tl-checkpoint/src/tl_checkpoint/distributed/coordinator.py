"""The ranks that save or load together, and what they tell each other. Here there is one, which tells nobody."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from tl_core.ranks import current, default_group

from .api import CheckpointException

__all__ = ["Ranks", "ranks_of"]

T = TypeVar("T")
R = TypeVar("R")


class Ranks:
    """One process. A process group brings its own kind: an object like this one, whose steps go through its ranks.

    Every step takes what each rank does, and what the coordinator makes of all results. If one rank fails, all of them
    raise CheckpointException.
    """

    rank = 0
    world_size = 1
    is_coordinator = True

    def reduce_scatter(self, step: str, local: Callable[[], T], reduce: Callable[[list[T]], list[R]]) -> R:
        """Each rank's part of what the coordinator makes of all results."""
        return self._guarded(step, lambda: reduce([local()])[0])

    def all_reduce(self, step: str, local: Callable[[], T], reduce: Callable[[list[T]], R]) -> R:
        """What the coordinator makes of all results, on every rank."""
        return self._guarded(step, lambda: reduce([local()]))

    def all_gather(self, step: str, local: Callable[[], T]) -> list[T]:
        """All results, on every rank."""
        return self._guarded(step, lambda: [local()])

    def broadcast(self, step: str, local: Callable[[], T]) -> T:
        """What the coordinator alone does, on every rank."""
        return self._guarded(step, local)

    def _guarded(self, step: str, work: Callable[[], T]) -> T:
        try:
            return work()
        except CheckpointException:
            raise
        except Exception as error:
            failures = {self.rank: (error, traceback.extract_tb(error.__traceback__))}
            raise CheckpointException(step, failures) from error


def ranks_of(process_group: Any, no_dist: bool = False, coordinator_rank: int = 0) -> Ranks:
    """The ranks of a process group, or this process alone.

    Raises:
        NotImplementedError
            If several ranks are asked for, or are there, without a process group that brings them.
    """
    if process_group is None and not no_dist:
        process_group = default_group()
    if no_dist or process_group is None:
        if coordinator_rank:
            raise NotImplementedError(
                f"coordinator_rank={coordinator_rank} needs several ranks, which tl-distributed will bring; this "
                "process saves and loads alone, as rank 0"
            )
        if not no_dist:
            _need_one_rank()
        return Ranks()
    made = getattr(process_group, "__checkpoint_ranks__", None)
    if made is not None:
        ranks: Ranks = made(coordinator_rank)
        return ranks
    if hasattr(process_group, "size") and process_group.size() == 1:
        return Ranks()
    channel = getattr(process_group, "__checkpoint_channel__", None)
    if channel is not None:
        from .group_ranks import GroupRanks

        return GroupRanks(channel(coordinator_rank))
    raise NotImplementedError(
        f"a checkpoint of several ranks needs a process group of tl-distributed, got "
        f"{type(process_group).__name__}; leave process_group out to save in this process alone"
    )


def _need_one_rank() -> None:
    rank, count = current() or (0, 1)
    if count > 1:
        raise NotImplementedError(
            f"this process is rank {rank} of {count}: give the process_group that saves or loads together, or "
            "no_dist=True for this process alone"
        )
