"""Backends, groups and handles by themselves."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_core.futures import Future
from tl_distributed.backends.backend import (
    BackendConfig,
    all_backends_are,
    is_xccl_available,
    make_fake,
    make_gloo,
)
from tl_distributed.backends.fake import FakeGroup, Traffic
from tl_distributed.backends.group_context import GroupContext
from tl_distributed.backends.single_process import SingleProcess
from tl_distributed.backends.sparse_reduction import all_reduce_sparse
from tl_distributed.base.grad_bucket import views
from tl_distributed.base.reduction import operation_named
from tl_distributed.base.work import GroupWork, PartsOf
from tl_distributed.groups.process_groups import group_named, resolve
from tl_distributed.groups.world import World
from tl_distributed.simulate import MirrorGroup


def test_the_description_of_a_group():
    context = GroupContext(1, 3, name="mine")
    assert (context.group_rank, context.group_size, context.group_id) == (1, 3, "mine")
    assert context.global_ranks_in_group == [0, 1, 2]
    assert GroupContext(0, 2, global_ranks=[4, 7]).global_ranks_in_group == [4, 7]


def test_backends_by_kind_of_device():
    assert repr(BackendConfig("gloo")).startswith("cpu:gloo")
    assert BackendConfig("undefined").get_device_backend_map() == {"cpu": "gloo"}
    for text, error in (("cpu:", ValueError), ("cpu:gloo,cpu:fake", ValueError), ("none", AssertionError)):
        with pytest.raises(error):
            BackendConfig(text)
    assert is_xccl_available() is False


def test_communicators_of_one_process():
    assert type(make_gloo(GroupContext(0, 1))) is SingleProcess
    assert type(make_fake(GroupContext(0, 4))) is FakeGroup
    with all_backends_are(lambda context: MirrorGroup(context)):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=4)
        x = tl.tensor([1.0, 2.0])
        dist.all_reduce(x)
        dist.destroy_process_group()
    assert x.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="there is nobody to send to"):
        SingleProcess(GroupContext(0, 1)).send(x, 0, 0)


def test_the_traffic_of_a_ring():
    group = FakeGroup(GroupContext(0, 4))
    group.all_reduce(tl.zeros(8), dist.ReduceOp.SUM)
    group.broadcast(tl.zeros(8), 0)
    assert group.traffic.calls == {"all_reduce": 1, "broadcast": 1}
    ring, tree = group.traffic.of("all_reduce"), group.traffic.of("broadcast")
    assert (ring.messages, ring.sent, ring.peak) == (6, 6 * 32 // 4, 32)  # 2 (n - 1) parts of S / n bytes
    assert (tree.messages, tree.sent) == (1, 32)
    assert (group.traffic.messages, group.traffic.sent) == (7, 80)
    assert Traffic().of("none").sent == 0


@pytest.mark.parametrize("name", ["sum", "avg", "product", "min", "max", "band", "bor", "bxor"])
def test_operations_by_name(name):
    assert operation_named(name) is operation_named(name.upper()) is getattr(dist.ReduceOp, name.upper())
    with pytest.raises(ValueError, match="expected one of sum, avg"):
        operation_named("premul_sum")


def test_gradients_are_views_of_their_buffer():
    flat = tl.arange(6.0)
    parts = views(flat, [tl.empty(2, 2), tl.empty(()), tl.empty(1)])
    assert [part.tolist() for part in parts] == [[[0, 1], [2, 3]], 4, [5]]
    parts[0].zero_()
    assert flat.tolist() == [0, 0, 0, 0, 4, 5]


def test_the_whole_is_the_result_of_its_parts():
    full, work = tl.zeros(4), dist.Work([tl.zeros(2), tl.zeros(2)])
    both = PartsOf(work, [full])
    assert both.wait() and both.is_completed() and both.exception() is None
    assert both.result()[0] is full and both.get_future().wait()[0] is full


def test_handles_of_the_engine(ranks):
    def body(rank):
        x = tl.ones(3)
        work = dist.all_reduce(x, async_op=True)
        assert isinstance(work, GroupWork) and isinstance(work.get_future(), Future)
        assert work.wait() and work.is_completed() and work.exception() is None
        return x.tolist()

    assert ranks(2, body) == [[2, 2, 2]] * 2


def test_sparse_sums(ranks):
    def body(rank):
        x = tl.zeros(4)
        x[rank], x[3] = rank + 1.0, 1.0
        link = dist.group.WORLD.communicator()
        total = x.to_sparse()
        all_reduce_sparse(link, total, dist.ReduceOp.SUM)
        with pytest.raises(RuntimeError, match="op must be SUM"):
            all_reduce_sparse(link, total, dist.ReduceOp.MAX)
        return total.to_dense().tolist()

    assert ranks(2, body) == [[1, 2, 0, 2]] * 2


def test_groups_by_name(world):
    assert group_named(world.group_name) is world and resolve(None) is world
    assert resolve(dist.GroupMember.NON_GROUP_MEMBER) is None
    assert isinstance(world, dist.ProcessGroup)
    with pytest.raises(ValueError, match="under the name nothing: there are '0'"):
        group_named("nothing")
    empty = World()
    assert (empty.default, empty.groups, empty.made) == (None, [], 0)


def test_each_thread_may_have_a_world_of_its_own(ranks):
    end = threading.Barrier(2, timeout=20)

    def body(rank):
        end.wait()
        return dist.get_rank()

    assert ranks(2, body) == [0, 1]


# The messages, bytes and peak of rank 1 of 4. A tensor of 6 floats has 24 bytes, and a ring sends quarters of it. The
# other operations send whole tensors.
X = tl.zeros(6)
PARTS = [tl.zeros(6) for _ in range(4)]
OPERATIONS = {
    "all_reduce": (lambda g: g.all_reduce(X, dist.ReduceOp.SUM), (6, 36, 24)),
    "reduce to 1": (lambda g: g.reduce(X, 1, dist.ReduceOp.SUM), (0, 0, 24)),
    "reduce to 0": (lambda g: g.reduce(X, 0, dist.ReduceOp.SUM), (1, 24, 24)),
    "broadcast of 1": (lambda g: g.broadcast(X, 1), (1, 24, 24)),
    "broadcast of 0": (lambda g: g.broadcast(X, 0), (0, 0, 24)),
    "all_gather": (lambda g: g.all_gather(PARTS, X), (3, 72, 120)),
    "all_gather of one": (lambda g: g.all_gather_single(tl.zeros(24), X), (3, 72, 120)),
    "gather to 1": (lambda g: g.gather(PARTS, X, 1), (0, 0, 120)),
    "gather to 0": (lambda g: g.gather([], X, 0), (1, 24, 24)),
    "scatter of 1": (lambda g: g.scatter(X, PARTS, 1), (3, 72, 120)),
    "scatter of 0": (lambda g: g.scatter(X, [], 0), (0, 0, 24)),
    "reduce_scatter": (lambda g: g.reduce_scatter(X, PARTS, dist.ReduceOp.SUM), (3, 72, 120)),
    "reduce_scatter of one": (
        lambda g: g.reduce_scatter_single(X, tl.zeros(24), dist.ReduceOp.SUM),
        (3, 72, 120),
    ),
    "all_to_all": (lambda g: g.all_to_all(PARTS, PARTS), (3, 72, 192)),
    "all_to_all of one": (lambda g: g.all_to_all_single(tl.zeros(24), tl.zeros(24)), (3, 72, 192)),
    "send": (lambda g: g.send(X, 2, 0), (1, 24, 24)),
    "receive": (lambda g: g.receive(X, None, 0), (0, 0, 24)),
    "barrier": (lambda g: g.barrier(), (1, 0, 0)),
    "monitored barrier": (lambda g: g.monitored_barrier(timedelta(1), False), (1, 0, 0)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_messages_bytes_and_memory_of_a_fake_group(name):
    call, expected = OPERATIONS[name]
    group = FakeGroup(GroupContext(1, 4))
    call(group)
    traffic = group.traffic
    assert (traffic.messages, traffic.sent, traffic.peak) == expected and sum(traffic.calls.values()) == 1
    (operation,) = traffic.calls
    part = traffic.of(operation)
    assert (part.messages, part.sent, part.peak) == expected
