"""The groups of this process: made, asked about, ended."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tl_core.base import ranks as process_ranks

from ..backends.backend import Backend, BackendConfig, brings_ranks
from ..base import cluster
from ..base.constants import default_pg_timeout
from ..stores.file_store import FileStore
from ..stores.rendezvous import rendezvous
from ..stores.store import HashStore, PrefixStore, Store
from . import world
from .c10d_logger import _exception_logger, _time_logger
from .group_member import GroupMember
from .process_group import ProcessGroup


def is_available() -> bool:
    """True: this package can always be used.

    Example:
        >>> import tl_distributed as dist
        >>> dist.is_available()
        True
    """
    return True


def is_initialized() -> bool:
    """True if the group of all processes has been made.

    Example:
        >>> import tl_distributed as dist
        >>> dist.is_initialized()
        False
    """
    return world.current().default is not None


def is_torchelastic_launched() -> bool:
    """True if an elastic launcher has started this process, by its environment variable TORCHELASTIC_RUN_ID.

    Example:
        >>> import tl_distributed as dist
        >>> dist.is_torchelastic_launched()
        False
    """
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


@_exception_logger
@_time_logger
def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Makes the group of all processes of this job.

    Processes of one machine share memory, those of several are connected over TCP.

    Args:
        backend: "gloo", "mpi", or a list such as "cpu:gloo"; None takes the default of each device. "mpi" takes rank
            and size from mpirun or srun, and needs no other way to find the others.
        init_method: where to find the others: `env://` (the default: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in
            the environment, or what SLURM and MPI tell the processes that they start), `file:///path`,
            `tcp://host:port`.
        timeout: how long an operation may take; half an hour by default.
        world_size: how many processes there are.
        rank: this process's number, from 0.
        store: where to find the others, in place of `init_method`; needs `rank` and `world_size`.
        group_name: ignored, as in PyTorch.
        pg_options: options of a backend of somebody's own.
        device_id: the device of this process; its kind chooses the backend if none is named.

    Raises:
        ValueError: there is a world already, or something that the method needs is missing.
        DistStoreError: not all came in time.
        DistBackendError: two have the same number, or one cannot be reached.

    Example:
        >>> init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
        >>> get_rank(), get_world_size(), get_backend()
        (0, 1, 'gloo')
        >>> destroy_process_group()
    """
    if is_initialized():
        raise ValueError("init_process_group: the default process group is initialized already")
    timeout = _check_timeout(timeout)
    if store is not None and init_method is not None:
        raise AssertionError("init_process_group: Cannot specify both init_method and store.")
    backends = _choose(backend, device_id)
    BackendConfig(backends)
    if store is None and init_method is None and brings_ranks(backends):
        store, (rank, world_size) = HashStore(), _join_mpi()
    elif store is None:
        store, rank, world_size = next(
            iter(rendezvous(init_method or "env://", rank, world_size, timeout=timeout))
        )
    elif world_size <= 0:
        raise AssertionError("init_process_group: world_size must be positive if using store")
    elif rank < 0:
        raise AssertionError("init_process_group: rank must be non-negative if using store")
    if not 0 <= rank < world_size:
        raise RuntimeError(f"init_process_group: rank {rank} is out of range in a world of {world_size}")
    store.set_timeout(timeout)
    here = world.current()
    here.store = store
    # A world that is made again on the same store must not meet the keys of the one before.
    here.round = 0 if backends == Backend.FAKE else (store.add("tl/joined", 1) - 1) // world_size
    try:
        here.default = _add(range(world_size), rank, backends, timeout, "default_pg", pg_options)
    except BaseException:
        here.clear()
        raise
    process_ranks.register(_rank_and_size, lambda: world.current().default)


def _join_mpi() -> tuple[int, int]:
    from ..backends.mpi import MpiWorld

    return MpiWorld.join()


def _choose(backend: str | None, device_id: Any) -> Backend:
    if backend is not None:
        return Backend(backend)
    if device_id is None:
        return Backend(Backend.UNDEFINED)
    return Backend(Backend.default_device_backend_map[device_id.type])


def _check_timeout(timeout: timedelta | None) -> timedelta:
    if timeout is None:
        return default_pg_timeout
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout!r}")
    return timeout


def _rank_and_size() -> tuple[int, int] | None:
    default = world.current().default
    return None if default is None else (default.rank(), default.size())


def _add(
    ranks: Sequence[int],
    rank: int,
    backend: Backend,
    timeout: timedelta,
    description: str,
    options: Any = None,
    name: str | None = None,
    is_late: bool = False,
) -> ProcessGroup:
    here = world.current()
    key = tuple(ranks)
    digest = hashlib.sha1(repr(key).encode(), usedforsecurity=False).hexdigest()[:12]
    prefix = f"tl/{here.round}/{digest}.{here.meetings[key]}"
    here.meetings[key] += 1
    store = PrefixStore(prefix, here.store)  # type: ignore[arg-type]
    name = str(here.made) if name is None else name
    here.made += 1
    group = ProcessGroup(ranks, rank, backend, store, timeout, name, description, options, is_late)
    here.groups.append(group)
    return group


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Ends a group, or with None the world and all groups in it.

    Raises:
        AssertionError: there is no world.
        ValueError: the group has been ended already.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.destroy_process_group()
        >>> dist.is_initialized()
        False
    """
    here = world.current()
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    if group is not None and group is not here.default:
        _check_registered(group).close()
        here.groups.remove(group)
        return
    if here.default is None:
        raise AssertionError(
            "destroy_process_group: Process group cannot be None, and there is no default one"
        )
    base = here.store
    for each in reversed(here.groups):
        each.close()
    here.clear()
    if isinstance(base, FileStore):
        base.close()


def default_group() -> ProcessGroup:
    """The group of all processes.

    Raises:
        ValueError: it hasn't been made.
    """
    default = world.current().default
    if default is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group."
        )
    return default


def resolve(group: ProcessGroup | None) -> ProcessGroup | None:
    """The group meant by an argument, None if this process isn't in it."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return None
    return default_group() if group is None else _check_registered(group)


def _rank_not_in_group(group: ProcessGroup | None) -> bool:
    """True if this process isn't in a group."""
    return group is GroupMember.NON_GROUP_MEMBER


def _check_registered(group: ProcessGroup) -> ProcessGroup:
    if group not in world.current().groups:
        raise ValueError(
            f"Invalid process group specified: {group!r} has been destroyed, or new_group didn't make it"
        )
    return group


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's number in a group, -1 if it isn't in it.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.get_rank()
        0
        >>> dist.destroy_process_group()
    """
    process_group = resolve(group)
    return -1 if process_group is None else process_group.rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """The number of processes of a group, -1 if this one isn't in it.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.get_world_size()
        1
        >>> dist.destroy_process_group()
    """
    process_group = resolve(group)
    return -1 if process_group is None else process_group.size()


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's number on its machine: the environment variable LOCAL_RANK, or what SLURM or MPI say.

    Example:
        >>> import tl_distributed as dist
        >>> dist.get_node_local_rank(fallback_rank=0)
        0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if (placed := cluster.process()) is not None:
        return placed.local_rank
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment; give get_node_local_rank a fallback_rank")


def _member(group: ProcessGroup | None) -> ProcessGroup:
    process_group = resolve(group)
    if process_group is None:
        raise ValueError("Invalid process group specified: this process is not in it")
    return process_group


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The name of a group's backend.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.get_backend()
        'gloo'
        >>> dist.destroy_process_group()
    """
    return _member(group).backend


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """The backend of each kind of device in a group, as `cpu:gloo`.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.get_backend_config()
        'cpu:gloo,cuda:gloo'
        >>> dist.destroy_process_group()
    """
    return repr(_member(group).config)


def get_pg_count() -> int:
    """The number of groups.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.get_pg_count()
        1
        >>> dist.destroy_process_group()
    """
    return len(world.current().groups)


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The numbers that the members of a group have in the world, in its order.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.get_process_group_ranks(dist.group.WORLD)
        [0]
        >>> dist.destroy_process_group()
    """
    return list(_member(group).ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Rank in a group of the process with this global rank; the world takes any rank as it is.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.get_group_rank(dist.new_group([0]), 0)
        0
        >>> dist.destroy_process_group()
    """
    if group is GroupMember.WORLD:
        return global_rank
    return _check_registered(group).position(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Global rank of the process with this rank in a group.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.get_global_rank(dist.new_group([0]), 0)
        0
        >>> dist.destroy_process_group()
    """
    if group is GroupMember.WORLD:
        return group_rank
    ranks = _check_registered(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group!r}")
    return ranks[group_rank]


@_exception_logger
@_time_logger
def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A new group of some processes of the world; all processes must ask for it, in the same order.

    Only its members wait for each other here.

    Args:
        ranks: the members by their number in the world; None for all.
        timeout: how long an operation may take; that of the world by default.
        backend: that of the world by default.
        pg_options: options of a backend of somebody's own.
        use_local_synchronization: whether only the members call this function.
        group_desc: what the group is for.
        device_id: the device of this process.
        sort_ranks: whether the members stand in the order of their numbers, rather than in that of `ranks`.

    Returns:
        The group, or GroupMember.NON_GROUP_MEMBER if this process isn't in it.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> pair = dist.new_group([0])
        >>> dist.get_world_size(pair)
        1
        >>> dist.destroy_process_group()
    """
    every = default_group()
    members = list(range(every.size()) if ranks is None else ranks)
    if sort_ranks:
        members.sort()
    _check_members(members, every.size())
    backends = every.backend if backend is None else Backend(backend)
    BackendConfig(backends)
    limit = every.timeout if timeout is None else _check_timeout(timeout)
    if every.rank() not in members:
        # counted, so that the names of later groups agree
        world.current().made += not use_local_synchronization
        return GroupMember.NON_GROUP_MEMBER
    own = members.index(every.rank())
    name = "-".join(map(str, members)) if use_local_synchronization else None
    return _add(members, own, backends, limit, group_desc or "undefined", pg_options, name)


def late_group(
    ranks: Sequence[int], description: str, backend: str | None = None, options: Any = None
) -> ProcessGroup:
    """A group of this process and others, as `new_group` returns it, that connects at its first operation.

    Args:
        ranks: the members by their number in the world, in the group's order.
        description: what the group is for.
        backend: that of the world by default.
        options: options of a backend of somebody's own.
    """
    every = default_group()
    _check_members(list(ranks), every.size())
    backends = every.backend if backend is None else Backend(backend)
    return _add(
        ranks, list(ranks).index(every.rank()), backends, every.timeout, description, options, is_late=True
    )


def _check_members(members: list[int], world_size: int) -> None:
    if not members:
        raise ValueError("new_group: ranks is empty; a group needs a member")
    if len(members) > world_size:
        raise ValueError(
            f"new_group: the new group's world size should be less or equal to the world size {world_size}, "
            f"got {len(members)} ranks"
        )
    if len(set(members)) < len(members):
        raise ValueError(f"new_group: ranks list must not contain duplicate entries, got {members}")
    for rank in members:
        if not 0 <= rank < world_size:
            raise ValueError(f"new_group: Rank {rank} is out of range. Valid ranks are 0 to {world_size - 1}")


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Cuts the world into groups of `group_size` neighbours.

    Args:
        group_size: the size of a group; it divides the world's.
        group: the group that is cut; None for the world.
        timeout: how long operations may take; None for the default.
        backend: the backend; None for the default.
        pg_options: options of the backend.
        group_desc: a text for messages.

    Returns:
        The group that this process is in, and all of them.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mine, all_of_them = dist.new_subgroups(group_size=1)
        >>> dist.get_process_group_ranks(mine), len(all_of_them)
        ([0], 1)
        >>> dist.destroy_process_group()
    """
    size = get_world_size(group)
    if group_size is None:
        raise ValueError(
            "new_subgroups: group_size is needed; the devices of this machine are not counted here"
        )
    if not 0 < group_size <= size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size' ({group_size})")
    ranks = get_process_group_ranks(group)
    parts = [ranks[i : i + group_size] for i in range(0, size, group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Makes several groups without common members.

    Args:
        ranks_per_subgroup_list: the global ranks of each group, none in two.
        timeout: how long operations may take; None for the default.
        backend: the backend; None for the default.
        pg_options: options of the backend.
        group_desc: a text for messages.

    Returns:
        The group that this process is in (None if in none), and all of them.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mine, _ = dist.new_subgroups_by_enumeration([[0]])
        >>> dist.get_process_group_ranks(mine)
        [0]
        >>> dist.destroy_process_group()
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    every = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(every)) < len(every):
        raise ValueError(f"new_subgroups: a rank stands in two groups of {list(ranks_per_subgroup_list)}")
    groups = [
        new_group(list(ranks), timeout, backend, pg_options, group_desc=group_desc)
        for ranks in ranks_per_subgroup_list
    ]
    mine = [each for each in groups if each is not GroupMember.NON_GROUP_MEMBER]
    return (mine[0] if mine else None), groups


def group_named(name: str) -> ProcessGroup:
    """The group with a name.

    Args:
        name: the group's `group_name`.

    Raises:
        ValueError: no group of this process has it.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> group_named(dist.group.WORLD.group_name) is dist.group.WORLD
        True
        >>> dist.destroy_process_group()
    """
    for group in world.current().groups:
        if group.group_name == name:
            return group
    names = ", ".join(repr(group.group_name) for group in world.current().groups) or "none"
    raise ValueError(
        f"Could not resolve the process group registered under the name {name}: there are {names}"
    )
