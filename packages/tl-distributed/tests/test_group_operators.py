"""`torch.ops.c10d`: collectives of a group that is an argument, and the operators that modes receive."""

from __future__ import annotations

import inspect

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_core.subclasses import FakeTensorMode
from tl_core.subclasses.python_dispatch import TorchDispatchMode
from tl_distributed.collectives import group_operators

# The operators that PyTorch 2.13 lists in this namespace for process groups.
NAMES = [
    "_allgather_base_",
    "_reduce_scatter_base_",
    "allgather_",
    "allgather_coalesced_",
    "allgather_into_tensor_coalesced_",
    "allreduce_",
    "allreduce_coalesced_",
    "alltoall_",
    "alltoall_base_",
    "barrier",
    "broadcast_",
    "check_for_nan",
    "gather_",
    "monitored_barrier_",
    "recv_",
    "recv_any_source_",
    "reduce_",
    "reduce_scatter_",
    "reduce_scatter_tensor_coalesced_",
    "scatter_",
    "send",
]


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "c10d":
            self.names.append(func._schema.name.removeprefix("c10d::"))
        return func(*args, **(kwargs or {}))


def test_operator_names():
    assert all(hasattr(tl.ops.c10d, name) for name in NAMES)
    schema = str(tl.ops.c10d.reduce_.default._schema)
    assert schema == (
        "c10d::reduce_(Tensor[] tensors, __torch__.torch.classes.c10d.ProcessGroup process_group, "
        "__torch__.torch.classes.c10d.ReduceOp reduce_op, int root_rank, int root_tensor, bool async_op=True, "
        "int timeout=-1) -> __torch__.torch.classes.c10d.Work"
    )


def test_defaults_of_the_functions_are_those_of_the_schemas():
    for schema, function in group_operators._ROWS:
        arguments = getattr(tl.ops.c10d, schema.partition("(")[0]).default._schema.arguments
        expected = {a.name: a.default_value for a in arguments if a.has_default_value()}
        parameters = inspect.signature(function).parameters
        assert {n: p.default for n, p in parameters.items() if p.default is not p.empty} == expected
        if "async_op" in parameters:
            assert expected["async_op"] is True and expected.get("timeout", -1) == -1


def test_reductions_and_broadcasts(ranks):
    def body(rank):
        group, c10d = dist.group.WORLD, tl.ops.c10d
        x = tl.full((2,), rank + 1.0)
        (total,), work = c10d.allreduce_([x.clone()], group, dist.ReduceOp.SUM, None)
        assert work.wait() and total.tolist() == [6.0, 6.0]
        both = [x.clone(), x * 2]
        c10d.allreduce_coalesced_(both, group, dist.ReduceOp.MAX, False)
        assert both[0].tolist() == [3.0, 3.0] and both[1].tolist() == [6.0, 6.0]
        root = x.clone()
        c10d.reduce_([root], group, dist.ReduceOp.SUM, 1, 0).wait()
        assert rank != 1 or root.tolist() == [6.0, 6.0]
        (copy,), work = c10d.broadcast_([x.clone()], group, 2, 0)
        assert work.wait() and copy.tolist() == [3.0, 3.0]
        out, work = c10d._reduce_scatter_base_(tl.empty(1), tl.arange(3.0) + rank, group, dist.ReduceOp.SUM)
        assert work.wait() and out.item() == 3 * rank + 3
        (out,), work = c10d.reduce_scatter_([tl.empty(2)], [[x, x, x]], group, dist.ReduceOp.SUM)
        assert work.wait() and out.tolist() == [6.0, 6.0]
        pair = [tl.empty(1), tl.empty(2)]
        inputs = [tl.ones(3), tl.ones(6)]
        c10d.reduce_scatter_tensor_coalesced_(pair, inputs, group, dist.ReduceOp.SUM).wait()
        assert pair[0].tolist() == [3.0] and pair[1].tolist() == [3.0, 3.0]
        with pytest.raises(ValueError, match="list of one tensor, got 2"):
            c10d.allreduce_([x, x], group, dist.ReduceOp.SUM, None)

    ranks(3, body)


def test_gathers_and_exchanges(ranks):
    def body(rank):
        group, c10d = dist.group.WORLD, tl.ops.c10d
        x = tl.full((2,), float(rank))
        ([first, second],), work = c10d.allgather_([[tl.empty(2), tl.empty(2)]], [x], group)
        assert work.wait() and first.tolist() == [0.0, 0.0] and second.tolist() == [1.0, 1.0]
        joined, work = c10d._allgather_base_(tl.empty(4), x, group)
        assert work.wait() and joined.tolist() == [0.0, 0.0, 1.0, 1.0]
        lists = [[tl.empty(2)], [tl.empty(2)]]
        c10d.allgather_coalesced_(lists, [x], group).wait()
        assert lists[1][0].tolist() == [1.0, 1.0]
        outputs = [tl.empty(4), tl.empty(2)]
        c10d.allgather_into_tensor_coalesced_(outputs, [x, x[:1]], group, False)
        assert outputs[0].tolist() == [0.0, 0.0, 1.0, 1.0] and outputs[1].tolist() == [0.0, 1.0]
        parts = [[tl.empty(2), tl.empty(2)]] if rank == 1 else []
        c10d.gather_(parts, [x], group, 1).wait()
        assert rank == 0 or [part[0].item() for part in parts[0]] == [0.0, 1.0]
        (own,), work = c10d.scatter_([tl.empty(2)], [[x + 7, x + 8]] if rank == 0 else [], group, 0)
        assert work.wait() and own.tolist() == [7.0 + rank] * 2
        received, work = c10d.alltoall_([tl.empty(1), tl.empty(1)], [x[:1], x[:1] + 10], group)
        assert work.wait() and [t.item() for t in received] == ([0.0, 1.0] if rank == 0 else [10.0, 11.0])
        exchange = tl.empty(2)
        c10d.alltoall_base_(exchange, x, group, [], []).wait()
        assert exchange.tolist() == [0.0, 1.0]
        if rank == 0:
            c10d.send([x + 3], group, 1, 5).wait()
        else:
            message = tl.empty(2)
            c10d.recv_([message], group, 0, 5).wait()
            assert message.tolist() == [3.0, 3.0]
        c10d.barrier(x, group, []).wait()
        c10d.monitored_barrier_(x, group, [], 5000, False)

    ranks(2, body)


def test_check_for_nan():
    tl.ops.c10d.check_for_nan(tl.ones(2))
    with pytest.raises(dist.DistBackendError, match="NaN"):
        tl.ops.c10d.check_for_nan(tl.tensor([1.0, float("nan")]))


def test_operators_of_modes(world):
    x, out = tl.ones(2), [tl.empty(2)]
    with Recorder() as recorder:
        dist.all_reduce(x)
        handle = dist.broadcast(x, 0, async_op=True)
        assert handle.wait()
        dist.reduce(x, 0)
        dist.all_gather(out, x)
        dist.all_gather_into_tensor(out[0], x)
        dist.gather(x, out, 0)
        dist.scatter(x, out, 0)
        dist.reduce_scatter(x, out)
        dist.reduce_scatter_tensor(out[0], x)
        dist.all_to_all(out, [x])
        dist.all_to_all_single(out[0], x)
        dist.barrier()
    assert recorder.names == [
        "allreduce_",
        "broadcast_",
        "reduce_",
        "allgather_",
        "_allgather_base_",
        "gather_",
        "scatter_",
        "reduce_scatter_",
        "_reduce_scatter_base_",
        "alltoall_",
        "alltoall_base_",
        "barrier",
    ]
    assert out[0].tolist() == [1.0, 1.0]


def test_fake_tensors(world):
    with FakeTensorMode():
        x = tl.ones(3)
        dist.all_reduce(x)
        (result,), work = tl.ops.c10d.allreduce_([x], world, dist.ReduceOp.SUM, None)
    assert result.shape == (3,) and work.wait()


def test_functional_operators_of_messages(ranks):
    def body(rank):
        name, operators = dist.group.WORLD.group_name, tl.ops._c10d_functional
        x = tl.full((2,), float(rank))
        if rank == 0:
            operators.isend(x + 4, 1, 3, name)
        else:
            assert operators.irecv(x, 0, 3, name).tolist() == [4.0, 4.0]
        peer = 1 - rank
        kinds = ["isend", "irecv"]
        received = operators.batch_p2p_ops(kinds, [peer, peer], [0, 0], [x, tl.empty(2)], name)
        assert received[1].tolist() == [float(peer)] * 2
        out = tl.empty(1)
        assert operators.reduce_scatter_tensor_out(x, "sum", 2, name, out=out) is not None and out.item() == 1
        piece = tl.arange(4.0).reshape(1, 4) + 4 * rank
        changed = tl.ops._dtensor.shard_dim_alltoall(piece, 0, 1, name)
        assert changed.tolist() == [[2.0 * rank, 2 * rank + 1], [2.0 * rank + 4, 2 * rank + 5]]
        with pytest.raises(RuntimeError, match="multiple of the 2 ranks"):
            tl.ops._dtensor.shard_dim_alltoall(tl.ones(1, 3), 0, 1, name)

    ranks(2, body)
