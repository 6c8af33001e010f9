"""The description of a group for its backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from ..base.constants import default_pg_timeout
from ..stores.store import HashStore, Store


@dataclass
class GroupContext:
    """A group, from the side of one of its processes.

    Args:
        rank: the rank of this process in it.
        size: how many processes it has.
        store: where they meet.
        timeout: how long an operation may take.
        name: its name.
        description: a text for messages.
        global_ranks: the ranks of its members in the world.
        options: options of the backend.
        device: the device of its tensors, or None.

    Attributes:
        rank: this process's rank in the group, from 0.
        size: how many processes the group has.
        store: where the members find each other; of this group and backend alone.
        timeout: how long an operation may take.
        name: the group's name, the same in all members.
        description: what it is for.
        global_ranks: the numbers that the members have in the world; by default their ranks.
        options: what was given as `pg_options`.
        device: the kind of device whose tensors shall be moved.

    Example:
        >>> GroupContext(rank=1, size=4).rank
        1
    """

    rank: int
    size: int
    store: Store = field(default_factory=HashStore)
    timeout: timedelta = default_pg_timeout
    name: str = ""
    description: str = ""
    global_ranks: Sequence[int] = ()
    options: Any = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        if not self.global_ranks:
            self.global_ranks = range(self.size)

    @property
    def group_rank(self) -> int:
        """The same as `rank`."""
        return self.rank

    @property
    def group_size(self) -> int:
        """The same as `size`."""
        return self.size

    @property
    def group_id(self) -> str:
        """The same as `name`."""
        return self.name

    @property
    def global_ranks_in_group(self) -> list[int]:
        """The same as `global_ranks`."""
        return list(self.global_ranks)
