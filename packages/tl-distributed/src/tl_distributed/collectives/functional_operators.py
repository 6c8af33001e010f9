"""The operators of `torch.ops._c10d_functional` and `torch.ops._dtensor`: collectives whose group is a name.

Results are there when an operator returns; `wait_tensor` has nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor, library

from ..base.reduction import operation_named
from ..base.work import Work
from ..groups.process_group import ProcessGroup
from ..groups.process_groups import group_named
from . import point_to_point
from . import tensor_collectives as collectives

__all__: list[str] = []

_OPERATORS = library.Library("_c10d_functional", "DEF")


def _new(tensor: Tensor) -> Tensor:
    return tensor.clone(memory_format=tl_core.contiguous_format)


def _all_reduce_(self: Tensor, reduce_op: str, group: ProcessGroup) -> Tensor:
    collectives.all_reduce(self, operation_named(reduce_op), group)
    return self


def _gather(self: Tensor, out: Tensor, group: ProcessGroup) -> Tensor:
    collectives.all_gather_into_tensor(out, self.contiguous(), group)
    return out


def _reduce_scatter(self: Tensor, out: Tensor, reduce_op: str, group: ProcessGroup) -> Tensor:
    collectives.reduce_scatter_tensor(out, self.contiguous(), operation_named(reduce_op), group)
    return out


def all_reduce_(self: Tensor, reduce_op: str, group_name: str) -> Tensor:
    """Reduces in place.

    Args:
        self: the tensor.
        reduce_op: "sum", "avg", "product", "max", "min".
        group_name: the group's name.
    """
    return _all_reduce_(self, reduce_op, group_named(group_name))


def all_reduce(self: Tensor, reduce_op: str, group_name: str) -> Tensor:
    """The reduction of all ranks' tensors.

    Args:
        self: the tensor.
        reduce_op: "sum", "avg", "product", "max", "min".
        group_name: the group's name.
    """
    return all_reduce_(_new(self), reduce_op, group_name)


def broadcast_(self: Tensor, src: int, group_name: str) -> Tensor:
    """Takes one rank's tensor, in place.

    Args:
        self: the tensor.
        src: the rank in the group.
        group_name: the group's name.
    """
    collectives.broadcast(self, group=group_named(group_name), group_src=src)
    return self


def broadcast(self: Tensor, src: int, group_name: str) -> Tensor:
    """One rank's tensor.

    Args:
        self: the tensor.
        src: the rank in the group.
        group_name: the group's name.
    """
    return broadcast_(_new(self), src, group_name)


def all_gather_into_tensor(input: Tensor, group_size: int, group_name: str) -> Tensor:
    """All ranks' tensors, one after another.

    Args:
        input: the tensor.
        group_size: the number of ranks.
        group_name: the group's name.
    """
    rows, *rest = input.shape or (1,)
    return _gather(input, input.new_empty(rows * group_size, *rest), group_named(group_name))


def all_gather_into_tensor_out(input: Tensor, group_size: int, group_name: str, out: Tensor) -> Tensor:
    """`all_gather_into_tensor`, written to a tensor.

    Args:
        input: the tensor.
        group_size: the number of ranks.
        group_name: the group's name.
        out: what is written to.
    """
    return _gather(input, out, group_named(group_name))


def reduce_scatter_tensor(input: Tensor, reduce_op: str, group_size: int, group_name: str) -> Tensor:
    """This rank's part of the reduction of all ranks' tensors.

    Args:
        input: the tensor.
        reduce_op: "sum", "avg", "product", "max", "min".
        group_size: the number of ranks.
        group_name: the group's name.
    """
    rows, *rest = input.shape
    return _reduce_scatter(
        input, input.new_empty(rows // group_size, *rest), reduce_op, group_named(group_name)
    )


def all_to_all_single(
    input: Tensor, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int], group_name: str
) -> Tensor:
    """The parts that all ranks send to this one.

    Args:
        input: what this rank sends, one part for each rank.
        output_split_sizes: the rows that each rank sends to this one.
        input_split_sizes: the rows that this rank sends to each.
        group_name: the group's name.
    """
    out = input.new_empty(sum(output_split_sizes), *input.shape[1:])
    sizes = list(output_split_sizes), list(input_split_sizes)
    collectives.all_to_all_single(out, input.contiguous(), *sizes, group=group_named(group_name))
    return out


def reduce_scatter_tensor_out(
    input: Tensor, reduce_op: str, group_size: int, group_name: str, out: Tensor
) -> Tensor:
    """`reduce_scatter_tensor`, written to a tensor.

    Args:
        input: the tensor.
        reduce_op: "sum", "avg", "product", "max", "min".
        group_size: the number of ranks.
        group_name: the group's name.
        out: what is written to.
    """
    return _reduce_scatter(input, out, reduce_op, group_named(group_name))


def shard_dim_alltoall(input: Tensor, gather_dim: int, shard_dim: int, group_name: str) -> Tensor:
    """A piece of another dimension: the sharded dimension becomes whole, and another one is cut.

    Args:
        input: this rank's piece.
        gather_dim: the dimension that becomes whole.
        shard_dim: the dimension that is cut; its size is a multiple of the group's.
        group_name: the group's name.

    Raises:
        RuntimeError: the dimension can't be cut in equal pieces.
    """
    group = group_named(group_name)
    if input.shape[shard_dim] % group.size():
        raise RuntimeError(
            f"_dtensor::shard_dim_alltoall: the size {input.shape[shard_dim]} of shard_dim {shard_dim} isn't a "
            f"multiple of the {group.size()} ranks"
        )
    pieces = [piece.contiguous() for piece in input.chunk(group.size(), shard_dim)]
    outputs = [tl_core.empty_like(piece) for piece in pieces]
    collectives.all_to_all(outputs, pieces, group)
    return tl_core.cat(outputs, gather_dim)


def isend(tensor: Tensor, dst: int, tag: int, group_name: str) -> Tensor:
    """Sends a tensor to a rank of the group.

    Args:
        tensor: the tensor.
        dst: the receiver's rank in the group.
        tag: what the receiver's tag must equal.
        group_name: the group's name.
    """
    _wait(point_to_point.isend(tensor.contiguous(), None, group_named(group_name), tag, group_dst=dst))
    return tensor.clone()


def irecv(tensor: Tensor, src: int, tag: int, group_name: str) -> Tensor:
    """The tensor of a rank of the group.

    Args:
        tensor: a tensor of the size and type of what is received.
        src: the sender's rank in the group.
        tag: what the sender's tag must equal.
        group_name: the group's name.
    """
    result = tl_core.empty_like(tensor, memory_format=tl_core.contiguous_format)
    _wait(point_to_point.irecv(result, None, group_named(group_name), tag, group_src=src))
    return result


def batch_p2p_ops(
    op_list: Sequence[str],
    peer_list: Sequence[int],
    tag_list: Sequence[int],
    tensors: Sequence[Tensor],
    group_name: str,
) -> list[Tensor]:
    """Several sendings and receivings that are begun together.

    Args:
        op_list: "isend" or "irecv" for each.
        peer_list: the other rank of the group.
        tag_list: the tags.
        tensors: what is sent, or the size and type of what is received.
        group_name: the group's name.

    Raises:
        ValueError: an operation has another name, or the lists differ in length.
    """
    group = group_named(group_name)
    works, results = [], []
    for name, peer, tag, tensor in zip(op_list, peer_list, tag_list, tensors, strict=True):
        if name not in ("isend", "irecv"):
            raise ValueError(f"batch_p2p_ops: op_list has {name!r}, needs 'isend' or 'irecv'")
        buffer = _new(tensor)
        if name == "isend":
            works.append(point_to_point.isend(buffer, None, group, tag, group_dst=peer))
        else:
            works.append(point_to_point.irecv(buffer, None, group, tag, group_src=peer))
        results.append(buffer)
    for work in works:
        _wait(work)
    return results


def _wait(work: Work | None) -> None:
    if work is not None:
        work.wait()


def wait_tensor(tensor: Tensor) -> Tensor:
    """A collective's result.

    Args:
        tensor: the result.
    """
    return tensor.view_as(tensor)


def _for_each(function: Any) -> Any:
    """The operator for several tensors, one after another."""
    return lambda tensors, *rest: [function(tensor, *rest) for tensor in tensors]


_REDUCED = "str reduce_op, str group_name"
_GATHERED = "int group_size, str group_name"
_ROWS = (
    (f"all_reduce(Tensor input, {_REDUCED}) -> Tensor", all_reduce),
    (f"all_reduce_(Tensor(a!) input, {_REDUCED}) -> Tensor(a!)", all_reduce_),
    (f"all_reduce_coalesced(Tensor[] inputs, {_REDUCED}) -> Tensor[]", _for_each(all_reduce)),
    (f"all_reduce_coalesced_(Tensor[](a!) inputs, {_REDUCED}) -> Tensor[](a!)", _for_each(all_reduce_)),
    (f"all_gather_into_tensor(Tensor input, {_GATHERED}) -> Tensor", all_gather_into_tensor),
    (
        f"all_gather_into_tensor_out(Tensor input, {_GATHERED}, *, Tensor(a!) out) -> Tensor(a!)",
        all_gather_into_tensor_out,
    ),
    (
        f"all_gather_into_tensor_coalesced(Tensor[] inputs, {_GATHERED}) -> Tensor[]",
        _for_each(all_gather_into_tensor),
    ),
    (
        "reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor",
        reduce_scatter_tensor,
    ),
    (
        (
            "reduce_scatter_tensor_out(Tensor input, str reduce_op, int group_size, str group_name, *, "
            "Tensor(a!) out) -> Tensor(a!)"
        ),
        reduce_scatter_tensor_out,
    ),
    ("isend(Tensor tensor, int dst, int tag, str group_name) -> Tensor", isend),
    ("irecv(Tensor tensor, int src, int tag, str group_name) -> Tensor", irecv),
    (
        (
            "batch_p2p_ops(str[] op_list, int[] peer_list, int[] tag_list, Tensor[] tensors, str group_name) "
            "-> Tensor[]"
        ),
        batch_p2p_ops,
    ),
    (
        "reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduce_op, int group_size, str group_name) -> Tensor[]",
        _for_each(reduce_scatter_tensor),
    ),
    (
        (
            "all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, "
            "str group_name) -> Tensor"
        ),
        all_to_all_single,
    ),
    ("broadcast(Tensor input, int src, str group_name) -> Tensor", broadcast),
    ("broadcast_(Tensor(a!) input, int src, str group_name) -> Tensor(a!)", broadcast_),
    ("wait_tensor(Tensor(a) tensor) -> Tensor(a)", wait_tensor),
    ("_wrap_tensor_autograd(Tensor input) -> Tensor", lambda input: input.clone()),
)
for _schema, _function in _ROWS:
    _OPERATORS.define(_schema)
    _OPERATORS.impl(_schema.partition("(")[0], _function, "CompositeExplicitAutograd")

_LAYOUT_OPERATORS = library.Library("_dtensor", "DEF")
_LAYOUT_OPERATORS.define(
    "shard_dim_alltoall(Tensor input, int gather_dim, int shard_dim, str group_name) -> Tensor"
)
_LAYOUT_OPERATORS.impl("shard_dim_alltoall", shard_dim_alltoall, "CompositeExplicitAutograd")

# Programs look up counts of collectives by an older namespace.
_SPACES: Any = tl_core.ops
for _name in (
    "all_gather_into_tensor",
    "all_reduce",
    "all_to_all_single",
    "broadcast",
    "reduce_scatter_tensor",
    "wait_tensor",
):
    setattr(_SPACES.c10d_functional, _name, getattr(_SPACES._c10d_functional, _name))
