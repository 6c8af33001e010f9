"""Collectives: what all processes of a group do together, with tensors.

Each returns None when it is done, or with `async_op=True` a `Work` at once. In a process that isn't in the group they
do nothing. Gradients aren't recorded through them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from tl_core import Tensor, no_grad, ops, zeros
from tl_core.base import recording
from tl_core.dispatch.modes import is_handled
from tl_core.overrides import overridable

from ..backends.communicator import Communicator
from ..base import reduction
from ..base.reduction import RedOpType, ReduceOp
from ..base.work import Work
from ..groups.process_group import ProcessGroup
from ..groups.process_groups import resolve
from .coalescing import manager_here


@overridable
def all_reduce(
    tensor: Tensor, op: RedOpType = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Reduces a tensor over the group, in place: all members get the same.

    Args:
        tensor: any shape. Sparse ones (COO) may store different elements in each process; they can be summed.
        op: how.
        group: the group; the world by default.
        async_op: whether to return before it is done.

    Example:
        >>> init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
        >>> total = tl_core.tensor([1.0, 2.0])
        >>> all_reduce(total)
        >>> total
        tensor([1., 2.])
        >>> destroy_process_group()
    """
    _check_tensor(tensor, "all_reduce", "tensor")
    reduction.check(op, tensor.dtype, "all_reduce")
    return _run(
        group,
        tensor,
        async_op,
        lambda link, _: link.all_reduce(tensor, op),
        lambda c10d, g: c10d.allreduce_([tensor], g, op, None, async_op),
    )


@overridable
def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduces a tensor over the group, in place on one member; what the others then hold is undefined.

    Args:
        tensor: any shape.
        dst: the member's global rank.
        op: how.
        group: the group; the world by default.
        async_op: whether to return before it is done.
        group_dst: the member's rank in the group, in place of `dst`.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> total = tl_core.tensor([1.0, 2.0])
        >>> dist.reduce(total, dst=0)
        >>> total
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    _check_tensor(tensor, "reduce", "tensor")
    reduction.check(op, tensor.dtype, "reduce")
    return _run(
        group,
        tensor,
        async_op,
        lambda link, g: link.reduce(tensor, peer_rank(g, dst, group_dst, "reduce"), op),
        lambda c10d, g: c10d.reduce_([tensor], g, op, peer_rank(g, dst, group_dst, "reduce"), 0, async_op),
    )


@overridable
def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives all members one member's tensor.

    Args:
        tensor: what is sent from `src`, and written elsewhere.
        src: the member's global rank.
        group: the group; the world by default.
        async_op: whether to return before it is done.
        group_src: the member's rank in the group, in place of `src`.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> weights = tl_core.tensor([1.0, 2.0])
        >>> dist.broadcast(weights, src=0)
        >>> weights
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    _check_tensor(tensor, "broadcast", "tensor")
    return _run(
        group,
        tensor,
        async_op,
        lambda link, g: link.broadcast(tensor, peer_rank(g, src, group_src, "broadcast")),
        lambda c10d, g: c10d.broadcast_([tensor], g, peer_rank(g, src, group_src, "broadcast"), 0, async_op),
    )


@overridable
def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Collects the tensors of all members, everywhere.

    Args:
        tensor_list: one tensor a member, written.
        tensor: this process's.
        group: the group; the world by default.
        async_op: whether to return before it is done.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> parts = [tl_core.empty(2) for _ in range(dist.get_world_size())]
        >>> dist.all_gather(parts, tl_core.tensor([1.0, 2.0]))
        >>> parts
        [tensor([1., 2.])]
        >>> dist.destroy_process_group()
    """
    _check_list(tensor_list, "all_gather", "tensor_list")
    _check_tensor(tensor, "all_gather", "tensor")
    _check_dtypes("all_gather", tensor, tensor_list)

    def start(link: Communicator, found: ProcessGroup) -> Work:
        _check_length(tensor_list, found, "all_gather", "tensor_list")
        _check_own_shape(tensor_list, tensor, found, "all_gather", "tensor_list")
        return link.all_gather(tensor_list, tensor)

    return _run(
        group,
        tensor,
        async_op,
        start,
        lambda c10d, g: c10d.allgather_([tensor_list], [tensor], g, async_op),
    )


@overridable
def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Collects the tensors of all members in one tensor, everywhere.

    Args:
        output_tensor: as many elements as the members have together: their tensors one after the other, or stacked.
        input_tensor: this process's.
        group: the group; the world by default.
        async_op: whether to return before it is done.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> joined = tl_core.empty(2 * dist.get_world_size())
        >>> dist.all_gather_into_tensor(joined, tl_core.tensor([1.0, 2.0]))
        >>> joined
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    _check_pair("all_gather_into_tensor", output_tensor, input_tensor, "output_tensor", "input_tensor")

    def start(link: Communicator, found: ProcessGroup) -> Work:
        _check_whole(output_tensor, input_tensor, found, "all_gather_into_tensor", "output_tensor")
        return link.all_gather_single(output_tensor, input_tensor)

    return _run(
        group,
        input_tensor,
        async_op,
        start,
        lambda c10d, g: c10d._allgather_base_(output_tensor, input_tensor, g, async_op),
    )


@overridable
def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Collects the tensors of all members in one of them.

    Args:
        tensor: this process's.
        gather_list: on `dst` one tensor a member, written; None elsewhere.
        dst: the member's global rank, 0 by default.
        group: the group; the world by default.
        async_op: whether to return before it is done.
        group_dst: the member's rank in the group, in place of `dst`.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> parts = [tl_core.empty(2) for _ in range(dist.get_world_size())]
        >>> dist.gather(tl_core.tensor([1.0, 2.0]), parts, dst=0)
        >>> parts
        [tensor([1., 2.])]
        >>> dist.destroy_process_group()
    """
    _check_tensor(tensor, "gather", "tensor")
    outputs = [] if gather_list is None else gather_list
    _check_list(outputs, "gather", "gather_list")
    _check_dtypes("gather", tensor, outputs)

    def root_of(found: ProcessGroup) -> int:
        return peer_rank(found, *_zero_by_default(dst, group_dst), "gather")

    def start(link: Communicator, found: ProcessGroup) -> Work:
        root = root_of(found)
        _check_only_at(root, outputs, found, "gather", "gather_list", "destination")
        if outputs:
            _check_own_shape(outputs, tensor, found, "gather", "gather_list")
        return link.gather(outputs, tensor, root)

    return _run(
        group,
        tensor,
        async_op,
        start,
        lambda c10d, g: c10d.gather_([outputs] if outputs else [], [tensor], g, root_of(g), async_op),
    )


@overridable
def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives each member one tensor of a list that one of them has.

    Args:
        tensor: this process's, written.
        scatter_list: on `src` one tensor a member, all of one shape; None elsewhere.
        src: the member's global rank, 0 by default.
        group: the group; the world by default.
        async_op: whether to return before it is done.
        group_src: the member's rank in the group, in place of `src`.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> part = tl_core.empty(2)
        >>> dist.scatter(part, [tl_core.tensor([1.0, 2.0])], src=0)
        >>> part
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    _check_tensor(tensor, "scatter", "tensor")
    inputs = [] if scatter_list is None else scatter_list
    _check_list(inputs, "scatter", "scatter_list")
    _check_dtypes("scatter", tensor, inputs)

    def root_of(found: ProcessGroup) -> int:
        return peer_rank(found, *_zero_by_default(src, group_src), "scatter")

    def start(link: Communicator, found: ProcessGroup) -> Work:
        root = root_of(found)
        _check_only_at(root, inputs, found, "scatter", "scatter_list", "source")
        _check_shapes(inputs, tensor, "scatter", "scatter_list")
        return link.scatter(tensor, inputs, root)

    return _run(
        group,
        tensor,
        async_op,
        start,
        lambda c10d, g: c10d.scatter_([tensor], [inputs] if inputs else [], g, root_of(g), async_op),
    )


@overridable
def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduces a list of tensors over the group, and gives each member one of the results.

    Args:
        output: this process's, written.
        input_list: one tensor a member; the i-th has the shape of the i-th member's `output`.
        op: how.
        group: the group; the world by default.
        async_op: whether to return before it is done.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> part = tl_core.empty(2)
        >>> dist.reduce_scatter(part, [tl_core.tensor([1.0, 2.0])])
        >>> part
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    _check_tensor(output, "reduce_scatter", "output")
    _check_list(input_list, "reduce_scatter", "input_list")
    _check_dtypes("reduce_scatter", output, input_list)
    reduction.check(op, output.dtype, "reduce_scatter")

    def start(link: Communicator, found: ProcessGroup) -> Work:
        _check_length(input_list, found, "reduce_scatter", "input_list")
        _check_own_shape(input_list, output, found, "reduce_scatter", "input_list")
        return link.reduce_scatter(output, input_list, op)

    return _run(
        group,
        output,
        async_op,
        start,
        lambda c10d, g: c10d.reduce_scatter_([output], [input_list], g, op, async_op),
    )


@overridable
def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduces a tensor over the group, and gives each member its part of the result.

    Args:
        output: this process's, written; the same shape in all members.
        input: the members' parts one after the other, or stacked.
        op: how.
        group: the group; the world by default.
        async_op: whether to return before it is done.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> part = tl_core.empty(2)
        >>> dist.reduce_scatter_tensor(part, tl_core.tensor([1.0, 2.0]))
        >>> part
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    _check_pair("reduce_scatter_tensor", output, input, "output", "input")
    reduction.check(op, output.dtype, "reduce_scatter_tensor")

    def start(link: Communicator, found: ProcessGroup) -> Work:
        _check_whole(input, output, found, "reduce_scatter_tensor", "input")
        return link.reduce_scatter_single(output, input, op)

    return _run(
        group,
        output,
        async_op,
        start,
        lambda c10d, g: c10d._reduce_scatter_base_(output, input, g, op, async_op),
    )


@overridable
def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Sends each member one tensor, and receives one from each.

    Args:
        output_tensor_list: one tensor a member, written.
        input_tensor_list: one tensor a member.
        group: the group; the world by default.
        async_op: whether to return before it is done.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> received = [tl_core.empty(2)]
        >>> dist.all_to_all(received, [tl_core.tensor([1.0, 2.0])])
        >>> received
        [tensor([1., 2.])]
        >>> dist.destroy_process_group()
    """
    _check_list(output_tensor_list, "all_to_all", "output_tensor_list")
    _check_list(input_tensor_list, "all_to_all", "input_tensor_list")
    every = [*output_tensor_list, *input_tensor_list]
    if not every:
        raise RuntimeError("all_to_all: the lists of tensors are empty")
    _check_dtypes("all_to_all", every[0], every)

    def start(link: Communicator, found: ProcessGroup) -> Work:
        _check_length(output_tensor_list, found, "all_to_all", "output_tensor_list")
        _check_length(input_tensor_list, found, "all_to_all", "input_tensor_list")
        own = input_tensor_list[found.rank()]
        _check_own_shape(output_tensor_list, own, found, "all_to_all", "output_tensor_list")
        return link.all_to_all(output_tensor_list, input_tensor_list)

    return _run(
        group,
        every[0],
        async_op,
        start,
        lambda c10d, g: c10d.alltoall_(output_tensor_list, input_tensor_list, g, async_op),
    )


@overridable
def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Sends each member a part of one tensor along its first dimension, and joins what they send.

    Args:
        output: written.
        input: what is sent.
        output_split_sizes: how many rows come from each member; equal parts by default.
        input_split_sizes: how many rows go to each member; equal parts by default.
        group: the group; the world by default.
        async_op: whether to return before it is done.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> received = tl_core.empty(2)
        >>> dist.all_to_all_single(received, tl_core.tensor([1.0, 2.0]))
        >>> received
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    _check_pair("all_to_all_single", output, input, "output", "input")

    def start(link: Communicator, found: ProcessGroup) -> Work:
        if not output_split_sizes and not input_split_sizes and output.shape == input.shape and output.dim():
            _check_rows(output, found, "output")
            return link.all_to_all_single(output, input)
        outputs = _split(output, output_split_sizes, found, "output")
        inputs = _split(input, input_split_sizes, found, "input")
        _check_own_shape(outputs, inputs[found.rank()], found, "all_to_all_single", "output")
        return link.all_to_all(outputs, inputs)

    return _run(
        group,
        input,
        async_op,
        start,
        lambda c10d, g: c10d.alltoall_base_(
            output, input, g, list(output_split_sizes or []), list(input_split_sizes or []), async_op
        ),
    )


def barrier(
    group: ProcessGroup | None = None,
    async_op: bool = False,
    device_ids: list[int] | None = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Waits until all members have come here.

    Args:
        group: the group; the world by default.
        async_op: whether to return before they have.
        device_ids: the accelerators of the members; only NCCL needs them.
        timeout: how long to wait; that of the group by default.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.barrier()
        >>> dist.destroy_process_group()
    """
    process_group = resolve(group)
    if process_group is None:
        return None
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError(f"barrier: device_ids must be a list of int, got {type(device_ids).__name__}")
    if is_handled(()):
        return _ask(lambda c10d, g: c10d.barrier(zeros(0), g, [], async_op), process_group, async_op)
    link = process_group.communicator_for_barrier()
    if async_op:
        return link.barrier()
    if timeout is None:
        link.blocking.barrier().wait()
    else:
        link.barrier().wait(timeout)
    return None


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """Waits until all members have come here, and names those that don't.

    Args:
        group: the group; the world by default.
        timeout: how long to wait; that of the group by default.
        wait_all_ranks: whether to name all that are missing, rather than the first.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.monitored_barrier()
        >>> dist.destroy_process_group()
    """
    process_group = resolve(group)
    if isinstance(timeout, int | float):
        warnings.warn(
            f"monitored_barrier: timeout should be a timedelta; {timeout} is taken as seconds",
            UserWarning,
            stacklevel=2,
        )
        timeout = timedelta(seconds=timeout)
    if process_group is not None:
        process_group.monitored_barrier(timeout, wait_all_ranks)


def peer_rank(group: ProcessGroup, global_rank: int | None, group_rank: int | None, function: str) -> int:
    """Rank in a group that a global or a group rank names.

    Args:
        group: the group.
        global_rank: a rank of the world, or None.
        group_rank: a rank of the group, or None.
        function: the function, for errors.
    """
    if global_rank is not None and group_rank is not None:
        raise ValueError(f"{function}: Can't specify both group_rank and global_rank")
    if global_rank is None and group_rank is None:
        raise ValueError(f"{function}: Must specify global_rank or group_rank")
    if global_rank is not None:
        if global_rank not in group.ranks:
            raise RuntimeError(f"{function}: invalid root rank: {global_rank} is not one of {group.ranks}")
        return group.position(global_rank)
    if not 0 <= group_rank < group.size():  # type: ignore[operator]
        raise RuntimeError(f"{function}: invalid root rank: {group_rank} in a group of {group.size()}")
    return group_rank  # type: ignore[return-value]


def _zero_by_default(rank: int | None, group_rank: int | None) -> tuple[int | None, int | None]:
    return (0, None) if rank is None and group_rank is None else (rank, group_rank)


def _run(
    group: ProcessGroup | None,
    tensor: Tensor,
    async_op: bool,
    start: Callable[[Communicator, ProcessGroup], Work],
    operator: Callable[[Any, ProcessGroup], Any],
) -> Work | None:
    process_group = resolve(group)
    if process_group is None:
        return None
    if is_handled((tensor,)):
        return _ask(operator, process_group, async_op)
    if recording.is_recording():
        with recording.EventRange(f"c10d::{sys._getframe(1).f_code.co_name}", f"{list(tensor.shape)}"):
            return _start(process_group, tensor, async_op, start)
    return _start(process_group, tensor, async_op, start)


def _ask(operator: Callable[[Any, ProcessGroup], Any], group: ProcessGroup, async_op: bool) -> Work | None:
    """Calls the operator of a collective, so that modes and classes of tensors receive it."""
    operators: Any = ops
    result = operator(operators.c10d, group)
    work = result[-1] if isinstance(result, tuple) else result
    manager = manager_here()
    if manager is not None:
        manager.append(work)
        return work if async_op else None
    return _handle(work, async_op)


def _start(
    group: ProcessGroup,
    tensor: Tensor,
    async_op: bool,
    start: Callable[[Communicator, ProcessGroup], Work],
) -> Work | None:
    link = group.communicator(tensor.device.type)
    manager = manager_here()
    with no_grad():
        work = start(link if async_op or manager is not None else link.blocking, group)
    if manager is not None:
        manager.append(work)
        return work if async_op else None
    return _handle(work, async_op)


def _handle(work: Work, async_op: bool) -> Work | None:
    if async_op:
        return work
    work.wait()
    return None


def _check_tensor(tensor: Any, function: str, name: str) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{function}: {name} must be a Tensor, got {type(tensor).__name__}")


def _check_list(tensors: Any, function: str, name: str) -> None:
    if not isinstance(tensors, list | tuple):
        raise TypeError(f"{function}: {name} must be a list of Tensor, got {type(tensors).__name__}")
    for i, tensor in enumerate(tensors):
        _check_tensor(tensor, function, f"{name}[{i}]")


def _check_dtypes(function: str, tensor: Tensor, others: Sequence[Tensor]) -> None:
    for other in others:
        if other.dtype != tensor.dtype:
            raise ValueError(
                f"{function}: all tensors must have one dtype, got {tensor.dtype} and {other.dtype}"
            )
        if other.device != tensor.device:
            raise ValueError(
                f"{function}: all tensors must be on one device, got {tensor.device} and {other.device}"
            )


def _check_pair(function: str, output: Any, tensor: Any, output_name: str, input_name: str) -> None:
    _check_tensor(output, function, output_name)
    _check_tensor(tensor, function, input_name)
    _check_dtypes(function, tensor, [output])


def _check_length(tensors: Sequence[Tensor], group: ProcessGroup, function: str, name: str) -> None:
    if len(tensors) != group.size():
        raise RuntimeError(f"{function}: {name} has {len(tensors)} tensors, the group {group.size()} members")


def _check_only_at(
    root: int, tensors: Sequence[Tensor], group: ProcessGroup, function: str, name: str, what: str
) -> None:
    if root != group.rank():
        if tensors:
            raise ValueError(f"{function}: Argument ``{name}`` must NOT be specified on non-{what} ranks.")
        return
    if not tensors:
        raise ValueError(f"{function}: Argument ``{name}`` must be specified on {what} rank.")
    _check_length(tensors, group, function, name)


def _check_shapes(tensors: Sequence[Tensor], like: Tensor, function: str, name: str) -> None:
    for i, tensor in enumerate(tensors):
        if tensor.shape != like.shape:
            raise RuntimeError(
                f"{function}: {name}[{i}] has the size {tuple(tensor.shape)}, needs {tuple(like.shape)}"
            )


def _check_own_shape(
    tensors: Sequence[Tensor], like: Tensor, group: ProcessGroup, function: str, name: str
) -> None:
    own = tensors[group.rank()]
    if own.shape != like.shape:
        raise RuntimeError(
            f"{function}: {name}[{group.rank()}] has the size {tuple(own.shape)}, needs {tuple(like.shape)}"
        )


def _check_whole(whole: Tensor, part: Tensor, group: ProcessGroup, function: str, name: str) -> None:
    """Raises unless a tensor holds parts of all members one after the other, or stacked."""
    size, shape, sizes = group.size(), part.shape, whole.shape
    if sizes == (size, *shape) or (shape and sizes == (size * shape[0], *shape[1:])):
        return
    if whole.dim() == 1 and sizes[0] == size * part.numel():
        return
    raise RuntimeError(
        f"{function}: {name} has the size {tuple(sizes)}, needs {size} times {tuple(shape)}, "
        "one after the other or stacked"
    )


def _check_rows(tensor: Tensor, group: ProcessGroup, name: str) -> None:
    if tensor.shape[0] % group.size():
        raise RuntimeError(
            f"all_to_all_single: the {tensor.shape[0]} rows of {name} don't divide equally by {group.size()}"
        )


def _split(tensor: Tensor, sizes: Sequence[int] | None, group: ProcessGroup, name: str) -> list[Tensor]:
    if tensor.dim() == 0:
        raise RuntimeError(f"all_to_all_single: {name} has no dimension that could be split")
    rows = tensor.shape[0]
    if not sizes:
        _check_rows(tensor, group, name)
        sizes = [rows // group.size()] * group.size()
    if len(sizes) != group.size():
        raise RuntimeError(
            f"all_to_all_single: {name}_split_sizes has {len(sizes)} sizes, the group {group.size()} members"
        )
    if sum(sizes) != rows:
        raise RuntimeError(
            f"all_to_all_single: Split sizes {list(sizes)} don't match the {rows} rows of {name}"
        )
    return list(tensor.split(list(sizes)))
