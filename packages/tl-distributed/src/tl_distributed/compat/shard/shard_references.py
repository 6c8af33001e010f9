"""References to the boxes of a sharded tensor that other processes hold, exchanged by RPC."""

from __future__ import annotations

import itertools
from typing import Any
from weakref import WeakValueDictionary

from ...groups.process_groups import get_rank
from ...rpc import RRef, api

__all__ = ["exchange_references"]

_tensors: WeakValueDictionary[int, Any] = WeakValueDictionary()
_numbers = itertools.count()


def exchange_references(tensor: Any) -> None:
    """Sends references to the boxes of this process to all workers, which do the same.

    Args:
        tensor: the sharded tensor, which each worker creates in the same call.

    Raises:
        RuntimeError: RPC isn't initialized.
        ValueError: the rank of the process differs from its rank in RPC.
    """
    if not api._is_current_rpc_agent_set():
        raise RuntimeError(
            "RPC Framework needs to be initialized using torch.distributed.rpc.init_rpc if init_rrefs is set to True"
        )
    rank, own = get_rank(), api.get_worker_info()
    if own.id != rank:
        raise ValueError(
            "Default ProcessGroup and RPC ranks must be the same for ShardedTensor, found process group rank: "
            f"{rank} and RPC rank: {own.id}"
        )
    number = next(_numbers)
    tensor._remote_shards, _tensors[number] = {}, tensor
    numbers = api._all_gather(number)
    references = [RRef(part) for part in tensor.local_shards()]
    peers = [info for info in api._get_current_rpc_agent().get_worker_infos() if info.id != rank]
    calls = [
        api.rpc_async(info, _receive, (numbers[info.name], rank, references)) for info in peers if references
    ]
    for call in calls:
        call.wait()
    api._all_gather(None)


def _receive(number: int, rank: int, references: list[Any]) -> None:
    """Called by another worker."""
    _tensors[number]._remote_shards[rank] = references
