"""What the ranks of a checkpoint tell each other, over the collectives of a group."""

from __future__ import annotations

from typing import Any

from .object_collectives import all_gather_object, broadcast_object_list, gather_object, scatter_object_list
from .process_group import ProcessGroup


class CheckpointChannel:
    """Objects between the ranks of a group, one of which decides.

    Args:
        group: the group.
        coordinator: the rank in the group that decides.
    """

    def __init__(self, group: ProcessGroup, coordinator: int):
        self.group = group
        self.rank = group.rank()
        self.world_size = group.size()
        self.coordinator = coordinator

    def gather(self, value: Any) -> list[Any] | None:
        """The values of all ranks, on the coordinator."""
        found: list[Any] | None = [None] * self.world_size if self.rank == self.coordinator else None
        gather_object(value, found, group=self.group, group_dst=self.coordinator)
        return found

    def scatter(self, values: list[Any] | None) -> Any:
        """This rank's of the coordinator's values."""
        found = [None]
        scatter_object_list(found, values, group=self.group, group_src=self.coordinator)
        return found[0]

    def broadcast(self, value: Any) -> Any:
        """The coordinator's value."""
        found = [value]
        broadcast_object_list(found, group=self.group, group_src=self.coordinator)
        return found[0]

    def all_gather(self, value: Any) -> list[Any]:
        """The values of all ranks."""
        found = [None] * self.world_size
        all_gather_object(found, value, group=self.group)
        return found
