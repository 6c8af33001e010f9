"""Values that agents exchange through a store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from ...base.errors import DistStoreError
from ...stores.store import Store

__all__ = ["barrier", "get_all", "store_timeout", "synchronize"]


@contextmanager
def store_timeout(store: Store, timeout: float) -> Iterator[None]:
    """Within the block, a store waits for keys for so many seconds."""
    before = store.timeout
    store.set_timeout(timedelta(seconds=timeout))
    try:
        yield
    finally:
        store.set_timeout(before)


def get_all(store: Store, rank: int, prefix: str, world_size: int) -> list[bytes]:
    """The values that all ranks set as `prefix` and their number; waits for them.

    The first rank returns when all others have read theirs, since the store may end with it.

    Args:
        store: the store.
        rank: this process's rank.
        prefix: how the keys begin.
        world_size: how many ranks there are.

    Example:
        >>> from tl_distributed import HashStore
        >>> store = HashStore()
        >>> store.set("name0", "a")
        >>> get_all(store, 0, "name", 1)
        [b'a']
    """
    values = store.multi_get([f"{prefix}{each}" for each in range(world_size)])
    _all_come(store, world_size, f"{prefix}.read", rank)
    return values


def synchronize(
    store: Store, data: bytes, rank: int, world_size: int, key_prefix: str, timeout: float = 300
) -> list[bytes]:
    """Gives each rank the data of all ranks, in their order.

    Args:
        store: the store.
        data: this rank's.
        rank: this process's rank.
        world_size: how many ranks there are.
        key_prefix: how the keys begin.
        timeout: how many seconds to wait for the others.

    Example:
        >>> from tl_distributed import HashStore
        >>> synchronize(HashStore(), b"a", 0, 1, "names")
        [b'a']
    """
    with store_timeout(store, timeout):
        store.set(f"{key_prefix}{rank}", data)
        return get_all(store, rank, key_prefix, world_size)


def _all_come(store: Store, world_size: int, key: str, rank: int) -> None:
    """Counts this rank; the first waits until all are counted."""
    if store.add(f"{key}.count", 1) == world_size:
        store.set(f"{key}.all", "1")
    if rank == 0:
        store.wait([f"{key}.all"])


def barrier(
    store: Store,
    world_size: int,
    key_prefix: str,
    barrier_timeout: float = 300,
    rank: int | None = None,
    rank_tracing_decoder: Callable[[int], str] | None = None,
    trace_timeout: float = 10,
) -> None:
    """Waits until all ranks have come here.

    Args:
        store: the store.
        world_size: how many ranks there are.
        key_prefix: how the keys begin; of one barrier alone.
        barrier_timeout: how many seconds to wait.
        rank: this process's rank; given by all, the error names those that are missing.
        rank_tracing_decoder: how a rank is called in the error.
        trace_timeout: for how many seconds to look for those that are missing.

    Raises:
        DistStoreError: not all came in time.
    """
    if rank is not None:
        store.set(f"{key_prefix}{rank}.trace", "1")
    if store.add(f"{key_prefix}.count", 1) == world_size:
        store.set(f"{key_prefix}.all", "1")
    try:
        store.wait([f"{key_prefix}.all"], timedelta(seconds=barrier_timeout))
    except DistStoreError as error:
        if rank is None:
            raise
        missing = _missing(store, range(world_size), key_prefix, trace_timeout)
        names = ", ".join((rank_tracing_decoder or str)(each) for each in missing)
        raise DistStoreError(
            f"barrier {key_prefix}: ranks {names} did not come within {barrier_timeout:g} s"
        ) from error


def _missing(store: Store, ranks: Iterable[int], key_prefix: str, seconds: float) -> list[int]:
    end = time.monotonic() + seconds
    return [
        each for each in ranks if time.monotonic() < end and not store.check([f"{key_prefix}{each}.trace"])
    ]
