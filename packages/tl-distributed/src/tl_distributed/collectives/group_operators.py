"""The operators of `torch.ops.c10d`: collectives whose group is an argument.

Each returns the tensors that it writes and the handle of the operation, or the handle alone. Modes of
`__torch_dispatch__` receive these operators for the collectives of this package. On tensors without memory, which fake
tensors hold, they communicate nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from tl_core import Tensor, library

from ..base.errors import DistBackendError
from ..base.reduction import RedOpType
from ..base.work import Work, all_of
from ..groups.process_group import ProcessGroup
from . import coalescing, point_to_point
from . import tensor_collectives as collectives

__all__: list[str] = []

_OPERATORS = library.Library("c10d", "DEF")


def _finish(work: Work | None, async_op: bool) -> Work:
    """The handle, after the operation has ended unless it is asynchronous."""
    handle = Work() if work is None else work
    if not async_op:
        handle.wait()
    return handle


def _one(tensors: Sequence[Any], operator: str) -> Any:
    if len(tensors) != 1:
        raise ValueError(f"c10d::{operator}: expected a list of one tensor, got {len(tensors)}")
    return tensors[0]


def _allreduce(
    tensors: list[Tensor],
    process_group: ProcessGroup,
    reduce_op: RedOpType,
    sparse_indices: Tensor | None,
    async_op: bool = True,
    timeout: int = -1,
) -> tuple[list[Tensor], Work]:
    if sparse_indices is not None:
        raise NotImplementedError("c10d::allreduce_: sparse_indices is for NCCL's sparse reductions")
    tensor = _one(tensors, "allreduce_")
    return tensors, _finish(collectives.all_reduce(tensor, reduce_op, process_group, True), async_op)


def _allreduce_coalesced(
    tensors: list[Tensor],
    process_group: ProcessGroup,
    reduce_op: RedOpType,
    async_op: bool = True,
    timeout: int = -1,
) -> Work:
    return _finish(coalescing.all_reduce_coalesced(tensors, reduce_op, process_group, True), async_op)


def _reduce(
    tensors: list[Tensor],
    process_group: ProcessGroup,
    reduce_op: RedOpType,
    root_rank: int,
    root_tensor: int,
    async_op: bool = True,
    timeout: int = -1,
) -> Work:
    tensor = _one(tensors, "reduce_")
    work = collectives.reduce(tensor, None, reduce_op, process_group, True, group_dst=root_rank)
    return _finish(work, async_op)


def _broadcast(
    tensors: list[Tensor],
    process_group: ProcessGroup,
    root_rank: int,
    root_tensor: int,
    async_op: bool = True,
    timeout: int = -1,
) -> tuple[list[Tensor], Work]:
    tensor = _one(tensors, "broadcast_")
    work = collectives.broadcast(tensor, None, process_group, True, group_src=root_rank)
    return tensors, _finish(work, async_op)


def _allgather(
    output_tensors: list[list[Tensor]],
    input_tensors: list[Tensor],
    process_group: ProcessGroup,
    async_op: bool = True,
    timeout: int = -1,
) -> tuple[list[list[Tensor]], Work]:
    outputs, tensor = _one(output_tensors, "allgather_"), _one(input_tensors, "allgather_")
    return output_tensors, _finish(collectives.all_gather(outputs, tensor, process_group, True), async_op)


def _allgather_base(
    output_tensor: Tensor,
    input_tensor: Tensor,
    process_group: ProcessGroup,
    async_op: bool = True,
    timeout: int = -1,
) -> tuple[Tensor, Work]:
    work = collectives.all_gather_into_tensor(output_tensor, input_tensor, process_group, True)
    return output_tensor, _finish(work, async_op)


def _allgather_coalesced(
    output_lists: list[list[Tensor]],
    input_list: list[Tensor],
    process_group: ProcessGroup,
    async_op: bool = True,
) -> Work:
    return _finish(coalescing.all_gather_coalesced(output_lists, input_list, process_group, True), async_op)


def _allgather_into_tensor_coalesced(
    outputs: list[Tensor], inputs: list[Tensor], process_group: ProcessGroup, async_op: bool = True
) -> Work:
    works = [
        collectives.all_gather_into_tensor(output, tensor, process_group, True)
        for output, tensor in zip(outputs, inputs, strict=True)
    ]
    return _finish(all_of([work for work in works if work is not None]), async_op)


def _gather(
    output_tensors: list[list[Tensor]],
    input_tensors: list[Tensor],
    process_group: ProcessGroup,
    root_rank: int,
    async_op: bool = True,
    timeout: int = -1,
) -> Work:
    outputs = output_tensors[0] if output_tensors else None
    tensor = _one(input_tensors, "gather_")
    work = collectives.gather(tensor, outputs, None, process_group, True, group_dst=root_rank)
    return _finish(work, async_op)


def _scatter(
    output_tensors: list[Tensor],
    input_tensors: list[list[Tensor]],
    process_group: ProcessGroup,
    root_rank: int,
    async_op: bool = True,
    timeout: int = -1,
) -> tuple[list[Tensor], Work]:
    inputs = input_tensors[0] if input_tensors else None
    tensor = _one(output_tensors, "scatter_")
    work = collectives.scatter(tensor, inputs, None, process_group, True, group_src=root_rank)
    return output_tensors, _finish(work, async_op)


def _reduce_scatter(
    output_tensors: list[Tensor],
    input_tensors: list[list[Tensor]],
    process_group: ProcessGroup,
    reduce_op: RedOpType,
    async_op: bool = True,
    timeout: int = -1,
) -> tuple[list[Tensor], Work]:
    output, inputs = _one(output_tensors, "reduce_scatter_"), _one(input_tensors, "reduce_scatter_")
    work = collectives.reduce_scatter(output, inputs, reduce_op, process_group, True)
    return output_tensors, _finish(work, async_op)


def _reduce_scatter_base(
    output_tensor: Tensor,
    input_tensor: Tensor,
    process_group: ProcessGroup,
    reduce_op: RedOpType,
    async_op: bool = True,
    timeout: int = -1,
) -> tuple[Tensor, Work]:
    work = collectives.reduce_scatter_tensor(output_tensor, input_tensor, reduce_op, process_group, True)
    return output_tensor, _finish(work, async_op)


def _reduce_scatter_tensor_coalesced(
    outputs: list[Tensor],
    inputs: list[Tensor],
    process_group: ProcessGroup,
    reduce_op: RedOpType,
    async_op: bool = True,
    timeout: int = -1,
) -> Work:
    works = [
        collectives.reduce_scatter_tensor(output, tensor, reduce_op, process_group, True)
        for output, tensor in zip(outputs, inputs, strict=True)
    ]
    return _finish(all_of([work for work in works if work is not None]), async_op)


def _alltoall(
    output_tensors: list[Tensor],
    input_tensors: list[Tensor],
    process_group: ProcessGroup,
    async_op: bool = True,
    timeout: int = -1,
) -> tuple[list[Tensor], Work]:
    work = collectives.all_to_all(output_tensors, input_tensors, process_group, True)
    return output_tensors, _finish(work, async_op)


def _alltoall_base(
    output: Tensor,
    input: Tensor,
    process_group: ProcessGroup,
    output_split_sizes: list[int],
    input_split_sizes: list[int],
    async_op: bool = True,
    timeout: int = -1,
) -> Work:
    work = collectives.all_to_all_single(
        output, input, output_split_sizes, input_split_sizes, process_group, True
    )
    return _finish(work, async_op)


def _barrier(
    tensor: Tensor,
    process_group: ProcessGroup,
    device_ids: list[int],
    async_op: bool = True,
    timeout: int = -1,
) -> Work:
    return _finish(collectives.barrier(process_group, async_op=True), async_op)


def _monitored_barrier(
    tensor: Tensor, process_group: ProcessGroup, device_ids: list[int], timeout: int, wait_all_ranks: bool
) -> None:
    limit = None if timeout < 0 else timedelta(milliseconds=timeout)
    process_group.monitored_barrier(limit, wait_all_ranks)


def _send(tensors: list[Tensor], process_group: ProcessGroup, dst: int, tag: int) -> Work:
    work = point_to_point.isend(_one(tensors, "send"), None, process_group, tag, group_dst=dst)
    return _finish(work, True)


def _recv(tensors: list[Tensor], process_group: ProcessGroup, src: int, tag: int) -> Work:
    work = point_to_point.irecv(_one(tensors, "recv_"), None, process_group, tag, group_src=src)
    return _finish(work, True)


def _recv_any_source(tensors: list[Tensor], process_group: ProcessGroup, tag: int) -> Work:
    return _finish(point_to_point.irecv(_one(tensors, "recv_any_source_"), None, process_group, tag), True)


def _check_for_nan(tensor: Tensor) -> None:
    if tensor.is_floating_point() and bool(tensor.isnan().any()):
        raise DistBackendError("c10d::check_for_nan: the tensor has NaN")


_GROUP = "__torch__.torch.classes.c10d.ProcessGroup process_group"
_REDUCTION = f"{_GROUP}, __torch__.torch.classes.c10d.ReduceOp reduce_op"
_WAIT = "bool async_op=True, int timeout=-1"
_WORK = "__torch__.torch.classes.c10d.Work"
_ROWS: tuple[tuple[str, Callable[..., Any]], ...] = (
    (
        f"allreduce_(Tensor[] tensors, {_REDUCTION}, Tensor? sparse_indices, {_WAIT}) -> (Tensor[], {_WORK})",
        _allreduce,
    ),
    (f"allreduce_coalesced_(Tensor[] tensors, {_REDUCTION}, {_WAIT}) -> {_WORK}", _allreduce_coalesced),
    (f"reduce_(Tensor[] tensors, {_REDUCTION}, int root_rank, int root_tensor, {_WAIT}) -> {_WORK}", _reduce),
    (
        f"broadcast_(Tensor[] tensors, {_GROUP}, int root_rank, int root_tensor, {_WAIT}) -> (Tensor[], {_WORK})",
        _broadcast,
    ),
    (
        f"allgather_(Tensor[][] output_tensors, Tensor[] input_tensors, {_GROUP}, {_WAIT}) -> (Tensor[][], {_WORK})",
        _allgather,
    ),
    (
        f"_allgather_base_(Tensor output_tensor, Tensor input_tensor, {_GROUP}, {_WAIT}) -> (Tensor, {_WORK})",
        _allgather_base,
    ),
    (
        (
            f"allgather_coalesced_(Tensor[][] output_lists, Tensor[] input_list, {_GROUP}, bool async_op=True) "
            f"-> {_WORK}"
        ),
        _allgather_coalesced,
    ),
    (
        (
            f"allgather_into_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, {_GROUP}, bool async_op=True) "
            f"-> {_WORK}"
        ),
        _allgather_into_tensor_coalesced,
    ),
    (
        f"gather_(Tensor[][] output_tensors, Tensor[] input_tensors, {_GROUP}, int root_rank, {_WAIT}) -> {_WORK}",
        _gather,
    ),
    (
        (
            f"scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, {_GROUP}, int root_rank, {_WAIT}) "
            f"-> (Tensor[], {_WORK})"
        ),
        _scatter,
    ),
    (
        (
            f"reduce_scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, {_REDUCTION}, {_WAIT}) "
            f"-> (Tensor[], {_WORK})"
        ),
        _reduce_scatter,
    ),
    (
        (
            f"_reduce_scatter_base_(Tensor output_tensor, Tensor input_tensor, {_REDUCTION}, {_WAIT}) "
            f"-> (Tensor, {_WORK})"
        ),
        _reduce_scatter_base,
    ),
    (
        f"reduce_scatter_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, {_REDUCTION}, {_WAIT}) -> {_WORK}",
        _reduce_scatter_tensor_coalesced,
    ),
    (
        f"alltoall_(Tensor[] output_tensors, Tensor[] input_tensors, {_GROUP}, {_WAIT}) -> (Tensor[], {_WORK})",
        _alltoall,
    ),
    (
        (
            f"alltoall_base_(Tensor output, Tensor input, {_GROUP}, int[] output_split_sizes, "
            f"int[] input_split_sizes, {_WAIT}) -> {_WORK}"
        ),
        _alltoall_base,
    ),
    (f"barrier(Tensor tensor, {_GROUP}, int[] device_ids, {_WAIT}) -> {_WORK}", _barrier),
    (
        f"monitored_barrier_(Tensor tensor, {_GROUP}, int[] device_ids, int timeout, bool wait_all_ranks) -> ()",
        _monitored_barrier,
    ),
    (f"send(Tensor[] tensors, {_GROUP}, int dst, int tag) -> {_WORK}", _send),
    (f"recv_(Tensor[] tensors, {_GROUP}, int src, int tag) -> {_WORK}", _recv),
    (f"recv_any_source_(Tensor[] tensors, {_GROUP}, int tag) -> {_WORK}", _recv_any_source),
    ("check_for_nan(Tensor tensor) -> ()", _check_for_nan),
)


def _without_memory(schema: str) -> Callable[..., Any]:
    """The operator for tensors without memory: the results that it would write, and the handle of no operation."""
    results = schema.rpartition("->")[2].strip()
    if results == "()":
        return lambda *args, **kwargs: None
    if not results.startswith("("):
        return lambda *args, **kwargs: Work()
    return lambda written, *args, **kwargs: (written, Work())


for _schema, _function in _ROWS:
    _OPERATORS.define(_schema)
    _OPERATORS.impl(_schema.partition("(")[0], _function, "CPU")
    _OPERATORS.impl(_schema.partition("(")[0], _without_memory(_schema), "Meta")
