"""Collectives of what a function returns: if it fails on one process, all raise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..groups.process_group import ProcessGroup
from ..groups.process_groups import get_rank, get_world_size
from .object_collectives import all_gather_object, broadcast_object_list

__all__ = ["SyncPayload", "all_gather", "all_gather_object_enforce_type", "broadcast"]

T = TypeVar("T")


@dataclass
class SyncPayload(Generic[T]):
    """The contribution of a process: data, or its error."""

    stage_name: str | None
    success: bool
    payload: T
    exception: Exception | None = None


def _make_payload(data_or_fn: T | Callable[[], T], success: bool, stage_name: str | None) -> SyncPayload[Any]:
    if not success:
        error = RuntimeError(f"stage {stage_name}: a process said that it failed")
        return SyncPayload(stage_name, False, None, error)
    if not callable(data_or_fn):
        return SyncPayload(stage_name, True, data_or_fn)
    try:
        return SyncPayload(stage_name, True, data_or_fn())
    except Exception as error:
        return SyncPayload(stage_name, False, None, error)


def broadcast(
    data_or_fn: T | Callable[[], T],
    *,
    success: bool = True,
    stage_name: str | None = None,
    rank: int = 0,
    pg: ProcessGroup | None = None,
) -> T:
    """The data of one process, on all.

    Args:
        data_or_fn: the data, or a function that returns it, which only that process calls.
        success: False says on that process that it failed before.
        stage_name: what this is for, for errors.
        rank: that process's rank in the group.
        pg: the group; without one, this process is alone.

    Raises:
        RuntimeError: that process failed.

    Example:
        >>> broadcast(lambda: 3)
        3
    """
    payload = _make_payload(data_or_fn, success, stage_name) if pg is None or get_rank(pg) == rank else None
    if pg is not None:
        payloads = [payload]
        broadcast_object_list(payloads, group=pg, group_src=rank)
        payload = payloads[0]
    assert payload is not None
    if not payload.success:
        raise RuntimeError(
            f"rank {rank} failed in stage {payload.stage_name}: {payload.exception!r}"
        ) from payload.exception
    result: T = payload.payload
    return result


def all_gather(
    data_or_fn: T | Callable[[], T], stage_name: str | None = None, pg: ProcessGroup | None = None
) -> list[T]:
    """The data of all processes, on all.

    Args:
        data_or_fn: this process's data, or a function that returns it.
        stage_name: what this is for, for errors.
        pg: the group; without one, this process is alone.

    Raises:
        RuntimeError: a process failed.

    Example:
        >>> all_gather(lambda: 3)
        [3]
    """
    payload = _make_payload(data_or_fn, True, stage_name)
    payloads: list[SyncPayload[T]] = [payload]
    if pg is not None:
        payloads = [payload] * get_world_size(pg)
        all_gather_object(payloads, payload, pg)
    failed = {rank: each.exception for rank, each in enumerate(payloads) if not each.success}
    if failed:
        text = ", ".join(f"rank {rank}: {error!r}" for rank, error in failed.items())
        raise RuntimeError(f"ranks failed in stage {stage_name}: {text}") from next(iter(failed.values()))
    return [each.payload for each in payloads]


def all_gather_object_enforce_type(
    pg: ProcessGroup,
    object_list: list[Any],
    obj: Any,
    type_checker: Callable[[Any, Any], bool] = lambda x, y: type(x) is type(y),
) -> None:
    """Collects the objects of all members, which must be of one type.

    Args:
        pg: the group.
        object_list: as long as the group; written.
        obj: this process's.
        type_checker: whether two of them are alike.

    Raises:
        TypeError: they aren't.
    """
    all_gather_object(object_list, obj, pg)
    for rank, other in enumerate(object_list[1:], 1):
        if not type_checker(object_list[0], other):
            raise TypeError(
                f"all_gather_object_enforce_type: rank 0 has a {type(object_list[0]).__name__}, "
                f"rank {rank} a {type(other).__name__}"
            )
