"""The set-up of connections between the ranks of a group on several machines, each with each.

Every rank listens at a port that it puts in the store, and rank 0 adds a token. Each connects to those with lower
numbers: once for collectives, once for messages, and once to hear that the other leaves, or has died. Who doesn't show
the token is refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os
import secrets
import socket
import struct
import time
from collections.abc import Sequence
from datetime import timedelta

from .._C import Group, network_group
from ..base.debug_level import DebugLevel, get_debug_level
from ..base.errors import DistBackendError
from ..stores.refusal import is_exhausted, raise_refusal, wait_for
from ..stores.store import PrefixStore, Store
from ..stores.tcp_store import TCPStore

_HELLO = struct.Struct("<ii32s")  # rank, kind, token
_KINDS = range(3)  # data, mail, watch
WATCH = 2
_HELLO_WITHIN = 5.0  # seconds
_SIOCGIFADDR = 0x8915

Members = Sequence[tuple[int, int, str]]


def connect(
    store: Store, rank: int, members: Members, name: str, timeout: timedelta, one_host: bool
) -> Group:
    """The group of processes that a network connects.

    Args:
        store: where they meet; of this group alone.
        rank: this process's rank in the group.
        members: number in the world, process and host of each.
        name: of the group, for errors.
        timeout: how long to wait for the others, and how long an operation may take.
        one_host: whether all are on one machine.

    Raises:
        DistBackendError: not all came in time, or one cannot be reached.
    """
    deadline = time.monotonic() + timeout.total_seconds()
    with listen(store, rank, len(members), one_host) as server:
        kinds = link_ranks(store, server, rank, range(len(members)), members, _KINDS, deadline)
    data, mail, watch = (release_links(kinds[kind], len(members)) for kind in _KINDS)
    return network_group(
        rank, members, name, int(timeout.total_seconds() * 1e9), data, mail, watch, compares_all()
    )


def compares_all() -> bool:
    """Whether all ranks compare what they call before each call."""
    return get_debug_level() == DebugLevel.DETAIL


def listen(store: Store, rank: int, size: int, one_host: bool) -> socket.socket:
    """A socket at which the others can reach this rank; its address and the group's token go to the store.

    Args:
        store: where they meet; of this group alone.
        rank: this process's rank in the group.
        size: how many ranks the group has.
        one_host: whether all are on one machine.

    Raises:
        DistBackendError: this machine has no address that others can reach.
    """
    if rank == 0:
        store.set("token", secrets.token_hex(16))
    own = own_address(store, one_host)
    server = socket.create_server((own, 0), family=_family(own), backlog=3 * size)
    store.set(f"at/{rank}", f"{own} {server.getsockname()[1]}")
    return server


Links = dict[int, dict[int, socket.socket]]  # by kind and rank


def link_ranks(
    store: Store,
    server: socket.socket,
    rank: int,
    peers: Sequence[int],
    members: Members,
    kinds: Sequence[int],
    deadline: float,
) -> Links:
    """Connections of some kinds with some ranks.

    Args:
        store: where they meet; of this group alone.
        server: where this rank listens.
        rank: this process's rank in the group.
        peers: the ranks to connect with, which may have this one.
        members: number in the world, process and host of each rank of the group.
        kinds: what the connections are for.
        deadline: until when, by the monotonic clock.

    Raises:
        DistBackendError: not all came in time, or one cannot be reached.
    """
    links: Links = {kind: {} for kind in kinds}
    token = read_key(store, "token", deadline)
    with contextlib.ExitStack() as unless_done:
        unless_done.callback(_close_all, links)
        for peer in peers:
            if peer < rank:
                _reach(store, rank, peer, members, token, links, deadline)
        missing = {(kind, peer) for peer in peers if peer > rank for kind in kinds}
        _accept_all(store, server, rank, members, token, links, missing, deadline)
        _check_room()
        unless_done.pop_all()
    return links


def _close_all(links: Links) -> None:
    for kind in links.values():
        for link in kind.values():
            link.close()


def release_links(links: dict[int, socket.socket], size: int) -> list[int]:
    """The descriptors of connections, by rank; -1 where there is none.

    Args:
        links: connections by rank, which lose their descriptors.
        size: how many ranks there are.
    """
    return [links[rank].detach() if rank in links else -1 for rank in range(size)]


def _reach(
    store: Store,
    rank: int,
    peer: int,
    members: Members,
    token: bytes,
    links: Links,
    deadline: float,
) -> None:
    address, port = read_address(store, peer, deadline)
    for kind in links:
        try:
            link = socket.create_connection((address, port), timeout=max(0.001, deadline - time.monotonic()))
        except OSError as error:
            if is_exhausted(error):
                raise
            raise DistBackendError(
                f"rank {members[rank][0]} cannot reach rank {members[peer][0]} on {members[peer][2]} "
                f"at {address}:{port}: {error}; GLOO_SOCKET_IFNAME names another interface"
            ) from error
        links[kind][peer] = link
        _make_quick(link)
        link.sendall(_HELLO.pack(rank, kind, token))


def read_address(store: Store, rank: int, deadline: float) -> tuple[str, int]:
    """The address at which a rank listens.

    Args:
        store: where they meet; of this group alone.
        rank: the rank.
        deadline: until when, by the monotonic clock.

    Raises:
        DistBackendError: it doesn't listen in time.
    """
    address, port = read_key(store, f"at/{rank}", deadline).decode().rsplit(" ", 1)
    return address, int(port)


def read_key(store: Store, key: str, deadline: float) -> bytes:
    """The value that another rank puts in the store.

    Args:
        store: where they meet; of this group alone.
        key: its key.
        deadline: until when, by the monotonic clock.

    Raises:
        DistBackendError: it doesn't come in time.
    """
    if not wait_for(store, [key], deadline):
        raise DistBackendError(f"nobody has set {key} in the store of the group in time")
    return store.get(key)


def _accept_all(
    store: Store,
    server: socket.socket,
    rank: int,
    members: Members,
    token: bytes,
    links: Links,
    missing: set[tuple[int, int]],
    deadline: float,
) -> None:
    while missing:
        left = deadline - time.monotonic()
        if left <= 0:
            late = sorted({members[peer][0] for _, peer in missing})
            raise DistBackendError(f"rank {members[rank][0]} waited in vain for connections of ranks {late}")
        server.settimeout(min(left, 0.5))
        try:
            link, _ = server.accept()
        except TimeoutError:
            raise_refusal(store)
            continue
        which = _introduce(link, token)
        if which not in missing:
            link.close()  # of another job, or no rank at all
            continue
        missing.remove(which)
        links[which[0]][which[1]] = link
        _make_quick(link)


def _introduce(link: socket.socket, token: bytes) -> tuple[int, int] | None:
    """The kind of a connection and its rank; None if it isn't of this group."""
    link.settimeout(_HELLO_WITHIN)
    data = b""
    try:
        while len(data) < _HELLO.size:
            more = link.recv(_HELLO.size - len(data))
            if not more:
                return None
            data += more
    except OSError:
        return None
    rank, kind, shown = _HELLO.unpack(data)
    return (kind, rank) if hmac.compare_digest(shown, token) else None


def _make_quick(link: socket.socket) -> None:
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setblocking(False)


def _check_room() -> None:
    """Raises OSError where there is no room for the two descriptors that a group opens for its watch."""
    first = os.eventfd(0, os.EFD_CLOEXEC)
    try:
        os.close(os.eventfd(0, os.EFD_CLOEXEC))
    finally:
        os.close(first)


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def own_address(store: Store, one_host: bool) -> str:
    """The address of this process: of the interface in the variable, or of the one by which it reaches the store."""
    named = os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0]
    if named:
        return _address_of(named)
    if one_host:
        return "127.0.0.1"
    host = _host_of(store)
    towards = [host, "192.0.2.1"] if host else ["192.0.2.1"]  # of an example network: the default route
    for each in towards:
        address = _address_towards(each)
        if address is not None:
            return address
    raise DistBackendError(
        "no address by which ranks on other machines can reach this one; name its interface with GLOO_SOCKET_IFNAME"
    )


def _address_of(interface: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            request = struct.pack("256s", interface.encode()[:15])
            reply = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
        except OSError as error:
            raise DistBackendError(f"GLOO_SOCKET_IFNAME={interface}: no such address ({error})") from error
    return socket.inet_ntoa(reply[20:24])


def _host_of(store: Store) -> str | None:
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    return store.host if isinstance(store, TCPStore) else None


def _address_towards(host: str) -> str | None:
    """This machine's address on the way to a host; None if there is no way, or it doesn't leave the machine."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(address)  # sends nothing
            own: str = probe.getsockname()[0]
    except OSError as error:
        if is_exhausted(error):
            raise
        return None
    return None if own.startswith("127.") or own == "::1" else own
