"""How the ranks of a group find out where they are, and what connects them."""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from ._C import Group
from .errors import DistBackendError, DistStoreError
from .handover import share_memory
from .network import connect
from .store import Store

_SLICE = timedelta(seconds=0.5)  # after which a wait looks whether somebody was refused


@dataclass
class Card:
    """What a rank tells the others of itself.

    Attributes:
        pid: its process.
        host: the name of its machine.
        domain: the same for processes that can share memory.
        transport: what it was told to use, "" for what is best.
        nonce: tells it from another process with the same number.
    """

    pid: int
    host: str
    domain: str
    transport: str
    nonce: str


def meet(store: Store, rank: int, global_ranks: Sequence[int], name: str, timeout: timedelta) -> Group:
    """The group of processes that meet in a store: over shared memory if all are on one machine, else over a network.

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
    cards = _exchange_cards(store, rank, global_ranks, f"group {name}", timeout)
    if len({card.domain for card in cards}) == 1 and not any(card.transport for card in cards):
        return share_memory(store, rank, global_ranks, name, timeout)
    members = [(number, card.pid, card.host) for number, card in zip(global_ranks, cards, strict=True)]
    one_host = len({card.domain for card in cards}) == 1
    return connect(store, rank, members, name, timeout, one_host)


def _own_card() -> Card:
    transport = os.environ.get("TL_DISTRIBUTED_TRANSPORT", "")
    if transport not in ("", "tcp"):
        raise ValueError(f"TL_DISTRIBUTED_TRANSPORT must be tcp or nothing, got {transport!r}")
    return Card(os.getpid(), socket.gethostname(), _domain(), transport, secrets.token_hex(8))


def _domain() -> str:
    """What processes that can share memory have in common: the machine since it booted, and its sockets' names."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip() + os.readlink("/proc/self/ns/net")
    except OSError:
        return socket.gethostname()


def _exchange_cards(
    store: Store, rank: int, global_ranks: Sequence[int], who: str, timeout: timedelta
) -> list[Card]:
    own = json.dumps(asdict(_own_card())).encode()
    found = store.compare_set(f"card/{rank}", b"", own)
    if found != own:
        text = (
            f"{who}: two processes (pids {os.getpid()} and {json.loads(found)['pid']}) say that they are "
            f"rank {global_ranks[rank]}"
        )
        store.set("refused", text)
        raise DistBackendError(text)
    keys = [f"card/{each}" for each in range(len(global_ranks))]
    end = time.monotonic() + timeout.total_seconds()
    while not _all_there(store, keys, min(_SLICE, timedelta(seconds=max(0.0, end - time.monotonic())))):
        if store.check(["refused"]):
            raise DistBackendError(store.get("refused").decode())
        if time.monotonic() >= end:
            missing = [
                number for key, number in zip(keys, global_ranks, strict=True) if not store.check([key])
            ]
            raise DistStoreError(
                f"{who}: rank {global_ranks[rank]} waited {timeout.total_seconds():g} s for ranks {missing} to join "
                "(timeout)"
            )
    return [Card(**json.loads(card)) for card in store.multi_get(keys)]


def _all_there(store: Store, keys: list[str], limit: timedelta) -> bool:
    try:
        store.wait(keys, limit)
    except DistStoreError:
        return False
    return True
