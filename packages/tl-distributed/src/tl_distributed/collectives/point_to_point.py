"""Tensors from one process to another."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tl_core import Tensor, no_grad
from tl_core.overrides import overridable

from ..backends.communicator import Communicator
from ..base.work import Work
from ..groups.process_group import ProcessGroup
from ..groups.process_groups import get_global_rank, resolve
from .tensor_collectives import peer_rank


def _check(tensor: Any, function: str) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{function}: tensor must be a Tensor, got {type(tensor).__name__}")


@overridable
def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begins to send a tensor, which must not change until the `Work` has ended.

    Args:
        tensor: what to send.
        dst: the receiver's global rank.
        group: the group; the world by default.
        tag: what the receiver's `tag` must equal.
        group_dst: the receiver's rank in the group, in place of `dst`.

    Example:
        >>> import tl_core
        >>> import tl_distributed as dist
        >>> work = dist.isend(tl_core.ones(2), dst=1)  # doctest: +SKIP
        >>> work.wait()  # doctest: +SKIP
    """
    _check(tensor, "isend")
    process_group = resolve(group)
    if process_group is None:
        return None
    peer = peer_rank(process_group, dst, group_dst, "isend")
    return process_group.communicator(tensor.device.type).send(tensor, peer, tag)


def _receive(
    tensor: Tensor, src: int | None, group: ProcessGroup | None, tag: int, group_src: int | None, wait: bool
) -> Work | None:
    _check(tensor, "irecv")
    process_group = resolve(group)
    if process_group is None:
        return None
    anyone = src is None and group_src is None
    peer = None if anyone else peer_rank(process_group, src, group_src, "irecv")
    link = process_group.communicator(tensor.device.type)
    with no_grad():
        return (link.blocking if wait else link).receive(tensor, peer, tag)


@overridable
def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begins to receive a tensor.

    Args:
        tensor: written.
        src: the sender's global rank; any sender if neither it nor `group_src` is given.
        group: the group; the world by default.
        tag: what the sender's `tag` must equal.
        group_src: the sender's rank in the group, in place of `src`.

    Example:
        >>> import tl_core
        >>> import tl_distributed as dist
        >>> received = tl_core.empty(2)  # doctest: +SKIP
        >>> dist.irecv(received, src=0).wait()  # doctest: +SKIP
    """
    return _receive(tensor, src, group, tag, group_src, wait=False)


@overridable
def send(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Sends a tensor to another process, and waits until it is gone.

    Args:
        tensor: what to send.
        dst: the receiver's global rank.
        group: the group; the world by default.
        tag: what the receiver's `tag` must equal.
        group_dst: the receiver's rank in the group, in place of `dst`.

    Raises:
        ValueError: it is to go to this process.

    Example:
        >>> import tl_core
        >>> import tl_distributed as dist
        >>> if dist.get_rank() == 0:  # doctest: +SKIP
        ...     dist.send(tl_core.ones(2), dst=1)
    """
    _check(tensor, "send")
    process_group = resolve(group)
    if process_group is None:
        return
    peer = peer_rank(process_group, dst, group_dst, "send")
    if peer == process_group.rank():
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    process_group.communicator(tensor.device.type).blocking.send(tensor, peer, tag).wait()


@overridable
def recv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receives a tensor from another process.

    Args:
        tensor: written.
        src: the sender's global rank; any sender if neither it nor `group_src` is given.
        group: the group; the world by default.
        tag: what the sender's `tag` must equal.
        group_src: the sender's rank in the group, in place of `src`.

    Returns:
        The sender's global rank, -1 if this process isn't in the group.

    Example:
        >>> import tl_core
        >>> import tl_distributed as dist
        >>> received = tl_core.empty(2)  # doctest: +SKIP
        >>> dist.recv(received, src=0)  # doctest: +SKIP
    """
    work = _receive(tensor, src, group, tag, group_src, wait=True)
    if work is None:
        return -1
    work.wait()
    if src is not None:
        return src
    process_group = resolve(group)
    sender = work.source_rank() if group_src is None else group_src
    return sender if process_group is None else get_global_rank(process_group, sender)


class P2POp:
    """One sending or receiving of `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`.
        tensor: what is sent or written.
        peer: the other process's global rank.
        group: the group; the world by default.
        tag: what the other side's `tag` must equal.
        group_peer: the other process's rank in the group, in place of `peer`.

    Example:
        >>> import tl_core
        >>> import tl_distributed as dist
        >>> sending = dist.P2POp(dist.isend, tl_core.ones(2), 1)  # doctest: +SKIP
        >>> receiving = dist.P2POp(dist.irecv, tl_core.empty(2), 1)  # doctest: +SKIP
    """

    def __init__(
        self,
        op: Callable[..., Work | None],
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ):
        if op not in (isend, irecv):
            raise ValueError(f"P2POp: op must be isend or irecv, got {op!r}")
        _check(tensor, "P2POp")
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group = group
        self.tag = tag
        self.group_peer = group_peer


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begins several sendings and receivings; returns their handles.

    Example:
        >>> import tl_distributed as dist
        >>> parts = [dist.P2POp(dist.isend, mine, right), dist.P2POp(dist.irecv, others, left)]  # doctest: +SKIP
        >>> for work in dist.batch_isend_irecv(parts):  # doctest: +SKIP
        ...     work.wait()
    """
    if not p2p_op_list:
        raise ValueError("batch_isend_irecv: p2p_op_list is empty")
    for i, each in enumerate(p2p_op_list):
        if not isinstance(each, P2POp):
            raise ValueError(
                f"batch_isend_irecv: p2p_op_list[{i}] must be a P2POp, got {type(each).__name__}"
            )
    with ExitStack() as together:
        for communicator in {id(each): each for each in map(_communicator, p2p_op_list) if each}.values():
            together.enter_context(communicator.together())
        works = [o.op(o.tensor, o.peer, o.group, o.tag, o.group_peer) for o in p2p_op_list]
    return [work for work in works if work is not None]


def _communicator(operation: P2POp) -> Communicator | None:
    group = resolve(operation.group)
    return None if group is None else group.communicator(operation.tensor.device.type)
