"""Groups on machines with several ranks: each operation beside numpy, and what is sent between machines."""

from __future__ import annotations

import numpy as np
import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed.backends.machines import machines_of

R = dist.ReduceOp
LAYOUTS = ["aabb", "abab", "aab", "abbb", "aaabb", "aabbcc", "abbccc"]
SHAPES = [(0,), (), (33, 7), (90_001,)]
DTYPES = [
    *("float32", "bfloat16", "uint8", "bool", "float16", "complex64", "int64"),
    *("float64", "complex128", "int32"),
]
TOLERANCE = {"float16": 1e-2, "bfloat16": 4e-2, "float32": 1e-5, "complex64": 1e-5}


def numbers(dtype, seed, shape):
    """Numbers whose sums are exact in most types."""
    draw = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(draw.integers(0, 2, shape)).astype(bool)
    if "int" in dtype:
        return np.asarray(draw.integers(0, 4, shape)).astype(dtype)
    if "complex" in dtype:
        return np.asarray(draw.integers(-8, 8, shape) / 4 + 1j * draw.integers(-8, 8, shape)).astype(dtype)
    return np.asarray(draw.integers(-8, 8, shape) / 4).astype(dtype if dtype != "bfloat16" else "float32")


def tensor(array, dtype):
    return tl.from_numpy(np.array(array)).to(getattr(tl, dtype)).reshape(array.shape)


def check(result, expected, dtype):
    if dtype == "bfloat16":
        result = result.float()
    tolerance = TOLERANCE.get(dtype, 0)
    np.testing.assert_allclose(result.numpy(), expected, rtol=tolerance, atol=tolerance)


def reduced(name, arrays):
    stack = np.stack(arrays)
    is_bool = stack.dtype == bool
    functions = {
        "SUM": lambda: stack.any(0) if is_bool else stack.sum(0, dtype=stack.dtype),
        "PRODUCT": lambda: stack.all(0) if is_bool else stack.prod(0, dtype=stack.dtype),
        "MIN": lambda: stack.min(0),
        "MAX": lambda: stack.max(0),
        "AVG": lambda: stack.mean(0),
        "BXOR": lambda: np.bitwise_xor.reduce(stack, 0),
    }
    return functions[name]()


def reductions_of(dtype):
    if "complex" in dtype:
        return ["SUM", "AVG"]
    return ["SUM", "PRODUCT", "MIN", "AVG"] if "float" in dtype else ["SUM", "MAX", "BXOR"]


def check_reductions(rank, size, dtype, shape):
    for name in reductions_of(dtype):
        op, arrays = getattr(R, name), [numbers(dtype, r, shape) for r in range(size)]
        x = tensor(arrays[rank], dtype)
        dist.all_reduce(x, op)
        check(x, reduced(name, arrays), dtype)
        root = size - 1 if name == "SUM" else 1
        x = tensor(arrays[rank], dtype)
        dist.reduce(x, root, op)
        check(x, reduced(name, arrays) if rank == root else arrays[rank], dtype)
        parts = [[numbers(dtype, 10 * r + i, shape) for r in range(size)] for i in range(size)]
        x = tensor(np.zeros(shape), dtype)
        dist.reduce_scatter(x, [tensor(part[rank], dtype) for part in parts], op)
        check(x, reduced(name, parts[rank]), dtype)


def check_copies(rank, size, dtype, shape):
    def zeros():
        return tensor(np.zeros(shape), dtype)

    own = [numbers(dtype, r, shape) for r in range(size)]
    outputs = [zeros() for _ in range(size)]
    dist.all_gather(outputs, tensor(own[rank], dtype))
    for i, output in enumerate(outputs):
        check(output, own[i], dtype)
    for root in (0, size - 1):
        x = tensor(own[rank], dtype)
        dist.broadcast(x, root)
        check(x, own[root], dtype)
        outputs = [zeros() for _ in range(size)] if rank == root else None
        dist.gather(tensor(own[rank], dtype), outputs, root)
        for i, output in enumerate(outputs or ()):
            check(output, own[i], dtype)
        x = zeros()
        dist.scatter(x, [tensor(array, dtype) for array in own] if rank == root else None, root)
        check(x, own[rank], dtype)
    outputs = [zeros() for _ in range(size)]
    dist.all_to_all(outputs, [tensor(numbers(dtype, 10 * rank + i, shape), dtype) for i in range(size)])
    for i, output in enumerate(outputs):
        check(output, numbers(dtype, 10 * i + rank, shape), dtype)
    x = zeros()
    works = [dist.isend(tensor(own[rank], dtype), (rank + 1) % size), dist.irecv(x, (rank - 1) % size)]
    for work in works:
        work.wait()
    check(x, own[rank - 1], dtype)
    dist.barrier()


def check_operations(ranks, layout, dtypes):
    """All operations of ranks on machines, beside numpy."""
    size = len(layout)

    def body(rank):
        for dtype in dtypes:
            for shape in SHAPES:
                check_reductions(rank, size, dtype, shape)
                check_copies(rank, size, dtype, shape)

    ranks(size, body, timeout=60)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_operations_beside_numpy(ranks, machines, layout):
    machines(layout)
    check_operations(ranks, layout, DTYPES[LAYOUTS.index(layout) :: len(LAYOUTS)])


@pytest.mark.parametrize("layout", ["aabb", "abbb"])
def test_uneven_exchanges_and_pieces(ranks, machines, layout):
    machines(layout)
    size = len(layout)

    def body(rank):
        rows, columns = [rank + i for i in range(size)], [i + rank for i in range(size)]
        x = tl.arange(float(sum(rows) * 3)).view(-1, 3) + 1000 * rank
        output = tl.zeros(sum(columns), 3)
        dist.all_to_all_single(output, x, columns, rows)
        expected = []
        for r in range(size):
            whole = np.arange(sum(r + i for i in range(size)) * 3.0).reshape(-1, 3) + 1000 * r
            begin = sum(r + i for i in range(rank))
            expected.append(whole[begin : begin + r + rank])
        np.testing.assert_array_equal(output.numpy(), np.concatenate(expected))
        x = tl.arange(20.0).view(4, 5).t()
        dist.all_reduce(x)
        np.testing.assert_array_equal(x.numpy(), np.arange(20.0).reshape(4, 5).T * size)
        several = [tl.full((n,), float(rank)) for n in (3, 0, 70_001, 1, 300_000)]
        dist.group.WORLD.communicator().broadcast_coalesced(several, size - 1).wait()
        for each in several:
            assert (each.numpy() == size - 1).all()

    ranks(size, body)


def test_sums_are_equal_in_bits_on_all_ranks(ranks, machines):
    machines("aabb")

    def body(rank):
        found = []
        for count in (100, 9_001, 1_300_001):
            x = tl.from_numpy(np.random.default_rng(rank).standard_normal(count).astype(np.float32))
            dist.all_reduce(x)
            found.append(x.numpy().copy())
        return found

    results = ranks(4, body)
    for index, count in enumerate((100, 9_001, 1_300_001)):
        own = [np.random.default_rng(r).standard_normal(count).astype(np.float32) for r in range(4)]
        for result in results:  # of a machine first, then of the machines
            np.testing.assert_array_equal(result[index], (own[0] + own[1]) + (own[2] + own[3]))


def test_tensors_in_the_arena_are_reduced_there(ranks, machines):
    machines("aabb")

    def body(rank):
        native = dist.group.WORLD.communicator().native
        x = native.arena_empty(1_200_001, tl.empty(0))
        for _ in range(3):
            x.copy_(tl.arange(1_200_001.0) + rank)
            dist.all_reduce(x)
            np.testing.assert_array_equal(x.numpy(), np.arange(1_200_001, dtype=np.float32) * 4 + 6)
        if rank != 1:  # one rank's tensor lies elsewhere
            y = native.arena_empty(100_000, tl.empty(0)).fill_(1)
        else:
            y = tl.ones(100_000)
        dist.all_reduce(y)
        assert (y.numpy() == 4).all()

    ranks(4, body)


def sent():
    return dist.group.WORLD.communicator().native.sent()


@pytest.mark.parametrize(
    ("operation", "tensors"),
    [("all_reduce", 1.0), ("all_gather", 2.0), ("reduce_scatter", 0.5), ("broadcast", 1.0)],
)
def test_bytes_that_a_machine_sends(ranks, machines, operation, tensors):
    """Two machines with two ranks: no byte is sent twice. `reduce_scatter` is counted in whole inputs."""
    machines("aabb")
    count = 2_000_000

    def body(rank):
        x = tl.ones(count)
        calls = {
            "all_reduce": lambda: dist.all_reduce(x),
            "all_gather": lambda: dist.all_gather_into_tensor(tl.empty(4 * count), x),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(tl.empty(count // 4), x),
            "broadcast": lambda: dist.broadcast(x, 0),
        }
        _, before = sent()
        calls[operation]()
        return sent()[1] - before

    results = ranks(4, body)
    worst = max(results[0] + results[1], results[2] + results[3])
    assert worst / (4 * count) == pytest.approx(tensors, rel=0.02)


def test_messages_of_a_small_sum_on_many_machines(ranks, machines):
    """16 machines with 2 ranks: a message for each doubling, and connections for no more than that."""
    machines("".join(chr(ord("a") + i // 2) for i in range(32)))

    def body(rank):
        dist.all_reduce(tl.ones(256))
        before, _ = sent()
        x = tl.full((256,), float(rank))
        dist.all_reduce(x)
        assert (x.numpy() == sum(range(32))).all()
        return sent()[0] - before

    assert max(ranks(32, body, timeout=60)) == 4


def test_rings_and_trees_beyond_eight_machines(ranks, machines):
    layout = "".join(chr(ord("a") + i) * (2 if i < 2 else 1) for i in range(9))
    machines(layout)
    size = len(layout)

    def body(rank):
        for dtype, shape in (("float32", (5,)), ("int64", (33, 7)), ("float64", (90_001,))):
            check_reductions(rank, size, dtype, shape)
            check_copies(rank, size, dtype, shape)

    ranks(size, body, timeout=60)


def test_a_flat_network_beyond_eight_ranks(ranks, monkeypatch):
    monkeypatch.setenv("TL_DISTRIBUTED_TRANSPORT", "tcp")

    def body(rank):
        for dtype, shape in (("float32", (5,)), ("bfloat16", (33, 7)), ("float64", (90_001,))):
            check_reductions(rank, 9, dtype, shape)
            check_copies(rank, 9, dtype, shape)

    ranks(9, body, timeout=60)


def test_ranks_that_differ(ranks, machines):
    """Another size or operation on one machine fails on all ranks, with both calls."""
    machines("aabb")
    calls = {
        "size": lambda rank: dist.all_reduce(tl.ones(3 + (rank > 1))),
        "operation": lambda rank: dist.all_reduce(tl.ones(3)) if rank < 2 else dist.broadcast(tl.ones(3), 0),
        "one rank": lambda rank: dist.all_reduce(tl.ones(70_000 + (rank == 3))),
        "root": lambda rank: dist.broadcast(tl.ones(3), rank // 2),
        "parts": lambda rank: dist.all_to_all_single(
            tl.empty(8), tl.ones(8), None, [2, 2, 1, 3] if rank == 0 else None
        ),
    }
    sizes = "rank 0 .* sends (4|12) bytes to rank [23] .*, which expects 8"
    for name, call in calls.items():
        expected = sizes if name == "parts" else "disagree: rank"

        def body(rank, call=call, pattern=expected):
            with pytest.raises(dist.DistBackendError, match=pattern):
                call(rank)
                dist.barrier()

        ranks(4, body)


def test_subgroups_lie_on_the_machines_of_their_ranks(ranks, machines):
    machines("aabb")

    def body(rank):
        for members in ([0, 1], [1, 2], [0, 1, 2], [3, 0, 2, 1]):
            group = dist.new_group(members)
            if rank in members:
                x = tl.full((4,), float(rank))
                dist.all_reduce(x, group=group)
                assert x.tolist() == [float(sum(members))] * 4

    ranks(4, body)


def test_machines_are_in_the_order_of_their_first_ranks():
    assert machines_of(["b", "a", "b", "c", "a"]) == [[0, 2], [1, 4], [3]]


def test_detail_compares_calls_first(ranks, machines, monkeypatch):
    machines("aab")
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "DETAIL")
    monkeypatch.setattr("tl_distributed.backends.machines.compares_all", lambda: True)

    def body(rank):
        x = tl.ones(5)
        dist.all_reduce(x)
        dist.broadcast(x, 2)
        assert x.tolist() == [3.0] * 5

    ranks(3, body)
