"""Collectives and messages of Python objects, which travel pickled.

Unpickling runs what the sender wants: use these only among processes that trust each other.
"""

from __future__ import annotations

import pickle
from typing import Any

import tl_core
from tl_core import Tensor

from ..groups.process_group import ProcessGroup
from ..groups.process_groups import get_global_rank, resolve
from .point_to_point import recv, send
from .tensor_collectives import all_gather, broadcast, gather, peer_rank, scatter


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Collects the objects of all members, everywhere.

    Args:
        object_list: as long as the group; written.
        obj: this process's.
        group: the group; the world by default.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> scores = [None]
        >>> dist.all_gather_object(scores, {"accuracy": 0.75})
        >>> scores
        [{'accuracy': 0.75}]
        >>> dist.destroy_process_group()
    """
    process_group = resolve(group)
    if process_group is None:
        return
    data, longest = _pad_bytes(obj, process_group, "all_gather_object")
    parts = [_room(longest) for _ in range(process_group.size())]
    all_gather(parts, data, group)
    _fill(object_list, parts, "all_gather_object", "object_list")


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """Collects the objects of all members in one of them.

    Args:
        obj: this process's.
        object_gather_list: on `dst` as long as the group, and written; None elsewhere.
        dst: the member's global rank, 0 by default.
        group: the group; the world by default.
        group_dst: the member's rank in the group, in place of `dst`.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> scores = [None]
        >>> dist.gather_object(0.75, scores, dst=0)
        >>> scores
        [0.75]
        >>> dist.destroy_process_group()
    """
    process_group = resolve(group)
    if process_group is None:
        return
    root = peer_rank(
        process_group, 0 if dst is None and group_dst is None else dst, group_dst, "gather_object"
    )
    here = root == process_group.rank()
    if here != (object_gather_list is not None):
        must = (
            "must be specified on destination rank"
            if here
            else "must NOT be specified on non-destination ranks"
        )
        raise ValueError(f"gather_object: Argument ``object_gather_list`` {must}.")
    data, longest = _pad_bytes(obj, process_group, "gather_object")
    parts = [_room(longest) for _ in range(process_group.size())] if here else None
    gather(data, parts, group=group, group_dst=root)
    if parts is not None and object_gather_list is not None:
        _fill(object_gather_list, parts, "gather_object", "object_gather_list")


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Gives all members the objects of one of them.

    Args:
        object_list: what is sent from `src`, and written; as long everywhere.
        src: the member's global rank, 0 by default.
        group: the group; the world by default.
        device: where the bytes travel from; the CPU by default.
        group_src: the member's rank in the group, in place of `src`.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> settings = [{"lr": 0.1}]
        >>> dist.broadcast_object_list(settings, src=0)
        >>> settings
        [{'lr': 0.1}]
        >>> dist.destroy_process_group()
    """
    _check_list(object_list, "broadcast_object_list", "object_list")
    process_group = resolve(group)
    if process_group is None:
        return
    root = peer_rank(
        process_group, 0 if src is None and group_src is None else src, group_src, "broadcast_object_list"
    )
    for i, obj in enumerate(object_list):
        data = _pickle_tensor(obj) if root == process_group.rank() else _room(0)
        size = tl_core.tensor([data.numel()], device=device)
        broadcast(size, group=group, group_src=root)
        data = data.to(device) if root == process_group.rank() else _room(int(size), device)
        broadcast(data, group=group, group_src=root)
        object_list[i] = _unpickle_tensor(data)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """Gives each member one object of a list that one of them has.

    Args:
        scatter_object_output_list: its first element is written.
        scatter_object_input_list: on `src` one object a member.
        src: the member's global rank, 0 by default.
        group: the group; the world by default.
        group_src: the member's rank in the group, in place of `src`.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> part = [None]
        >>> dist.scatter_object_list(part, ["first"], src=0)
        >>> part
        ['first']
        >>> dist.destroy_process_group()
    """
    process_group = resolve(group)
    if process_group is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = peer_rank(
        process_group, 0 if src is None and group_src is None else src, group_src, "scatter_object_list"
    )
    parts = (
        _scatter_inputs(scatter_object_input_list, process_group) if root == process_group.rank() else None
    )
    longest = tl_core.tensor([parts[0].numel() if parts else 0])
    broadcast(longest, group=group, group_src=root)
    output = _room(int(longest))
    scatter(output, parts, group=group, group_src=root)
    scatter_object_output_list[0] = _unpickle_tensor(output)


def _scatter_inputs(objects: list[Any] | None, group: ProcessGroup) -> list[Tensor]:
    if objects is None:
        raise ValueError("scatter_object_list: source rank must provide non-None scatter_object_input_list")
    if len(objects) != group.size():
        raise RuntimeError(
            f"scatter_object_list: scatter_object_input_list has {len(objects)} objects, the group "
            f"{group.size()} members"
        )
    data = [_pickle_tensor(obj) for obj in objects]
    longest = max(each.numel() for each in data)
    return [_lengthen(each, longest) for each in data]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_dst: int | None = None,
) -> None:
    """Sends objects to another process.

    Args:
        object_list: what to send.
        dst: the receiver's global rank.
        group: the group; the world by default.
        device: where the bytes travel from; the CPU by default.
        group_dst: the receiver's rank in the group, in place of `dst`.

    Example:
        >>> import tl_distributed as dist
        >>> dist.send_object_list([{"lr": 0.1}], dst=1)  # doctest: +SKIP
    """
    _check_list(object_list, "send_object_list", "object_list")
    for obj in object_list:
        data = _pickle_tensor(obj).to(device)
        send(tl_core.tensor([data.numel()], device=device), dst, group, group_dst=group_dst)
        send(data, dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
) -> int:
    """Receives objects from another process.

    Args:
        object_list: as long as what is sent; written.
        src: the sender's global rank; any sender by default.
        group: the group; the world by default.
        device: where the bytes arrive; the CPU by default.
        group_src: the sender's rank in the group, in place of `src`.

    Returns:
        The sender's global rank, -1 if this process isn't in the group.

    Example:
        >>> import tl_distributed as dist
        >>> objects = [None]  # doctest: +SKIP
        >>> sender = dist.recv_object_list(objects, src=0)  # doctest: +SKIP
    """
    _check_list(object_list, "recv_object_list", "object_list")
    process_group = resolve(group)
    if process_group is None:
        return -1
    sender = src if group_src is None else get_global_rank(process_group, group_src)
    for i in range(len(object_list)):
        size = tl_core.zeros(1, dtype=tl_core.int64, device=device)
        sender = recv(size, sender, group)
        data = _room(int(size), device)
        recv(data, sender, group)
        object_list[i] = _unpickle_tensor(data)
    return -1 if sender is None else sender


def _check_list(objects: Any, function: str, name: str) -> None:
    if not isinstance(objects, list) or not objects:
        raise ValueError(f"{function}: {name} must be a list of at least one object, got {objects!r}")


def _pickle_tensor(obj: Any) -> Tensor:
    return tl_core.frombuffer(bytearray(pickle.dumps(obj)), dtype=tl_core.uint8)


def _unpickle_tensor(data: Tensor) -> Any:
    # what stands behind the end of the pickle is padding, which pickle doesn't look at
    return pickle.loads(memoryview(data.cpu()))


def _room(size: int, device: Any = None) -> Tensor:
    return tl_core.empty(size, dtype=tl_core.uint8, device=device)


def _lengthen(data: Tensor, size: int) -> Tensor:
    result = tl_core.zeros(size, dtype=tl_core.uint8)
    result[: data.numel()] = data
    return result


def _pad_bytes(obj: Any, group: ProcessGroup, function: str) -> tuple[Tensor, int]:
    """The bytes of an object, as many as the longest of the group has."""
    data = _pickle_tensor(obj)
    sizes = [tl_core.zeros(1, dtype=tl_core.int64) for _ in range(group.size())]
    all_gather(sizes, tl_core.tensor([data.numel()]), group)
    longest = max(int(size) for size in sizes)
    return _lengthen(data, longest), longest


def _fill(objects: list[Any], parts: list[Tensor], function: str, name: str) -> None:
    if len(objects) < len(parts):
        raise RuntimeError(f"{function}: {name} has {len(objects)} places for {len(parts)} objects")
    for i, part in enumerate(parts):
        objects[i] = _unpickle_tensor(part)
