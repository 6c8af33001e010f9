"""The names of a process's part in groups: `group.WORLD` and `GroupMember.NON_GROUP_MEMBER`."""

from __future__ import annotations

from typing import Any

from . import world
from .process_group import ProcessGroup


class _NonGroupMember:
    """The placeholder of a group that this process isn't in."""

    def size(self) -> int:
        """-1, as `get_world_size` returns."""
        return -1

    def __repr__(self) -> str:
        return "GroupMember.NON_GROUP_MEMBER"


class _WorldProperty(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None before it is made."""
        return world.current().default

    @WORLD.setter
    def WORLD(cls, value: ProcessGroup | None) -> None:
        world.current().default = value


class group(metaclass=_WorldProperty):
    """`group.WORLD` is the group of all processes.

    Example:
        >>> import tl_distributed as dist
        >>> dist.group.WORLD is None
        True
    """


class GroupMember(metaclass=_WorldProperty):
    """`GroupMember.NON_GROUP_MEMBER` stands for a group that this process isn't in.

    Example:
        >>> import tl_distributed as dist
        >>> dist.GroupMember.NON_GROUP_MEMBER is None
        False
    """

    NON_GROUP_MEMBER: Any = _NonGroupMember()
