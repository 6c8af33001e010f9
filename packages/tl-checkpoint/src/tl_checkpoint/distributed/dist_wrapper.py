"""Communication between ranks under PyTorch's names, for programs with their own planners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from .coordinator import ranks_of

__all__: list[str] = []

T = TypeVar("T")
R = TypeVar("R")


class _DistWrapper:
    """Transport of objects between the ranks of a group with a coordinator; one process alone without `use_dist`.

    Args:
        group: the process group; None for all ranks.
        use_dist: whether there are other ranks.
        coordinator_rank: the number of the coordinator.

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
        """Number of ranks."""
        return self._ranks.world_size

    def broadcast_object(self, object: T | None) -> T:
        """The coordinator's object, on every rank."""
        return cast(T, self._ranks.broadcast("broadcast_object", lambda: object))

    def gather_object(self, object: T) -> list[T] | None:
        """The objects of all ranks, on the coordinator; None on the others."""
        objects = self.all_gather_object(object)
        return objects if self.is_coordinator else None

    def all_gather_object(self, object: T) -> list[T]:
        """The objects of all ranks, on every rank."""
        return self._ranks.all_gather("all_gather_object", lambda: object)

    def scatter_object(self, object_list: list[T] | None) -> T:
        """This rank's object of the coordinator's list."""
        return self._ranks.reduce_scatter("scatter_object", lambda: None, lambda _: object_list or [])

    def reduce_scatter(
        self, step: str, map_fun: Callable[[], T], reduce_fun: Callable[[list[T]], list[R]]
    ) -> R:
        """This rank's part of the coordinator's reduction of all results.

        Args:
            step: the name of the step in errors.
            map_fun: function that each rank calls.
            reduce_fun: function of all results that the coordinator calls.
        """
        return self._ranks.reduce_scatter(step, map_fun, reduce_fun)

    def all_reduce(self, step: str, map_fun: Callable[[], T], reduce_fun: Callable[[list[T]], R]) -> R:
        """The coordinator's reduction of all results, on every rank.

        Args:
            step: the name of the step in errors.
            map_fun: function that each rank calls.
            reduce_fun: function of all results that the coordinator calls.
        """
        return self._ranks.all_reduce(step, map_fun, reduce_fun)

    def all_gather(self, step: str, map_fun: Callable[[], T]) -> list[T]:
        """The results of all ranks, on every rank.

        Args:
            step: the name of the step in errors.
            map_fun: function that each rank calls.
        """
        return self._ranks.all_gather(step, map_fun)

    def broadcast(self, step: str, map_fun: Callable[[], T]) -> T:
        """The coordinator's result, on every rank.

        Args:
            step: the name of the step in errors.
            map_fun: function that the coordinator calls.
        """
        return self._ranks.broadcast(step, map_fun)

    def barrier(self) -> None:
        """Waits until all ranks have called it."""
        self.all_gather_object(None)
