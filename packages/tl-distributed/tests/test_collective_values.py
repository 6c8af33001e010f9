"""Collectives of several ranks beside numpy: each operation, root, group, form of the results and kind of handle."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest

import tl_core as tl
import tl_distributed as dist

SIZE = 3
R = dist.ReduceOp
ROWS = (2, 3)


def numbers(rank, shape=ROWS, dtype=np.int64):
    """The numbers of a rank, which no other rank has."""
    return (np.arange(np.prod(shape)).reshape(shape) * 5 + rank * 3 + 1).astype(dtype)


def tensor(rank, shape=ROWS, dtype=np.int64):
    return tl.from_numpy(numbers(rank, shape, dtype))


OPERATIONS = {
    "SUM": operator.add, "PRODUCT": operator.mul, "MIN": np.minimum, "MAX": np.maximum,
    "BAND": operator.and_, "BOR": operator.or_, "BXOR": operator.xor,
}  # fmt: skip


def equal(result, expected):
    np.testing.assert_array_equal(result.numpy(), expected)


def finish(result, is_async):
    """Waits for a handle, which only asynchronous calls have."""
    assert (result is not None) == is_async
    if is_async:
        result.wait()
        assert result.is_completed()


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("name", [*OPERATIONS, "AVG"])
def test_reductions(ranks, name, is_async):
    op = getattr(R, name)
    dtype = np.float64 if name == "AVG" else np.int64
    all_values = [numbers(r, dtype=dtype) for r in range(SIZE)]
    total = np.mean(all_values, 0) if name == "AVG" else functools.reduce(OPERATIONS[name], all_values)

    def body(rank):
        x = tensor(rank, dtype=dtype)
        finish(dist.all_reduce(x, op, async_op=is_async), is_async)
        equal(x, total)
        for root in range(SIZE):
            x = tensor(rank, dtype=dtype)
            finish(dist.reduce(x, root, op, async_op=is_async), is_async)
            if rank == root:
                equal(x, total)
        output = tl.zeros(3, dtype=x.dtype)
        inputs = [tl.from_numpy(numbers(rank * 10 + i, (3,), dtype)) for i in range(SIZE)]
        finish(dist.reduce_scatter(output, inputs, op, async_op=is_async), is_async)
        parts = [numbers(r * 10 + rank, (3,), dtype) for r in range(SIZE)]
        equal(output, np.mean(parts, 0) if name == "AVG" else functools.reduce(OPERATIONS[name], parts))
        for full in (tl.cat(inputs), tl.stack(inputs)):
            output.zero_()
            finish(dist.reduce_scatter_tensor(output, full, op, async_op=is_async), is_async)
            equal(output, np.mean(parts, 0) if name == "AVG" else functools.reduce(OPERATIONS[name], parts))

    ranks(SIZE, body)


@pytest.mark.parametrize("is_async", [False, True])
def test_copies(ranks, is_async):
    def body(rank):
        for root in range(SIZE):
            x = tensor(rank)
            finish(dist.broadcast(x, root, async_op=is_async), is_async)
            equal(x, numbers(root))
            x = tensor(rank)
            finish(dist.broadcast(x, group_src=root, async_op=is_async), is_async)
            equal(x, numbers(root))
            outputs = [tl.zeros(ROWS, dtype=tl.int64) for _ in range(SIZE)] if rank == root else None
            finish(dist.gather(tensor(rank), outputs, root, async_op=is_async), is_async)
            for i, output in enumerate(outputs or ()):
                equal(output, numbers(i))
            x = tl.zeros(ROWS, dtype=tl.int64)
            inputs = [tensor(10 * root + i) for i in range(SIZE)] if rank == root else None
            finish(dist.scatter(x, inputs, root, async_op=is_async), is_async)
            equal(x, numbers(10 * root + rank))
        outputs = [tl.zeros(ROWS, dtype=tl.int64) for _ in range(SIZE)]
        finish(dist.all_gather(outputs, tensor(rank), async_op=is_async), is_async)
        for i, output in enumerate(outputs):
            equal(output, numbers(i))
        every = np.stack([numbers(r) for r in range(SIZE)])
        for shape in ((SIZE, *ROWS), (SIZE * ROWS[0], ROWS[1]), (SIZE * ROWS[0] * ROWS[1],)):
            output = tl.zeros(shape, dtype=tl.int64)
            finish(dist.all_gather_into_tensor(output, tensor(rank), async_op=is_async), is_async)
            equal(output, every.reshape(shape))

    ranks(SIZE, body)


def test_the_first_rank_is_the_root_by_default(ranks):
    def body(rank):
        outputs = [tl.zeros(ROWS, dtype=tl.int64) for _ in range(SIZE)] if rank == 0 else None
        dist.gather(tensor(rank), outputs)
        x = tl.zeros(ROWS, dtype=tl.int64)
        dist.scatter(x, outputs)
        equal(x, numbers(rank))

    ranks(SIZE, body)


@pytest.mark.parametrize("is_async", [False, True])
def test_exchanges(ranks, is_async):
    sizes = [[1, 2, 0], [3, 0, 1], [2, 2, 2]]  # rows from a rank to a rank

    def body(rank):
        outputs = [tl.zeros(ROWS, dtype=tl.int64) for _ in range(SIZE)]
        inputs = [tensor(10 * rank + i) for i in range(SIZE)]
        finish(dist.all_to_all(outputs, inputs, async_op=is_async), is_async)
        for i, output in enumerate(outputs):
            equal(output, numbers(10 * i + rank))
        x = tensor(rank, (SIZE * 2, 2))
        output = tl.zeros((SIZE * 2, 2), dtype=tl.int64)
        finish(dist.all_to_all_single(output, x, async_op=is_async), is_async)
        equal(
            output, np.concatenate([numbers(r, (SIZE * 2, 2))[2 * rank : 2 * rank + 2] for r in range(SIZE)])
        )
        rows, columns = sizes[rank], [line[rank] for line in sizes]
        x, output = tensor(rank, (sum(rows), 2)), tl.zeros((sum(columns), 2), dtype=tl.int64)
        finish(dist.all_to_all_single(output, x, columns, rows, async_op=is_async), is_async)
        pieces = []
        for r, line in enumerate(sizes):
            begin = sum(line[:rank])
            pieces.append(numbers(r, (sum(line), 2))[begin : begin + line[rank]])
        equal(output, np.concatenate(pieces))

    ranks(SIZE, body)


@pytest.mark.parametrize("members", [[2, 0], [1, 2]])
def test_a_group_of_some_ranks(ranks, members):
    def body(rank):
        group = dist.new_group(members)
        own = members if members == sorted(members) else sorted(members)
        x = tensor(rank)
        dist.all_reduce(x, group=group)
        if rank not in members:
            equal(x, numbers(rank))
            for call in (
                lambda: dist.broadcast(x, own[0], group),
                lambda: dist.all_gather([x, x], x, group),
                lambda: dist.barrier(group),
            ):
                assert call() is None
            assert dist.get_rank(group) == -1
            return
        equal(x, sum(numbers(m) for m in members))
        position, ordered = dist.get_rank(group), dist.get_process_group_ranks(group)
        assert sorted(ordered) == own and ordered[position] == rank and dist.get_world_size(group) == 2
        for group_rank, global_rank in enumerate(ordered):
            assert dist.get_global_rank(group, group_rank) == global_rank
            assert dist.get_group_rank(group, global_rank) == group_rank
            for root in ({"src": global_rank}, {"group_src": group_rank}):
                x = tensor(rank)
                dist.broadcast(x, group=group, **root)
                equal(x, numbers(global_rank))
                x = tl.zeros(ROWS, dtype=tl.int64)
                parts = [tensor(5), tensor(6)] if rank == global_rank else None
                dist.scatter(x, parts, group=group, **root)
                equal(x, numbers(5 + position))
            for root in ({"dst": global_rank}, {"group_dst": group_rank}):
                x = tensor(rank)
                dist.reduce(x, group=group, **root)
                if rank == global_rank:
                    equal(x, sum(numbers(m) for m in members))
                outputs = [tl.zeros(ROWS, dtype=tl.int64) for _ in members] if rank == global_rank else None
                dist.gather(tensor(rank), outputs, group=group, **root)
                for r, output in zip(ordered, outputs or (), strict=False):
                    equal(output, numbers(r))
        absent = next(r for r in range(SIZE) if r not in members)
        for call in (
            lambda: dist.broadcast(tensor(rank), absent, group),
            lambda: dist.broadcast(tensor(rank), group=group, group_src=2),
            lambda: dist.reduce(tensor(rank), group=group, group_dst=-1),
            lambda: dist.get_global_rank(group, 2),
            lambda: dist.get_group_rank(group, absent),
        ):
            with pytest.raises((RuntimeError, ValueError)):
                call()

    ranks(SIZE, body)


def test_messages_between_ranks(ranks):
    def body(rank):
        following, previous = (rank + 1) % SIZE, (rank - 1) % SIZE
        x, y = tensor(rank), tl.zeros(ROWS, dtype=tl.int64)
        works = [dist.isend(x, following), dist.irecv(y, previous)]
        for work in works:
            work.wait()
        equal(y, numbers(previous))
        y.zero_()
        for tag in (3, 4):
            if rank == 0:
                dist.send(tensor(tag), 1, tag=tag)
            elif rank == 1:
                assert dist.recv(y, 0, tag=tag) == 0
                equal(y, numbers(tag))
        operations = [dist.P2POp(dist.isend, x, following), dist.P2POp(dist.irecv, y, previous)]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        equal(y, numbers(previous))
        if rank == 2:
            dist.send(tensor(9), 0)
        elif rank == 0:
            assert dist.recv(y) == 2  # from any rank
            equal(y, numbers(9))

    ranks(SIZE, body)


def test_objects_of_ranks(ranks):
    def body(rank):
        outputs = [None] * SIZE
        dist.all_gather_object(outputs, {"rank": rank, "list": [rank] * rank})
        assert outputs == [{"rank": r, "list": [r] * r} for r in range(SIZE)]
        for root in range(SIZE):
            objects = [("a", root), None, b"bytes"] if rank == root else [None] * 3
            dist.broadcast_object_list(objects, root)
            assert objects == [("a", root), None, b"bytes"]
            gathered = [None] * SIZE if rank == root else None
            dist.gather_object(("from", rank), gathered, root)
            assert gathered is None or gathered == [("from", r) for r in range(SIZE)]
            scattered = [None]
            dist.scatter_object_list(
                scattered, [f"to {r}" for r in range(SIZE)] if rank == root else None, root
            )
            assert scattered == [f"to {rank}"]

    ranks(SIZE, body)
