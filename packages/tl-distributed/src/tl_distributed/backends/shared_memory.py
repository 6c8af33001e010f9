"""The set-up of memory that the ranks of a group on one machine share.

Rank 0 makes the memory (a memfd, which nothing leaves behind) and waits at a socket whose address and token it puts
in the store. The others connect, show the token, and hand over a descriptor of their process; when all have come, each
gets the memory and the descriptors of all processes, by which they see each other die.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import json
import os
import secrets
import socket
import struct
import time
from collections.abc import Sequence
from datetime import timedelta

from .._C import Group, local_group, segment_bytes
from ..base.errors import DistBackendError
from ..stores.refusal import is_exhausted, raise_refusal, wait_for
from ..stores.store import Store

_PEER = struct.Struct("iII")  # SO_PEERCRED: pid, uid, gid
_HELLO = struct.Struct("<ii32s")  # rank, pid, token
_CHUNK = 200  # descriptors that one message may carry


def share_memory(
    store: Store, rank: int, global_ranks: Sequence[int], name: str, timeout: timedelta
) -> Group:
    """The group of processes on this machine that share memory.

    Args:
        store: where they meet; of this group alone.
        rank: this process's rank in the group.
        global_ranks: the members' numbers in the world.
        name: of the group, for errors.
        timeout: how long to wait for the others, and how long an operation may take.

    Raises:
        DistBackendError: not all came in time.
    """
    memory, pids, pidfds = meet_in_memory(store, rank, global_ranks, name, timeout)
    members = [(number, pid, "") for number, pid in zip(global_ranks, pids, strict=True)]
    return local_group(rank, members, name, int(timeout.total_seconds() * 1e9), memory, pidfds)


def meet_in_memory(
    store: Store, rank: int, global_ranks: Sequence[int], name: str, timeout: timedelta
) -> tuple[int, list[int], list[int]]:
    """The descriptor of the memory that processes share, their numbers, and descriptors of them.

    Args:
        store: where they meet; of these processes alone.
        rank: this process's number among them.
        global_ranks: their numbers in the world.
        name: of the group, for errors.
        timeout: how long to wait for the others.

    Raises:
        DistBackendError: not all came in time.
    """
    seconds = timeout.total_seconds()
    deadline = time.monotonic() + seconds
    who = f"group {name}"
    if rank == 0:
        return _lead(store, global_ranks, who, deadline, seconds)
    return _follow(store, rank, len(global_ranks), who, deadline)


def _lead(
    store: Store, global_ranks: Sequence[int], who: str, deadline: float, seconds: float
) -> tuple[int, list[int], list[int]]:
    size = len(global_ranks)
    token = secrets.token_hex(16)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        address = f"tl-{secrets.token_hex(8)}"
        server.bind("\0" + address)
        server.listen(size)
        store.set("local", json.dumps({"address": address, "token": token, "pid": os.getpid()}))
        links: dict[int, socket.socket] = {}
        met, memory = False, -1
        pids, pidfds = [os.getpid()] + [0] * (size - 1), [-1] * size
        try:
            memory = os.memfd_create(f"tl-{who}", os.MFD_CLOEXEC)
            os.ftruncate(memory, segment_bytes(size))
            pidfds[0] = os.pidfd_open(os.getpid())
            while len(links) < size - 1:
                _accept(server, token, links, pids, pidfds, deadline)
                raise_refusal(store)
                if time.monotonic() > deadline:
                    missing = [g for r, g in enumerate(global_ranks) if r and r not in links]
                    raise DistBackendError(
                        f"{who}: rank {global_ranks[0]} waited {seconds:g} s for ranks {missing} to join"
                    )
            for link in links.values():
                _give(link, memory, pids, pidfds)
            met = True
        finally:
            for link in links.values():
                link.close()
            for descriptor in [] if met else [memory, *pidfds]:
                if descriptor >= 0:
                    os.close(descriptor)
    return memory, pids, pidfds


def _accept(
    server: socket.socket,
    token: str,
    links: dict[int, socket.socket],
    pids: list[int],
    pidfds: list[int],
    deadline: float,
) -> None:
    """Lets one of the others in, if one comes within half a second."""
    server.settimeout(max(0.001, min(0.5, deadline - time.monotonic())))
    try:
        link, _ = server.accept()
    except TimeoutError:
        return
    with contextlib.ExitStack() as unless_known:
        unless_known.callback(link.close)
        link.settimeout(5)
        if _introduce(link, token, links, pids, pidfds):
            unless_known.pop_all()


def _introduce(
    link: socket.socket, token: str, links: dict[int, socket.socket], pids: list[int], pidfds: list[int]
) -> bool:
    """Enters the rank behind a connection; False for a process of another user or job."""
    _, uid, _ = _PEER.unpack(link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    try:
        data, descriptors = _receive(link, _HELLO.size, 1)
    except (TimeoutError, ConnectionError):
        data, descriptors = b"", []
    is_hello = len(data) == _HELLO.size and len(descriptors) == 1
    rank, pid, shown = _HELLO.unpack(data) if is_hello else (-1, 0, b"")
    is_member = uid == os.getuid() and is_hello and hmac.compare_digest(shown, token.encode())
    is_taken = not 0 < rank < len(pids) or rank in links
    if not is_member or is_taken:
        for descriptor in descriptors:
            os.close(descriptor)
    if not is_member:
        return False
    if is_taken:
        raise DistBackendError(f"two processes (pids {pid} and {pids[rank]}) say that they are rank {rank}")
    links[rank], pids[rank], pidfds[rank] = link, pid, descriptors[0]
    return True


def _give(link: socket.socket, memory: int, pids: list[int], pidfds: list[int]) -> None:
    link.sendall(struct.pack(f"<{len(pids)}i", *pids))
    descriptors = [memory, *pidfds]
    for i in range(0, len(descriptors), _CHUNK):
        socket.send_fds(link, [b"d"], descriptors[i : i + _CHUNK])


def _follow(
    store: Store, rank: int, size: int, who: str, deadline: float
) -> tuple[int, list[int], list[int]]:
    if not wait_for(store, ["local"], deadline):
        raise DistBackendError(f"{who}: rank {rank} waited in vain for rank 0 of the group")
    leader = json.loads(store.get("local"))
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with link:
        link.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            link.connect("\0" + leader["address"])
        except ConnectionError as error:
            raise DistBackendError(
                f"{who}: rank {rank} cannot reach rank 0 on this machine ({error})"
            ) from error
        own = os.pidfd_open(os.getpid())
        try:
            hello = _HELLO.pack(rank, os.getpid(), leader["token"].encode())
            socket.send_fds(link, [hello], [own])
        finally:
            os.close(own)
        return _take(link, size, who, leader["pid"])


def _take(link: socket.socket, size: int, who: str, leader: int) -> tuple[int, list[int], list[int]]:
    descriptors: list[int] = []
    try:
        pids = list(struct.unpack(f"<{size}i", _exactly(link, 4 * size)))
        while len(descriptors) < size + 1:
            data, more = _receive(link, 1, _CHUNK)
            descriptors += more
            if not data:
                raise ConnectionError("closed")
    except OSError as error:
        for descriptor in descriptors:
            os.close(descriptor)
        if is_exhausted(error):
            raise
        raise DistBackendError(
            f"{who}: rank 0 (pid {leader}) did not hand over the memory: {error}"
        ) from error
    return descriptors[0], pids, descriptors[1:]


def _receive(link: socket.socket, size: int, most: int) -> tuple[bytes, list[int]]:
    """Bytes and descriptors of a message; OSError where this process has no room for the descriptors."""
    data, descriptors, flags, _ = socket.recv_fds(link, size, most)
    if flags & socket.MSG_CTRUNC:
        for descriptor in descriptors:
            os.close(descriptor)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return data, descriptors


def _exactly(link: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = link.recv(count - len(data))
        if not more:
            raise ConnectionError("closed; the others may not have come, or one has the same rank")
        data += more
    return data
