"""Collectives in a world of one: each is a copy, or nothing, and checks what it is given."""

from __future__ import annotations

from datetime import timedelta

import pytest

import tl_core as tl
import tl_distributed as dist

pytestmark = pytest.mark.usefixtures("world")
DTYPES = [tl.float32, tl.float64, tl.float16, tl.bfloat16, tl.int8, tl.uint8, tl.int64, tl.bool, tl.complex64]
SHAPES = [(), (0,), (3,), (2, 0, 3), (2, 3)]
X = [1.0, 2.0, 3.0]


def x():
    return tl.tensor(X)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_type_and_shape(dtype, shape):
    value = tl.ones(shape, dtype=dtype)
    for out in (tl.zeros(shape, dtype=dtype), tl.zeros((*shape, 2), dtype=dtype)[..., 1]):
        dist.all_reduce(value)
        dist.broadcast(value, 0)
        dist.reduce(value, 0)
        for collect in (
            lambda: dist.all_gather([out], value),  # noqa: B023 - called in this turn
            lambda: dist.gather(value, [out]),  # noqa: B023
            lambda: dist.scatter(out, [value]),  # noqa: B023
            lambda: dist.reduce_scatter(out, [value]),  # noqa: B023
            lambda: dist.all_to_all([out], [value]),  # noqa: B023
        ):
            out.zero_()
            assert collect() is None
            assert out.dtype == dtype and tl.equal(out, tl.ones(shape, dtype=dtype))


@pytest.mark.parametrize(
    "op", [dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.PRODUCT, dist.ReduceOp.MAX]
)
def test_a_reduction_of_one_tensor_is_the_tensor(op):
    value = x()
    dist.all_reduce(value, op)
    dist.reduce(value, 0, op)
    out = tl.zeros(3)
    dist.reduce_scatter_tensor(out, value, op)
    assert value.tolist() == out.tolist() == X


def test_whole_tensors_are_joined_or_stacked():
    for shape in ((3,), (1, 3)):
        out = tl.zeros(shape)
        dist.all_gather_into_tensor(out, x())
        assert out.flatten().tolist() == X
        out = tl.zeros(3)
        dist.reduce_scatter_tensor(out, x().view(shape))
        assert out.tolist() == X
    out = tl.zeros(0, 2)
    dist.all_gather_into_tensor(out, tl.zeros(0, 2))
    scalar = tl.zeros(1)
    dist.all_gather_into_tensor(scalar, tl.tensor(4.0))
    assert scalar.tolist() == [4]


def test_all_to_all_single():
    out = tl.zeros(3)
    dist.all_to_all_single(out, x())
    assert out.tolist() == X
    out.zero_()
    dist.all_to_all_single(out, x(), [3], [3])
    assert out.tolist() == X


@pytest.mark.parametrize(
    "begin",
    [
        lambda: dist.all_reduce(x(), async_op=True),
        lambda: dist.broadcast(x(), 0, async_op=True),
        lambda: dist.all_gather([x()], x(), async_op=True),
        lambda: dist.gather(x(), [x()], async_op=True),
        lambda: dist.scatter(x(), [x()], async_op=True),
        lambda: dist.reduce_scatter_tensor(x(), x(), async_op=True),
        lambda: dist.all_to_all([x()], [x()], async_op=True),
    ],
)
def test_handles(begin):
    work = begin()
    assert work.wait() is True
    assert work.is_completed() and work.is_success() and work.exception() is None
    work.synchronize()
    assert [t.tolist() for t in work.result()] == [X]
    assert [t.tolist() for t in work.get_future().wait()] == [X]
    with pytest.raises(RuntimeError, match="recv only"):
        work.source_rank()


def test_barriers(world):
    assert dist.barrier() is None
    assert dist.barrier(device_ids=[0]) is None
    assert dist.barrier(timeout=timedelta(seconds=1)) is None
    assert dist.barrier(async_op=True).wait() is True
    assert dist.monitored_barrier(wait_all_ranks=True) is None
    assert dist.barrier(group=world) is None
    with pytest.raises(TypeError, match="device_ids must be a list of int, got int"):
        dist.barrier(device_ids=0)


def test_the_groups_own_methods(world):
    value = x()
    assert world.allreduce([value]).wait() and world.allreduce(value).result()[0] is value
    assert world.broadcast([value]).wait() and world.barrier().wait()
    with pytest.raises(ValueError, match="expected one tensor, got 2"):
        world.allreduce([value, value])


def test_gradients_are_not_recorded():
    pytest.importorskip("tl_autograd")
    leaf = tl.ones(3).requires_grad_()
    before = leaf._version
    dist.scatter(leaf, [x()])
    assert leaf.tolist() == X and leaf.is_leaf and leaf._version > before


I = tl.ones(3, dtype=tl.int32)  # noqa: E741
C = tl.ones(3, dtype=tl.complex64)
R = dist.ReduceOp


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: dist.all_reduce(3), TypeError, "tensor must be a Tensor, got int"),
        (lambda: dist.all_reduce(x(), "sum"), TypeError, "op must be a ReduceOp"),
        (lambda: dist.all_reduce(x(), R.BAND), RuntimeError, "BAND with torch.float32"),
        (lambda: dist.all_reduce(I, R.AVG), RuntimeError, "AVG with torch.int32"),
        (lambda: dist.all_reduce(C, R.MAX), ValueError, "RedOpType.MAX on complex"),
        (lambda: dist.all_reduce(x(), R.PREMUL_SUM), NotImplementedError, "PREMUL_SUM"),
        (lambda: dist.all_reduce(tl.ones(2, device="meta")), RuntimeError, "no backend for meta tensors"),
        (lambda: dist.broadcast(x()), ValueError, "Must specify"),
        (lambda: dist.broadcast(x(), 0, group_src=0), ValueError, "Can't specify both"),
        (lambda: dist.broadcast(x(), 1), RuntimeError, "invalid root rank: 1"),
        (lambda: dist.broadcast(x(), group_src=1), RuntimeError, "invalid root rank: 1"),
        (lambda: dist.reduce(x(), 1), RuntimeError, "invalid root rank: 1"),
        (lambda: dist.all_gather(x(), x()), TypeError, "tensor_list must be a list of Tensor, got Tensor"),
        (lambda: dist.all_gather([3], x()), TypeError, r"tensor_list\[0\] must be a Tensor, got int"),
        (lambda: dist.all_gather([x(), x()], x()), RuntimeError, "has 2 tensors, the group 1 members"),
        (lambda: dist.all_gather([tl.zeros(4)], x()), RuntimeError, r"has the size \(4,\), needs \(3,\)"),
        (lambda: dist.all_gather([I], x()), ValueError, "one dtype, got torch.float32 and torch.int32"),
        (lambda: dist.all_gather_into_tensor(tl.zeros(4), x()), RuntimeError, r"needs 1 times \(3,\)"),
        (lambda: dist.all_gather_into_tensor(I, x()), ValueError, "one dtype"),
        (lambda: dist.gather(x()), ValueError, "must be specified on destination rank"),
        (lambda: dist.gather(x(), [x(), x()]), RuntimeError, "has 2 tensors"),
        (lambda: dist.scatter(x()), ValueError, "must be specified on source rank"),
        (lambda: dist.scatter(x(), [tl.zeros(4)]), RuntimeError, r"has the size \(4,\)"),
        (lambda: dist.reduce_scatter(x(), [x(), x()]), RuntimeError, "has 2 tensors"),
        (lambda: dist.reduce_scatter_tensor(x(), tl.zeros(4)), RuntimeError, r"needs 1 times \(3,\)"),
        (lambda: dist.all_to_all([x(), x()], [x()]), RuntimeError, "has 2 tensors"),
        (lambda: dist.all_to_all([], []), RuntimeError, "empty"),
        (lambda: dist.all_to_all_single(x(), x(), [2], [3]), RuntimeError, r"Split sizes \[2\]"),
        (lambda: dist.all_to_all_single(x(), x(), [2, 1], [3]), RuntimeError, "has 2 sizes"),
        (lambda: dist.all_to_all_single(tl.ones(()), tl.ones(())), RuntimeError, "no dimension"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_operations_have_names():
    assert repr(R.SUM) == "<RedOpType.SUM: 0>" and str(R.SUM) == "RedOpType.SUM"
    assert R(R.MAX) is R.MAX and R.RedOpType.MAX is R.MAX
    assert dist.supports_complex(R.SUM) and not dist.supports_complex(R.MIN)
    with pytest.warns(FutureWarning, match="deprecated"):
        assert dist.reduce_op.SUM is R.SUM


def test_products_with_a_factor_belong_to_nccl():
    from tl_distributed.base.reduction import _make_nccl_premul_sum

    assert _make_nccl_premul_sum(2.0) == _make_nccl_premul_sum(tl.tensor(2.0)) == dist.ReduceOp.PREMUL_SUM
    with pytest.raises(TypeError, match="factor"):
        _make_nccl_premul_sum("2")


def test_a_received_tensor_is_complete_when_its_handle_says_so(ranks):
    def body(rank):
        for number in range(300):
            if rank == 0:
                dist.isend(tl.full((4, 3), float(number + 1)), 1).wait()
                continue
            target = tl.zeros(3, 4).t()  # not contiguous, so the message is copied at its end
            dist.irecv(target, 0).wait()
            version = target._version
            assert target.tolist() == [[number + 1.0] * 3] * 4
            plain = target.clone()
            assert target._version == version and plain._version == 0

    ranks(2, body)
