"""Results of functional collectives that wait when they are read."""

from __future__ import annotations

import threading

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed.base.work import Work
from tl_distributed.nn import functional_collectives as funcol
from tl_distributed.nn.async_collective_tensor import AsyncCollectiveTensor
from tl_distributed.tensor import DTensor, Replicate, Shard, distribute_tensor


class Late(Work):
    """A collective that ends at a signal of the test, and then writes its result."""

    def __init__(self, target):
        super().__init__([target])
        self.target, self.go = target, threading.Event()
        self.waits = 0

    def wait(self, timeout=None):
        self.waits += 1
        assert self.go.wait(10)
        self.target.fill_(7)
        return True


READERS = {
    "an operator": lambda x: (x + 1).tolist(),
    "an operator in place": lambda x: tl.ones(2).add_(x, alpha=1).tolist(),
    "an argument in a list": lambda x: tl.cat([tl.ones(2), x])[2:].add(1).tolist(),
    "a view": lambda x: (x.view(2, 1).reshape(-1) + 1).tolist(),
    "an element": lambda x: [x[0].item() + 1, float(x[1]) + 1],
    "wait": lambda x: (x.wait() + 1).tolist(),
    "trigger_wait": lambda x: (x.trigger_wait() + 1).tolist(),
    "wait_tensor": lambda x: (funcol.wait_tensor(x) + 1).tolist(),
    "a list": lambda x: [value + 1 for value in x.tolist()],
    "numpy": lambda x: (x.numpy() + 1).tolist(),
    "its text": lambda x: [8, 8] if "tensor([7., 7.])" in repr(x) else repr(x),
}


@pytest.mark.parametrize("name", READERS)
def test_a_result_waits_once_when_it_is_read(name):
    if name == "numpy":
        pytest.importorskip("numpy")
    target = tl.zeros(2)
    work = Late(target)
    result = AsyncCollectiveTensor(target, work)
    assert not result.completed and work.waits == 0 and result.shape == (2,) and result.dtype is tl.float32
    work.go.set()
    assert READERS[name](result) == [8, 8] and result.completed and work.waits == 1
    assert READERS[name](result) == [8, 8] and work.waits == 1


def test_collectives_return_before_the_others_call(ranks):
    """Rank 1 calls after rank 0 has returned: a function that waited would never let it."""
    returned = threading.Event()

    def body(rank):
        if rank == 1:
            assert returned.wait(10)
        x = tl.full((2, 2), rank + 1.0)
        group = dist.group.WORLD
        pending = [
            funcol.all_reduce(x, "sum", group),
            funcol.all_gather_tensor(x, 0, group),
            funcol.reduce_scatter_tensor(x, "sum", 0, group),
            funcol.broadcast(x, 1, group),
            funcol.all_to_all_single(x, None, None, group),
            funcol.permute_tensor(x, [1, 0], group),
            *funcol.all_reduce_coalesced([x, 2 * x], "max", group),
            *funcol.all_gather_into_tensor_coalesced([x], group),
            *funcol.reduce_scatter_tensor_coalesced([x], "sum", [1], group),
        ]
        if rank == 0:
            assert not any(result.completed for result in pending)
            returned.set()
        assert all(type(result) is AsyncCollectiveTensor for result in pending)
        return [result.tolist() for result in pending]

    first, second = ranks(2, body)
    both = [[1, 1], [1, 1], [2, 2], [2, 2]]
    assert first[:4] == [[[3, 3]] * 2, both, [[3, 3]], [[2, 2]] * 2]
    assert first[4:6] == [[[1, 1], [2, 2]], [[2, 2]] * 2] and second[5] == [[1, 1]] * 2
    assert first[6:] == [[[2, 2]] * 2, [[4, 4]] * 2, both, [[3], [3]]]


def test_results_of_tensors_with_gradients(ranks):
    def body(rank):
        grads = []
        for call in (
            lambda x: funcol.all_reduce(x, "sum", None),
            lambda x: funcol.all_gather_tensor(x, 0, None),
            lambda x: funcol.reduce_scatter_tensor(x, "sum", 0, None),
            lambda x: funcol.all_to_all_single(x, None, None, None),
            lambda x: funcol.permute_tensor(x, [1, 0], None),
        ):
            for read in (lambda y: y * (rank + 1.0), lambda y: y.wait() * (rank + 1.0)):
                x = tl.tensor([1.0, 2.0], requires_grad=True)
                y = call(x)
                assert type(y) is AsyncCollectiveTensor and y.requires_grad
                read(y).sum().backward()
                grads.append(x.grad.tolist())
        return grads

    first, second = ranks(2, body)
    assert first[::2] == first[1::2] and second[::2] == second[1::2]
    assert first[::2] == [[3, 3], [3, 3], [1, 2], [1, 2], [2, 2]]
    assert second[::2] == [[3, 3], [3, 3], [1, 2], [1, 2], [1, 1]]


def test_numbers_of_dimensions_that_do_not_fit(world):
    with pytest.raises(ValueError, match="expected 1 dimensions, got 2"):
        funcol.reduce_scatter_tensor_coalesced([tl.ones(2)], "sum", [0, 0], dist.group.WORLD)


def test_pending_parts_of_distributed_tensors(ranks):
    released = threading.Event()

    def body(rank):
        if rank == 1:
            assert released.wait(10)
        x = distribute_tensor(
            tl.arange(6.0), dist.init_device_mesh("cpu", (2,)), [Shard(0)], src_data_rank=None
        )
        moved = x.redistribute(placements=[Replicate()], async_op=True)
        if rank == 0:
            released.set()
        part = moved.to_local()
        assert type(part) is AsyncCollectiveTensor
        assert (moved * 2).to_local().tolist() == [0, 2, 4, 6, 8, 10]
        assert moved.full_tensor().tolist() == part.wait().tolist() == [0, 1, 2, 3, 4, 5]
        assert type(DTensor.from_local(part, x.device_mesh).to_local()) is tl.Tensor

    ranks(2, body)
