"""Memory that the ranks of one machine have in common: a parameter is whole in it, and each rank writes its piece.

The memory is a memfd without a name in any file system. The system frees it when the last rank has let go of it, so a
rank may end while others still compute.
"""

from __future__ import annotations

import os
import secrets
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

import tl_core
from tl_core.memory.mapped_memory import MappedMemory

from ..backends.bootstrap import domain
from ..backends.engine_backend import EngineBackend
from ..base.reduction import ReduceOp
from ..collectives import tensor_collectives as collectives
from ..collectives.object_collectives import all_gather_object, broadcast_object_list
from ..groups.process_group import ProcessGroup

__all__ = ["common_block", "has_common_memory", "share_parameters"]

_LINE = 64  # bytes, to which parameters are aligned
_TOKEN = 16  # bytes at the start of new memory, by which the others know it
_has_common_memory: weakref.WeakKeyDictionary[ProcessGroup, bool] = weakref.WeakKeyDictionary()


def has_common_memory(group: ProcessGroup) -> bool:
    """Whether the ranks of a group can have memory in common. All of them call it, the first time at the same point.

    `TL_FSDP_SHARED=0` on one of them says that they have none. Neither have ranks that `TL_DISTRIBUTED_TRANSPORT` or
    `TL_DISTRIBUTED_MACHINE` puts behind a network.

    Args:
        group: the group.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> has_common_memory(dist.group.WORLD)
        False
        >>> dist.destroy_process_group()
    """
    if group.size() == 1 or not isinstance(group.communicator(), EngineBackend):
        return False
    if group not in _has_common_memory:
        is_allowed = os.environ.get("TL_FSDP_SHARED", "1") != "0"
        domains: list[object] = [None] * group.size()
        own = (domain(), os.environ.get("TL_DISTRIBUTED_TRANSPORT", "")) if is_allowed else None
        all_gather_object(domains, own, group)
        _has_common_memory[group] = own is not None and own[1] == "" and len({*domains}) == 1
    return _has_common_memory[group]


def common_block(count: int, group: ProcessGroup) -> memoryview | None:
    """Memory of all ranks of a group. All of them call it.

    Args:
        count: the number of bytes, at least one.
        group: the group, whose ranks are on one machine.

    Returns:
        The memory, which lives as long as a view of it; None on all ranks if one of them can't have it.
    """
    count = max(count, _TOKEN)
    record: list[tuple[int, int, bytes] | None] = [None]
    descriptor, is_here = -1, False
    if group.rank() == 0:
        token = secrets.token_bytes(_TOKEN)
        with suppress(OSError):  # no memory: then there is no record
            descriptor = os.memfd_create("tl-fsdp", os.MFD_CLOEXEC)
            os.posix_fallocate(descriptor, 0, count)  # now: later, no memory would end the process
            os.pwrite(descriptor, token, 0)
            record = [(os.getpid(), descriptor, token)]
    try:
        broadcast_object_list(record, group.ranks[0], group)
        if record[0] is not None:
            pid, number, token = record[0]
            with suppress(OSError):  # another namespace of processes
                if group.rank():
                    descriptor = os.open(f"/proc/{pid}/fd/{number}", os.O_RDWR | os.O_CLOEXEC)
                is_here = os.pread(descriptor, _TOKEN, 0) == token
        everywhere = tl_core.tensor([int(is_here)])
        collectives.all_reduce(everywhere, ReduceOp.MIN, group)
        return memoryview(MappedMemory(descriptor, count, True)) if everywhere.item() else None
    finally:
        if descriptor >= 0:
            os.close(descriptor)


class SharedMember(Protocol):
    """A parameter whose pieces may lie in common memory."""

    @property
    def can_share(self) -> bool:
        """Whether they can lie there, one after the other."""

    @property
    def nbytes(self) -> int:
        """The bytes of the whole parameter."""

    def share(self, block: memoryview) -> None:
        """Puts the piece into common memory, in which the whole parameter lies."""


def share_parameters(parameters: Sequence[SharedMember], group: ProcessGroup) -> None:
    """Puts parameters into memory that the ranks of a group have in common, as far as they can lie there.

    Args:
        parameters: the parameters.
        group: the ranks that have their pieces.
    """
    members = [parameter for parameter in parameters if parameter.can_share]
    if not members or not has_common_memory(group):
        return
    starts, end = [], 0
    for parameter in members:
        starts.append(end)
        end += -(-parameter.nbytes // _LINE) * _LINE
    block = common_block(end, group)
    if block is not None:
        for parameter, start in zip(members, starts, strict=True):
            parameter.share(block[start : start + parameter.nbytes])
