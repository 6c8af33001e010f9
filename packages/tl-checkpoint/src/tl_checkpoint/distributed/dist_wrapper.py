"""What ranks tell each other, under the names that programs with planners of their own call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from .coordinator import ranks_of

__all__: list[str] = []

T = TypeVar("T")
R = TypeVar("R")


class _DistWrapper:
    """Objects between the ranks of a group, one of which decides; of one process alone without `use_dist`.

    Args:
        group: the ranks; None for all.
        use_dist: whether there are others.
        coordinator_rank: the rank that decides.

    Example:
        >>> _DistWrapper(None, False, 0).all_gather_object("here")
        ['here']
    """

    def __init__(self, group: Any, use_dist: bool, coordinator_rank: int) -> None:
        self.group, self.use_dist, self.coordinator_rank = group, use_dist, coordinator_rank
        self._ranks = ranks_of(group, not use_dist, coordinator_rank if use_dist else 0)
        self.rank = self._ranks.rank
        self.is_coordinator = self._ranks.is_coordinator

    def get_rank(self) -> int:
        """This process's rank in the group."""
        return self.rank

    def get_world_size(self) -> int:
        """How many ranks there are."""
        return self._ranks.world_size

    def broadcast_object(self, object: T | None) -> T:
        """The coordinator's object, on every rank."""
        return cast(T, self._ranks.broadcast("broadcast_object", lambda: object))

    def gather_object(self, object: T) -> list[T] | None:
        """The objects of all ranks, on the coordinator; None on the others."""
        found = self.all_gather_object(object)
        return found if self.is_coordinator else None

    def all_gather_object(self, object: T) -> list[T]:
        """The objects of all ranks, on every rank."""
        return self._ranks.all_gather("all_gather_object", lambda: object)

    def scatter_object(self, object_list: list[T] | None) -> T:
        """This rank's of the coordinator's objects."""
        return self._ranks.reduce_scatter("scatter_object", lambda: None, lambda _: object_list or [])

    def reduce_scatter(
        self, step: str, map_fun: Callable[[], T], reduce_fun: Callable[[list[T]], list[R]]
    ) -> R:
        """This rank's part of what the coordinator makes of what all ranks do.

        Args:
            step: what it is called in errors.
            map_fun: what each rank does.
            reduce_fun: what the coordinator makes of it.
        """
        return self._ranks.reduce_scatter(step, map_fun, reduce_fun)

    def all_reduce(self, step: str, map_fun: Callable[[], T], reduce_fun: Callable[[list[T]], R]) -> R:
        """What the coordinator makes of what all ranks do, on every rank.

        Args:
            step: what it is called in errors.
            map_fun: what each rank does.
            reduce_fun: what the coordinator makes of it.
        """
        return self._ranks.all_reduce(step, map_fun, reduce_fun)

    def all_gather(self, step: str, map_fun: Callable[[], T]) -> list[T]:
        """What all ranks do, on every rank.

        Args:
            step: what it is called in errors.
            map_fun: what each rank does.
        """
        return self._ranks.all_gather(step, map_fun)

    def broadcast(self, step: str, map_fun: Callable[[], T]) -> T:
        """What the coordinator alone does, on every rank.

        Args:
            step: what it is called in errors.
            map_fun: what it does.
        """
        return self._ranks.broadcast(step, map_fun)

    def barrier(self) -> None:
        """Returns when all ranks have come here."""
        self.all_gather_object(None)
