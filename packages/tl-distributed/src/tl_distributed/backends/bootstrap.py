"""The location of each rank of a group, and the choice of a transport."""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from .._C import Group
from ..base.errors import DistBackendError, DistStoreError
from ..stores.refusal import is_exhausted, refuse, told_to_others, wait_for
from ..stores.store import Store
from .machines import connect_machines, machines_of
from .network import connect
from .shared_memory import share_memory
from .ucx import agree_on_ucx, network_devices


@dataclass
class PeerInfo:
    """The process and the location of a rank, for all other ranks.

    Attributes:
        pid: its process.
        host: the name of its machine.
        domain: the same for processes that can share memory.
        transport: the transport of its environment variable, "" for the best one.
        devices: whether its machine has a network device that TCP doesn't serve.
        nonce: a random text, different in each process.
    """

    pid: int
    host: str
    domain: str
    transport: str
    devices: bool
    nonce: str


def connect_group(
    store: Store, rank: int, global_ranks: Sequence[int], name: str, timeout: timedelta
) -> Group:
    """The group of processes that meet in a store.

    Processes of one machine share memory. Between machines they use a network, and on machines with several of them
    both.

    Args:
        store: where they meet; of this group alone.
        rank: this process's rank in the group.
        global_ranks: the members' numbers in the world.
        name: of the group, for errors.
        timeout: how long to wait for the others, and how long an operation may take.

    Raises:
        DistStoreError: not all came in time.
        DistBackendError: two have the same number, or one cannot be reached.
    """
    deadline = time.monotonic() + timeout.total_seconds()
    with told_to_others(store, f"group {name}: rank {global_ranks[rank]} (pid {os.getpid()})"):
        group = _connect_ranks(store, rank, global_ranks, name, timeout)
        store.set(f"made/{rank}", b"")
        # The last step of another rank may fail, which then isn't there and doesn't die either.
        if not wait_for(store, [f"made/{each}" for each in range(len(global_ranks))], deadline):
            raise DistStoreError(f"group {name}: not all ranks were connected in time (timeout)")
        return group


def _connect_ranks(
    store: Store, rank: int, global_ranks: Sequence[int], name: str, timeout: timedelta
) -> Group:
    peers = _exchange_peers(store, rank, global_ranks, f"group {name}", timeout)
    machines = machines_of([peer.domain for peer in peers])
    members = [(number, peer.pid, peer.host) for number, peer in zip(global_ranks, peers, strict=True)]
    transports = _transports(peers, global_ranks, name)
    if "tcp" in transports:
        return connect(store, rank, members, name, timeout, one_host=len(machines) == 1)
    if len(machines) == 1:
        return share_memory(store, rank, global_ranks, name, timeout)
    insists = "ucx" in transports
    uses_ucx = insists or all(peer.devices for peer in peers)
    ucx = agree_on_ucx(store, rank, members, name, timeout, insists) if uses_ucx else ""
    if len(machines) == len(peers) and not ucx:
        return connect(store, rank, members, name, timeout, one_host=False)
    return connect_machines(store, rank, members, machines, name, timeout, ucx)


def _transports(peers: Sequence[PeerInfo], global_ranks: Sequence[int], name: str) -> set[str]:
    """The transports that ranks ask for."""
    named: dict[str, list[int]] = {}
    for peer, number in zip(peers, global_ranks, strict=True):
        if peer.transport:
            named.setdefault(peer.transport, []).append(number)
    if len(named) > 1:
        ranks = " and ".join(
            f"{transport} on ranks {numbers}" for transport, numbers in sorted(named.items())
        )
        raise DistBackendError(
            f"group {name}: TL_DISTRIBUTED_TRANSPORT is {ranks}; it needs one value on all"
        )
    return {*named}


def _own_info() -> PeerInfo:
    transport = os.environ.get("TL_DISTRIBUTED_TRANSPORT", "")
    if transport not in ("", "tcp", "ucx"):
        raise ValueError(f"TL_DISTRIBUTED_TRANSPORT must be tcp, ucx or nothing, got {transport!r}")
    devices = bool(network_devices())
    return PeerInfo(os.getpid(), socket.gethostname(), domain(), transport, devices, secrets.token_hex(8))


def domain() -> str:
    """The common name of processes that can share memory: the machine since it booted, and its sockets' names.

    `TL_DISTRIBUTED_MACHINE` divides a machine: processes with different values of it use the network.
    """
    part = os.environ.get("TL_DISTRIBUTED_MACHINE", "")
    return f"{_machine()} {part}" if part else _machine()


def _machine() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip() + os.readlink("/proc/self/ns/net")
    except OSError as error:
        if is_exhausted(error):
            raise
        return socket.gethostname()  # a system without these


def _exchange_peers(
    store: Store, rank: int, global_ranks: Sequence[int], who: str, timeout: timedelta
) -> list[PeerInfo]:
    own = json.dumps(asdict(_own_info())).encode()
    stored = store.compare_set(f"peer/{rank}", b"", own)
    if stored != own:
        raise refuse(
            store,
            f"{who}: two processes (pids {os.getpid()} and {json.loads(stored)['pid']}) say that they are "
            f"rank {global_ranks[rank]}",
        )
    keys = [f"peer/{each}" for each in range(len(global_ranks))]
    if not wait_for(store, keys, time.monotonic() + timeout.total_seconds()):
        missing = [number for key, number in zip(keys, global_ranks, strict=True) if not store.check([key])]
        raise DistStoreError(
            f"{who}: rank {global_ranks[rank]} waited {timeout.total_seconds():g} s for ranks {missing} to join "
            "(timeout)"
        )
    return [PeerInfo(**json.loads(peer)) for peer in store.multi_get(keys)]
