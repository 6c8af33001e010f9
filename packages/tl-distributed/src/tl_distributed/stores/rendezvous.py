"""The rendezvous of the processes of a job: by the environment, a file or an address."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import ParseResult, parse_qsl, unquote, urlparse

from ..base import cluster
from ..base.constants import default_store_timeout
from .file_store import FileStore
from .store import HashStore, PrefixStore, Store
from .tcp_store import TCPStore

Meeting = tuple[Store, int, int]
Handler = Callable[..., Iterator[Meeting]]

_handlers: dict[str, Handler] = {}


def register_rendezvous_handler(scheme: str, handler: Handler) -> None:
    """Makes a way of meeting known.

    Args:
        scheme: how its URLs begin, such as `tcp`.
        handler: called with the URL; a generator of (store, rank, world size).

    Example:
        >>> import tl_distributed as dist
        >>> def alone(url, timeout=None, **options):
        ...     yield dist.HashStore(), 0, 1
        ...
        >>> register_rendezvous_handler("alone", alone)
        >>> _, rank, size = next(iter(rendezvous("alone://")))
        >>> rank, size
        (0, 1)
    """
    if scheme in _handlers:
        raise RuntimeError(f"rendezvous handler for {scheme}:// is already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[Meeting]:
    """Meets the other processes of a job.

    Args:
        url: `env://`, `file:///path` or `tcp://host:port`, where `?rank=0&world_size=1` may follow.
        rank: this process's number; -1 leaves it to the URL or the environment.
        world_size: how many processes there are; -1 likewise.
        kwargs: options of the handler, such as `timeout`.

    Yields:
        (store, rank, world size)

    Example:
        >>> for store, rank, size in rendezvous("tcp://localhost:0?rank=0&world_size=1"):
        ...     print(rank, size)
        ...     break
        ...
        0 1
    """
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string, got {type(url).__name__}: {url!r}")
    parts = urlparse(url)
    if parts.scheme not in _handlers:
        raise RuntimeError(f"no rendezvous handler for {parts.scheme}://; known: {', '.join(_handlers)}")
    return _handlers[parts.scheme](_with_query(parts, rank, world_size), **kwargs)


@contextmanager
def all_meet_by(handler: Handler) -> Iterator[None]:
    """Within the block, a function says where processes meet, whatever URL they give."""
    before = dict(_handlers)
    _handlers.update(dict.fromkeys(before, handler))
    try:
        yield
    finally:
        _handlers.clear()
        _handlers.update(before)


def _with_query(parts: ParseResult, rank: int, world_size: int) -> str:
    query = dict(parse_qsl(parts.query))
    settings = {"rank": rank, "world_size": world_size}
    for name, value in settings.items():
        if value != -1:
            if name in query:
                raise AssertionError(f"the url {parts.geturl()} holds {name}, which is also an argument")
            query[name] = str(value)
    return parts._replace(query="&".join(f"{name}={value}" for name, value in query.items())).geturl()


def _env(url: str, **kwargs: Any) -> Iterator[Meeting]:
    query = dict(parse_qsl(urlparse(url).query))
    settings: dict[str, int | str | None] = {}
    if "RANK" not in os.environ and (process := cluster.process()) is not None:
        settings = {
            "RANK": process.rank,
            "WORLD_SIZE": process.world_size,
            "MASTER_ADDR": process.address,
            "MASTER_PORT": process.port,
        }
    rank = int(query["rank"] if "rank" in query else _variable("RANK", settings))
    size = int(query["world_size"] if "world_size" in query else _variable("WORLD_SIZE", settings))
    address, port = _variable("MASTER_ADDR", settings), int(_variable("MASTER_PORT", settings))
    yield _store(address, port, rank, size, kwargs.get("timeout", default_store_timeout)), rank, size


def _variable(name: str, told: Mapping[str, int | str | None]) -> str:
    """A variable, or else what the scheduler that started this process told it."""
    value = os.environ.get(name)
    if value is None and told.get(name) is not None:
        return str(told[name])
    if value is None:
        raise _error("env", f"environment variable {name} expected, but not set")
    return value


def _tcp(url: str, **kwargs: Any) -> Iterator[Meeting]:
    parts = urlparse(url)
    if parts.port is None:
        raise _error("tcp", "port number missing")
    rank, world_size = _numbers(parts)
    timeout = kwargs.get("timeout", default_store_timeout)
    yield _store(parts.hostname or "localhost", parts.port, rank, world_size, timeout), rank, world_size


def _file(url: str, **kwargs: Any) -> Iterator[Meeting]:
    parts = urlparse(url)
    if not parts.path:
        raise _error("file", "path missing")
    rank, world_size = _numbers(parts)
    yield FileStore(unquote(parts.path), world_size), rank, world_size


def _numbers(parts: ParseResult) -> tuple[int, int]:
    query = dict(parse_qsl(parts.query))
    if "rank" not in query:
        raise _error(parts.scheme, "rank parameter missing")
    if "world_size" not in query:
        raise _error(parts.scheme, "world size parameter missing")
    return int(query["rank"]), int(query["world_size"])


def _store(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Store:
    """The store of a world that meets at an address. One process has nobody to meet, and opens no port."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = TCPStore(host, port, world_size, False, timeout, wait_for_workers=False)
        return PrefixStore(f"/worker/attempt_{attempt}", store)
    if world_size == 1:
        return HashStore()
    return TCPStore(host, port, world_size, rank == 0, timeout)


def _error(scheme: str, text: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {text}")


register_rendezvous_handler("env", _env)
register_rendezvous_handler("tcp", _tcp)
register_rendezvous_handler("file", _file)
