"""Views of distributed tensors share the elements of the base, and gradients of writes reach the right elements."""

from __future__ import annotations

import copy
import math
import pickle

import pytest

import tl_core as tl
from tl_core.testing import assert_close
from tl_distributed.groups.device_mesh import init_device_mesh
from tl_distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

PLACEMENTS = [Shard(0), Shard(1), Replicate()]


def grid(*shape):
    return tl.arange(1.0, 1.0 + tl.Size(shape).numel()).reshape(shape)


def shards(placement, *shape, requires_grad=False):
    mesh = init_device_mesh("cpu", (2,))
    return distribute_tensor(grid(*shape), mesh, [placement]).requires_grad_(requires_grad)


def write_row(x):
    x[0] = 7.0


def copy_row(x):
    x[0].copy_(x[3])


def write_column(x):
    x[:, 1].mul_(-1)


def write_block(x):
    x.narrow(0, 1, 2).narrow(1, 0, 1).zero_()


def write_flat(x):
    x.view(-1)[2:7].add_(10)


def write_part(x):
    x.chunk(3, 0)[1].fill_(5.0)


def write_all_rows(x):
    for i, row in enumerate(x.unbind(0)):
        row.add_(i)


def write_list(x):
    tl._foreach_mul_([x[0], x[2]], 3.0)


def write_result(x):
    tl.add(x[0], x[1], out=x[3])


WRITES = [
    write_row,
    copy_row,
    write_column,
    write_block,
    write_flat,
    write_part,
    write_all_rows,
    write_list,
    write_result,
]


@pytest.mark.parametrize("write", WRITES)
def test_writes_to_views_reach_the_tensor(ranks, write):
    def body(rank):
        for shape in ((4, 3), (5, 2)):
            expected = grid(*shape)
            write(expected)
            for placement in PLACEMENTS:
                x = shards(placement, *shape)
                write(x)
                assert x.full_tensor().tolist() == expected.tolist(), placement
                assert x.placements == (placement,)

    ranks(2, body)


def test_writes_to_the_tensor_reach_views(ranks):
    def body(rank):
        x = shards(Shard(0), 4, 3)
        row, flat = x[1], x.view(-1)
        element = row[2]
        x.mul_(2)
        assert row.full_tensor().tolist() == [8.0, 10.0, 12.0] and element.full_tensor().item() == 12.0
        row.zero_()
        assert flat.full_tensor().tolist()[:6] == [2.0, 4.0, 6.0, 0.0, 0.0, 0.0]
        element.fill_(1.0)
        assert (x.sum().full_tensor().item(), (row + 1).full_tensor().tolist()) == (127.0, [1.0, 1.0, 2.0])

    ranks(2, body)


def test_a_view_is_a_distributed_tensor(ranks):
    def body(rank):
        x = shards(Shard(0), 4, 3)
        row = x[1]
        row_copy = copy.deepcopy(row)
        row_copy.zero_()
        assert type(row + 1) is DTensor and isinstance(row, DTensor) and repr(row).startswith("DTensor(local")
        assert x.full_tensor().tolist() == grid(4, 3).tolist()
        assert type(copy.deepcopy(row)) is DTensor
        assert row.detach().clone().full_tensor().tolist() == [4.0, 5.0, 6.0]
        assert row.to_local().tolist() == [4.0, 5.0, 6.0]

    ranks(2, body)


def test_a_view_in_a_pickle(world):
    row = distribute_tensor(grid(4, 3), init_device_mesh("cpu", (1,)), [Shard(0)])[1]
    assert pickle.loads(pickle.dumps(row.to_local())).tolist() == [4.0, 5.0, 6.0]


def test_views_of_terms_are_not_written(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        x = DTensor.from_local(grid(4, 3), mesh, [Partial()])
        with pytest.raises(NotImplementedError, match="Partial"):
            x[0].fill_(1.0)

    ranks(2, body)


def halve_after_view(x):
    full = x * 2
    last = full[-1]
    full.mul_(0.5)
    return last


def scale_columns(x):
    full = x * 2
    full[:, 1:].mul_(3)
    return full


def add_rows(x):
    full = x * 2
    first, second = full[0], full[1]
    first.mul_(3)
    second.add_(first)
    return full


def write_in_run(x):
    full = x * 2
    run = full.reshape(-1)[2:5]
    full.add_(1)
    run.mul_(2)
    return full


def overwrite_row(x):
    full = x * 2
    full[2] = 7.0
    return full


@pytest.mark.parametrize("function", [halve_after_view, scale_columns, add_rows, write_in_run, overwrite_row])
def test_gradients_of_writes_to_views(ranks, function):
    def body(rank):
        plain = grid(4, 3).requires_grad_()
        (function(plain) ** 2).sum().backward()
        for placement in PLACEMENTS:
            x = shards(placement, 4, 3, requires_grad=True)
            (function(x) ** 2).sum().full_tensor().backward()
            assert_close(x.grad.full_tensor(), plain.grad)

    ranks(2, body)


def test_offsets_of_views(ranks):
    def body(rank):
        x = shards(Shard(1), 4, 3)
        for _ in range(2):  # the second call has a plan
            assert [x[2].storage_offset(), x[2][1].storage_offset(), x[1:].storage_offset()] == [6, 7, 3]
            assert [part.storage_offset() for part in x.unbind(0)] == [0, 3, 6, 9]
            assert (x[2] + 1).storage_offset() == 0

    ranks(2, body)


def test_views_of_one_element_and_of_whole_windows(ranks):
    def body(rank):
        x = shards(Shard(1), 4, 1, requires_grad=True)  # the second rank has no elements
        y = x.unsqueeze(1)
        assert y.placements == (Shard(2),) and y.full_tensor().tolist() == grid(4, 1).unsqueeze(1).tolist()
        x.median(1)[0].sum().full_tensor().backward()
        assert x.grad.full_tensor().tolist() == [[1.0]] * 4
        windows = shards(Shard(0), 2, 3).unfold(0, 2, 1)
        assert windows.full_tensor().tolist() == grid(2, 3).unfold(0, 2, 1).tolist()

    ranks(2, body)


def test_gradients_in_two_layouts_are_added(ranks):
    def body(rank):
        for order in (1, -1):
            x = shards(Shard(0), 2, 3, requires_grad=True)
            mean = x.mean(0)  # terms of an average, as the gradient of its square
            parts = [lambda v: (v * v).sum(), lambda v: v.erf().sum()][::order]
            sum(part(mean) for part in parts).full_tensor().backward()
            full = grid(2, 3).mean(0)
            derivative = 2 * full + 2 / math.sqrt(math.pi) * (-full * full).exp()
            assert_close(x.grad.full_tensor(), (derivative / 2).expand(2, 3))

    ranks(2, body)
