"""The set-up of a group whose machines have several ranks.

The ranks of a machine share memory. The ranks of equal number in their machines are connected, as many of each machine
as the smallest one has: these are the lanes. Connections for collectives and messages are made when first used; only
those by which ranks notice the death of others are there from the beginning.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from datetime import timedelta

from .._C import Group, cluster_group
from ..stores.store import PrefixStore, Store
from .network import (
    WATCH,
    Members,
    compares_all,
    link_ranks,
    listen,
    read_address,
    read_key,
    release_links,
)
from .shared_memory import meet_in_memory

__all__ = ["connect_machines", "machines_of"]


def machines_of(domains: Sequence[str]) -> list[list[int]]:
    """The ranks of each machine, in the order of their first ranks.

    Args:
        domains: the machine of each rank.

    Example:
        >>> machines_of(["a", "b", "a", "b"])
        [[0, 2], [1, 3]]
    """
    machines: dict[str, list[int]] = {}
    for rank, domain in enumerate(domains):
        machines.setdefault(domain, []).append(rank)
    return list(machines.values())


def connect_machines(
    store: Store,
    rank: int,
    members: Members,
    machines: list[list[int]],
    name: str,
    timeout: timedelta,
    ucx: str,
) -> Group:
    """The group of processes on several machines, of which some have several.

    Args:
        store: where they meet; of this group alone.
        rank: this process's rank in the group.
        members: number in the world, process and host of each.
        machines: the ranks of each machine.
        name: of the group, for errors.
        timeout: how long to wait for the others, and how long an operation may take.
        ucx: the library by which UCX moves data between machines, "" for connections.

    Raises:
        DistBackendError: not all came in time, or one cannot be reached.
    """
    deadline = time.monotonic() + timeout.total_seconds()
    machine = next(i for i, ranks in enumerate(machines) if rank in ranks)
    number = machines[machine].index(rank)
    with listen(store, rank, len(members), one_host=False) as server:
        neighbours = [members[each][0] for each in machines[machine]]
        memory, _, pidfds = meet_in_memory(
            PrefixStore(f"machine{machine}", store), number, neighbours, name, timeout
        )
        descriptors = [memory, *pidfds]
        try:
            watch = _lane(store, server, rank, number, members, machines, deadline)
            addresses = [read_address(store, each, deadline) for each in range(len(members))]
            token = read_key(store, "token", deadline).decode()
            server.setblocking(False)
            descriptors = []
            return cluster_group(
                rank,
                members,
                name,
                int(timeout.total_seconds() * 1e9),
                machines,
                memory,
                pidfds,
                watch,
                server.detach(),
                token,
                addresses,
                compares_all(),
                ucx,
            )
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


def _lane(
    store: Store,
    server: socket.socket,
    rank: int,
    number: int,
    members: Members,
    machines: list[list[int]],
    deadline: float,
) -> list[int]:
    """The connections by which this rank watches those of its number on other machines; none if it has no lane."""
    if number >= min(len(ranks) for ranks in machines):
        return []
    peers = [ranks[number] for ranks in machines]
    links = link_ranks(store, server, rank, peers, members, [WATCH], deadline)[WATCH]
    by_machine = {machine: links[peer] for machine, peer in enumerate(peers) if peer in links}
    return release_links(by_machine, len(machines))
