"""Collectives and messages between ranks, which are threads here."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed.groups.world import world_of_thread

pytestmark = [pytest.mark.usefixtures("transport"), pytest.mark.threads]
R = dist.ReduceOp
SIZES = [0, 1, 1000, 20_000, 700_000]
NUMBERS = [tl.float32, tl.float64, tl.float16, tl.bfloat16, tl.int8, tl.uint8, tl.int32, tl.int64]


def numbers(count, rank, dtype=tl.float32):
    return ((tl.arange(count) % 7) + rank).to(dtype)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_sum_over_all_sizes_and_types(ranks, size):
    def body(rank):
        for count in SIZES:
            for dtype in NUMBERS if count < 2000 else [tl.float32, tl.bfloat16]:
                tensor = numbers(count, rank, dtype)
                dist.all_reduce(tensor)
                expected = (size * (tl.arange(count) % 7) + sum(range(size))).to(dtype)
                assert tl.equal(tensor, expected), (count, dtype)

    ranks(size, body)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(
    ("op", "dtype", "combine"),
    [
        (R.AVG, tl.float32, lambda all_: all_.mean(0)),
        (R.PRODUCT, tl.int64, lambda all_: all_.prod(0)),
        (R.MIN, tl.float32, lambda all_: all_.amin(0)),
        (R.MAX, tl.int32, lambda all_: all_.amax(0)),
        (R.SUM, tl.complex64, lambda all_: all_.sum(0)),
        (R.SUM, tl.bool, lambda all_: all_.any(0)),
        (R.PRODUCT, tl.bool, lambda all_: all_.all(0)),
    ],
)
def test_other_reductions(ranks, size, op, dtype, combine):
    every = tl.stack([numbers(50, rank, dtype) for rank in range(size)])

    def body(rank):
        tensor = numbers(50, rank, dtype)
        dist.all_reduce(tensor, op)
        assert tl.allclose(tensor.to(tl.complex64), combine(every).to(tl.complex64))

    ranks(size, body)


def test_bits(ranks):
    def body(rank):
        for op, expected in ((R.BAND, 0), (R.BOR, 3), (R.BXOR, 3)):
            tensor = tl.tensor([rank + 1])
            dist.all_reduce(tensor, op)
            assert int(tensor) == expected

    ranks(2, body)


def test_sums_have_the_same_bits_on_every_rank_and_however_they_are_cut(ranks):
    source = tl.randn(4, 300_000, generator=tl.Generator().manual_seed(3))

    def body(rank):
        full = source[rank].clone()
        dist.all_reduce(full)
        parts = [part.clone() for part in source[rank].split(70_001)]
        for part in parts:
            dist.all_reduce(part)
        assert tl.equal(full, tl.cat(parts))
        return full

    first, *rest = ranks(4, body)
    assert all(tl.equal(first, other) for other in rest)


def test_tensors_that_are_not_contiguous(ranks):
    def body(rank):
        tensor = numbers(12, rank).reshape(3, 4).t()
        dist.all_reduce(tensor)
        assert tl.equal(tensor, (2 * (tl.arange(12) % 7) + 1).float().reshape(3, 4).t())
        outputs = [tl.zeros(4, 3).t() for _ in range(2)]
        dist.all_gather(outputs, numbers(12, rank).reshape(3, 4))
        assert tl.equal(outputs[1], numbers(12, 1).reshape(3, 4))

    ranks(2, body)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("count", [0, 3, 400_000])
def test_everything_that_copies(ranks, size, count):
    def body(rank):
        mine = numbers(count, rank)
        each = [numbers(count, r) for r in range(size)]
        for dtype in (tl.float32, tl.bool):
            tensor = mine.to(dtype, copy=True)
            dist.broadcast(tensor, 1)
            assert tl.equal(tensor, each[1].to(dtype))
        outputs = [tl.empty(count) for _ in range(size)]
        dist.all_gather(outputs, mine)
        assert all(tl.equal(a, b) for a, b in zip(outputs, each, strict=True))
        full = tl.empty(size * count)
        dist.all_gather_into_tensor(full, mine)
        assert tl.equal(full, tl.cat(each))
        result = [tl.empty(count) for _ in range(size)] if rank == 1 else None
        dist.gather(mine, result, dst=1)
        assert result is None or all(tl.equal(a, b) for a, b in zip(result, each, strict=True))
        actual = tl.empty(count)
        dist.scatter(actual, each if rank == 0 else None, src=0)
        assert tl.equal(actual, mine)
        dist.all_to_all(outputs, [mine + 10 * to for to in range(size)])
        assert all(tl.equal(a, b + 10 * rank) for a, b in zip(outputs, each, strict=True))
        dist.reduce_scatter(actual, each)
        assert tl.equal(actual, mine * size)
        dist.reduce_scatter_tensor(actual, tl.cat(each), R.MAX)
        assert tl.equal(actual, mine)
        total = mine.clone()
        dist.reduce(total, dst=size - 1)
        assert rank != size - 1 or tl.equal(total, tl.stack(each).sum(0))
        dist.barrier()

    ranks(size, body)


def test_unequal_parts(ranks):
    def body(rank):
        send = tl.arange(5.0) + 10 * rank
        sizes = [2, 3] if rank == 0 else [4, 1]
        expected = [2, 4] if rank == 0 else [3, 1]
        output = tl.empty(sum(expected))
        dist.all_to_all_single(output, send, expected, sizes)
        own = (
            [tl.arange(5.0)[:2], tl.arange(5.0)[:4] + 10]
            if rank == 0
            else [tl.arange(5.0)[2:], tl.tensor([14.0])]
        )
        assert tl.equal(output, tl.cat(own))

    ranks(2, body)


def test_work_that_goes_on(ranks):
    def body(rank):
        tensors = [numbers(1000, rank) for _ in range(20)]
        works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
        last = works[-1].get_future().then(lambda done: float(done.value()[0].sum()))
        assert last.wait() == float((2 * (tl.arange(1000) % 7) + 1).sum())
        for work, tensor in zip(works, tensors, strict=True):
            assert work.wait() and work.is_success()
            assert work.result()[0] is tensor
        assert works[0].is_completed() and works[0].exception() is None

    ranks(2, body)


def test_messages_are_matched_by_tag(ranks):
    def body(rank):
        if rank == 0:
            works = [dist.isend(tl.full((n,), float(n)), 1, tag=n) for n in (5, 300_000, 7)]
            for work in works:
                work.wait()
            dist.send(tl.ones(3), 1)
            return
        for n in (7, 5, 300_000):
            tensor = tl.empty(n)
            assert dist.recv(tensor, 0, tag=n) == 0
            assert float(tensor[0]) == n
        assert dist.recv(tl.empty(3)) == 0

    ranks(2, body)


def test_messages_in_both_directions_at_once(ranks):
    def body(rank):
        other = 1 - rank
        actual = tl.empty(500_000)
        ops = [
            dist.P2POp(dist.irecv, actual, other),
            dist.P2POp(dist.isend, tl.full((500_000,), float(rank)), other),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        assert float(actual.mean()) == other

    ranks(2, body)


def test_subgroups(ranks):
    def body(rank):
        pair, pairs = dist.new_subgroups(2)
        assert len(pairs) == 2
        tensor = tl.tensor([float(rank)])
        dist.all_reduce(tensor, group=pair)
        assert float(tensor) == (1.0 if rank < 2 else 5.0)
        odd = dist.new_group([3, 1], sort_ranks=False)
        if rank in (1, 3):
            tensor = tl.tensor([float(rank)])
            dist.broadcast(tensor, group_src=0, group=odd)
            assert float(tensor) == 3.0
            assert dist.get_process_group_ranks(odd) == [3, 1]
        else:
            assert odd is dist.GroupMember.NON_GROUP_MEMBER
        local = dist.new_group([0, 1], use_local_synchronization=True) if rank < 2 else None
        if local is not None:
            dist.barrier(local)

    ranks(4, body)


def test_objects(ranks):
    def body(rank):
        every = [None, None]
        dist.all_gather_object(every, {"rank": rank, "text": "x" * rank})
        assert every == [{"rank": 0, "text": ""}, {"rank": 1, "text": "x"}]
        objects = [rank, "a"] if rank == 0 else [None, None]
        dist.broadcast_object_list(objects)
        assert objects == [0, "a"]

    ranks(2, body)


def test_a_world_made_again_on_the_same_store():
    store = dist.HashStore()

    def rank_main(rank, errors):
        with world_of_thread():
            try:
                for i in range(3):
                    dist.init_process_group(
                        "gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=10)
                    )
                    tensor = tl.tensor([float(rank + i)])
                    dist.all_reduce(tensor)
                    assert float(tensor) == 2 * i + 1
                    dist.destroy_process_group()
            except BaseException as error:
                errors.append(error)

    errors: list[BaseException] = []
    threads = [threading.Thread(target=rank_main, args=(rank, errors)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def _all_to_all(sizes):
    return dist.all_to_all([tl.empty(n) for n in sizes], [tl.ones(2)] * 3)


# Calls that fit each other only if all ranks make the same one.
CALLS = {
    "all_reduce": lambda: dist.all_reduce(tl.ones(6)),
    "all_reduce of another count": lambda: dist.all_reduce(tl.ones(5)),
    "all_reduce of another type": lambda: dist.all_reduce(tl.ones(6, dtype=tl.int32)),
    "all_reduce of another type and width": lambda: dist.all_reduce(tl.ones(3, dtype=tl.float64)),
    "all_reduce by MAX": lambda: dist.all_reduce(tl.ones(6), R.MAX),
    "all_reduce that is large": lambda: dist.all_reduce(tl.ones(100_000)),
    "reduce to 0": lambda: dist.reduce(tl.ones(6), 0),
    "reduce to 1": lambda: dist.reduce(tl.ones(6), 1),
    "reduce by MAX": lambda: dist.reduce(tl.ones(6), 0, R.MAX),
    "large reduce to 0": lambda: dist.reduce(tl.ones(100_000), 0),
    "large reduce to 1": lambda: dist.reduce(tl.ones(100_000), 1),
    "broadcast of 0": lambda: dist.broadcast(tl.ones(6), 0),
    "broadcast of 1": lambda: dist.broadcast(tl.ones(6), 1),
    "broadcast of 2": lambda: dist.broadcast(tl.ones(6), 2),
    "broadcast of another count": lambda: dist.broadcast(tl.ones(4), 0),
    "large broadcast of 0": lambda: dist.broadcast(tl.ones(100_000), 0),
    "large broadcast of 1": lambda: dist.broadcast(tl.ones(100_000), 1),
    "gather to 0": lambda: dist.gather(tl.ones(6), list(tl.empty(3, 6)) if dist.get_rank() == 0 else None, 0),
    "gather to 1": lambda: dist.gather(tl.ones(6), list(tl.empty(3, 6)) if dist.get_rank() == 1 else None, 1),
    "scatter of 0": lambda: dist.scatter(
        tl.ones(6), list(tl.empty(3, 6)) if dist.get_rank() == 0 else None, 0
    ),
    "scatter of 1": lambda: dist.scatter(
        tl.ones(6), list(tl.empty(3, 6)) if dist.get_rank() == 1 else None, 1
    ),
    "all_gather": lambda: dist.all_gather(list(tl.empty(3, 6)), tl.ones(6)),
    "all_gather of another count": lambda: dist.all_gather(list(tl.empty(3, 5)), tl.ones(5)),
    "reduce_scatter": lambda: dist.reduce_scatter(tl.empty(2), [tl.ones(2)] * 3),
    "reduce_scatter by MAX": lambda: dist.reduce_scatter(tl.empty(2), [tl.ones(2)] * 3, R.MAX),
    "all_to_all": lambda: _all_to_all([2, 2, 2]),
    "all_to_all that expects more": lambda: _all_to_all(
        [2 + (i == (dist.get_rank() + 1) % 3) for i in range(3)]
    ),
    "barrier": lambda: dist.barrier(),
}
# Each with one that differs in a single thing, and some that differ in all.
PAIRS = [
    *(("all_reduce", other) for other in CALLS if other.startswith("all_reduce ")),
    ("reduce to 0", "reduce to 1"),
    ("reduce to 0", "reduce by MAX"),
    ("large reduce to 0", "large reduce to 1"),
    ("broadcast of 0", "broadcast of 1"),
    ("broadcast of 1", "broadcast of 2"),
    ("broadcast of 0", "broadcast of another count"),
    ("broadcast of 0", "large broadcast of 0"),
    ("large broadcast of 0", "large broadcast of 1"),
    ("gather to 0", "gather to 1"),
    ("scatter of 0", "scatter of 1"),
    ("all_gather", "all_gather of another count"),
    ("reduce_scatter", "reduce_scatter by MAX"),
    ("all_to_all", "all_to_all that expects more"),
    *(
        ("barrier", name)
        for name in ("all_reduce", "broadcast of 0", "gather to 0", "scatter of 0", "all_to_all")
    ),
    *(
        ("broadcast of 0", name)
        for name in ("all_reduce", "reduce to 0", "gather to 0", "scatter of 0", "barrier")
    ),
    *(("gather to 0", name) for name in ("reduce to 0", "scatter of 0", "all_gather", "reduce_scatter")),
]


@pytest.mark.parametrize("odd", [0, 1, 2])
@pytest.mark.parametrize(("usual", "other"), PAIRS)
def test_one_rank_that_calls_something_else_is_named_on_all_ranks(ranks, transport, usual, other, odd):
    def body(rank):
        call = CALLS[other if rank == odd else usual]
        with pytest.raises(dist.DistBackendError, match=rf"rank {odd} \(pid \d+") as caught:
            call()
        with pytest.raises(dist.DistBackendError, match="has failed"):
            dist.all_reduce(tl.ones(1))
        return str(caught.value)

    for text in ranks(3, body, timeout=20):
        assert "disagree" in text or "which expects" in text, text


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_fit_leave_nothing_in_the_way(ranks, transport, name):
    if "expects" in name:
        return

    def body(rank):
        for _ in range(3):
            CALLS[name]()
            tensor = tl.full((3,), float(rank))
            dist.broadcast(tensor, 2)
            dist.all_reduce(tensor)
            assert tensor.tolist() == [6, 6, 6]

    ranks(3, body)


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        (
            [lambda: dist.all_reduce(tl.ones(3)), lambda: dist.broadcast(tl.ones(3), 0)],
            "all_reduce.*broadcast",
        ),
        ([lambda: dist.all_reduce(tl.ones(3)), lambda: dist.all_reduce(tl.ones(4))], "3 float32.*4 float32"),
        ([lambda: dist.all_reduce(tl.ones(3)), lambda: dist.all_reduce(tl.ones(3).int())], "float32.*int32"),
        ([lambda: dist.broadcast(tl.ones(3), 0), lambda: dist.broadcast(tl.ones(3), 1)], "root 0.*root 1"),
        ([lambda: dist.all_reduce(tl.ones(3)), lambda: dist.all_reduce(tl.ones(3), R.MAX)], "SUM.*MAX"),
    ],
)
def test_ranks_that_disagree_raise_on_all_ranks(ranks, calls, words):
    # Two roots that send, and nobody who receives: over a network all compare before they begin only then.
    dist.set_debug_level(dist.DebugLevel.DETAIL)

    def body(rank):
        with pytest.raises(dist.DistBackendError, match=f"disagree.*{words}"):
            calls[rank]()
        with pytest.raises(dist.DistBackendError, match=r"has failed.*disagree"):
            dist.barrier()

    try:
        ranks(2, body)
    finally:
        dist.set_debug_level(dist.DebugLevel.OFF)


def test_a_message_of_another_size_is_refused(ranks):
    def body(rank):
        if rank == 0:
            dist.send(tl.ones(3), 1)
            return
        with pytest.raises(dist.DistBackendError, match=r"send \(3 float32\).*recv \(4 float32"):
            dist.recv(tl.empty(4), 0)

    ranks(2, body)


def test_a_rank_that_does_not_come_is_named(ranks):
    came = threading.Event()

    def body(rank):
        if rank == 1:
            came.wait()
            with pytest.raises(
                dist.DistBackendError, match=r"timeout of 0\.3 s|disagree: rank 0 .* all_reduce"
            ):
                dist.barrier()
            return
        with pytest.raises(
            dist.DistBackendError, match=r"rank 0 .* timeout of 0.3 s in all_reduce #1 .* rank 1 "
        ):
            dist.all_reduce(tl.ones(2))
        came.set()

    ranks(2, body, timeout=0.3)


def test_monitored_barrier_names_who_is_missing(ranks):
    end = threading.Barrier(2)

    def body(rank):
        if rank == 0:
            with pytest.raises(RuntimeError, match="rank 1"):
                dist.monitored_barrier(timeout=timedelta(seconds=0.1))
        end.wait()

    ranks(2, body)


def test_abort(ranks):
    waiting = threading.Event()

    def body(rank):
        if rank == 1:
            waiting.wait()
            dist.group.WORLD.abort()
            return
        work = dist.all_reduce(tl.ones(2), async_op=True)
        waiting.set()
        with pytest.raises(dist.DistBackendError, match=r"rank 1 .*aborted"):
            work.wait()

    ranks(2, body)


def test_a_wait_with_a_limit(ranks):
    go = threading.Event()

    def body(rank):
        if rank == 1:
            go.wait()
            dist.barrier()
            return
        work = dist.barrier(async_op=True)
        with pytest.raises(dist.DistBackendError, match=r"not over after 0\.05 s"):
            work.wait(timedelta(seconds=0.05))
        go.set()
        assert work.wait()

    ranks(2, body)


def test_two_processes_with_one_number():
    store, errors = dist.HashStore(), []

    def body(rank):
        with world_of_thread():
            try:
                dist.init_process_group(
                    "gloo", store=store, rank=rank, world_size=3, timeout=timedelta(seconds=5)
                )
            except dist.DistBackendError as error:
                errors.append(str(error))

    threads = [threading.Thread(target=body, args=(rank,)) for rank in (0, 1, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 3
    assert any("say that they are rank 1" in text for text in errors)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("sparse_dims", [1, 2])
def test_sums_of_sparse_tensors(ranks, size, sparse_dims):
    def part(rank):
        dense = tl.zeros(5, 4)
        dense[rank, rank:] = rank + 1.0  # rank 3 and above store nothing else; all have the last row
        dense[4, 1] = 10.0**rank
        return dense * (rank != 1)  # one process stores nothing

    def body(rank):
        tensor = part(rank).to_sparse(sparse_dims)
        work = dist.all_reduce(tensor, async_op=rank % 2 == 0)
        assert work is None or work.wait()
        assert tensor.is_sparse
        assert tl.equal(tensor.to_dense(), sum(part(r) for r in range(size)))

    ranks(size, body)


def test_sparse_tensors_that_cannot_be_summed(ranks):
    def body(rank):
        with pytest.raises(RuntimeError, match="op must be SUM for a sparse tensor"):
            dist.all_reduce(tl.eye(3).to_sparse(), R.MAX)
        with pytest.raises(RuntimeError, match="has the size"):
            dist.all_reduce(tl.eye(3 + rank).to_sparse())

    ranks(2, body)
