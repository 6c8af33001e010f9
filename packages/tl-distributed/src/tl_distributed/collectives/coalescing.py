"""Several collectives of one kind as one."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tl_core import Tensor, no_grad
from tl_core.overrides import overridable

from ..base import reduction
from ..base.reduction import RedOpType, ReduceOp
from ..base.work import Work, all_of
from ..groups.process_group import ProcessGroup
from ..groups.process_groups import resolve


@overridable
def all_reduce_coalesced(
    tensors: Sequence[Tensor],
    op: RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduces several tensors over the group, in place.

    Args:
        tensors: of any shapes, all of one type.
        op: how.
        group: the group; the world by default.
        async_op: whether to return before it is done.

    Example:
        >>> init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
        >>> all_reduce_coalesced([tl_core.ones(2), tl_core.ones(3)])
        >>> destroy_process_group()
    """
    if isinstance(tensors, Tensor):
        tensors = [tensors]
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"all_reduce_coalesced: tensors[{i}] must be a Tensor, got {type(tensor).__name__}"
            )
        reduction.check(op, tensor.dtype, "all_reduce")
    process_group = resolve(group)
    if process_group is None:
        return None
    if not tensors:
        raise ValueError("all_reduce_coalesced: tensors is empty")
    link = process_group.communicator(tensors[0].device.type)
    with no_grad():
        work = (link if async_op else link.blocking).all_reduce_coalesced(tensors, op)
    if async_op:
        return work
    work.wait()
    return None


@overridable
def all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Tensor]],
    input_tensor_list: Sequence[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Collects several tensors of all members, everywhere.

    Args:
        output_tensor_lists: for each member, as many tensors as `input_tensor_list` has, of their sizes; written.
        input_tensor_list: this process's.
        group: the group; the world by default.
        async_op: whether to return before it is done.

    Example:
        >>> init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
        >>> found = [[tl_core.zeros(2), tl_core.zeros(1)]]
        >>> all_gather_coalesced(found, [tl_core.ones(2), tl_core.ones(1)])
        >>> found
        [[tensor([1., 1.]), tensor([1.])]]
        >>> destroy_process_group()
    """
    process_group = resolve(group)
    if process_group is None:
        return None
    if not input_tensor_list:
        raise ValueError("all_gather_coalesced: input_tensor_list is empty")
    if len(output_tensor_lists) != process_group.size():
        raise RuntimeError(
            f"all_gather_coalesced: output_tensor_lists has {len(output_tensor_lists)} lists, the group "
            f"{process_group.size()} members"
        )
    for rank, outputs in enumerate(output_tensor_lists):
        if [t.shape for t in outputs] != [t.shape for t in input_tensor_list]:
            raise RuntimeError(
                f"all_gather_coalesced: output_tensor_lists[{rank}] must have the sizes of input_tensor_list"
            )
    link = process_group.communicator(input_tensor_list[0].device.type)
    with no_grad():
        work = all_of(
            [
                link.all_gather([outputs[number] for outputs in output_tensor_lists], tensor)
                for number, tensor in enumerate(input_tensor_list)
            ]
        )
    if async_op:
        return work
    work.wait()
    return None


class CoalescingManager:
    """The handles of what was begun within `coalescing_manager`."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None) -> None:
        """Adds one."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Waits for all."""
        if self.works:
            all_of(self.works).wait()


_managers: dict[int, CoalescingManager] = {}  # by thread


@contextmanager
def coalescing_manager(
    group: ProcessGroup | None = None, device: Any = None, async_ops: bool = False
) -> Iterator[CoalescingManager]:
    """Within it collectives are begun one after the other, and it ends when all are over.

    Args:
        group: kept for callers; each collective names its own.
        device: kept for callers.
        async_ops: whether to leave the waiting to the manager that it gives.
    """
    manager, thread = CoalescingManager(), threading.get_ident()
    before = _managers.get(thread)
    _managers[thread] = manager
    try:
        yield manager
    finally:
        if before is None:
            del _managers[thread]
        else:
            _managers[thread] = before
    if not async_ops:
        manager.wait()


def manager_here() -> CoalescingManager | None:
    """The manager in force in this thread."""
    return _managers.get(threading.get_ident()) if _managers else None
