"""Tables of the groups of this process, which programs read from `torch.distributed.distributed_c10d`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, TypeAlias

from tl_core import device

from ..stores.store import Store
from .process_group import ProcessGroup
from .process_groups import default_group
from .world import current

__all__ = ["GroupName"]

GroupName: TypeAlias = str


class _ByGroup(Mapping[ProcessGroup, Any]):
    """A fact of each group of the process, as it is now.

    Args:
        fact: tells it of a group.
    """

    def __init__(self, fact: Callable[[ProcessGroup], Any]) -> None:
        self._fact = fact

    def __getitem__(self, group: ProcessGroup) -> Any:
        if group not in current().groups:
            raise KeyError(group)
        return self._fact(group)

    def __iter__(self) -> Iterator[ProcessGroup]:
        return iter(current().groups)

    def __len__(self) -> int:
        return len(current().groups)

    def __repr__(self) -> str:
        return repr(dict(self))


_pg_map = _ByGroup(lambda group: (str(group.backend), group.store))
_pg_names = _ByGroup(lambda group: group.group_name)
_pg_group_ranks = _ByGroup(lambda group: {rank: at for at, rank in enumerate(group.ranks)})
_pg_backend_config = _ByGroup(lambda group: repr(group.config))


class _World:
    """All groups of the process, in one object."""

    pg_map = _pg_map
    pg_names = _pg_names
    pg_group_ranks = _pg_group_ranks
    pg_backend_config = _pg_backend_config

    @property
    def default_pg(self) -> ProcessGroup | None:
        """The group of all processes; None before there is one."""
        return current().default

    @property
    def group_count(self) -> int:
        """The number of groups that the process has created."""
        return current().made


_world = _World()


def _set_pg_timeout(timeout: timedelta, group: ProcessGroup | None = None) -> None:
    """Sets how long operations of a group may take from now on."""
    if not isinstance(timeout, timedelta):
        raise TypeError(f"timeout must be a timedelta, got {type(timeout).__name__}")
    (group or default_group()).set_timeout(timeout)


def _get_group_size(group: ProcessGroup | None) -> int:
    """The number of members of a group."""
    return (group or default_group()).size()


def _get_pg_default_device(group: ProcessGroup | None = None) -> device:
    """The device on which a group's objects travel."""
    return device("cpu")


def _get_default_store() -> Store:
    """The store in which the processes of the default group have met."""
    return default_group().store
