"""Calls with distributed tensors that run by a plan: without Python, and with the results of the first call."""

from __future__ import annotations

import copy
import pickle

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_core.subclasses.python_dispatch import TorchDispatchMode
from tl_core.testing import assert_close
from tl_distributed.groups.device_mesh import init_device_mesh
from tl_distributed.tensor import DTensor, Partial, Replicate, Shard, dispatch, distribute_tensor
from tl_distributed.tensor.experimental import implicit_replication, register_sharding
from tl_distributed.tensor.parallel import loss_parallel
from tl_distributed.tensor.strategies import REGISTERED


@pytest.fixture
def asked(monkeypatch):
    """The operators whose handler ran, on all ranks."""
    records = []
    call = dispatch.call

    def recorded(func, args, kwargs, kind):
        records.append(str(func))
        return call(func, args, kwargs, kind)

    monkeypatch.setattr(dispatch, "call", recorded)
    return records


def grid(*shape):
    return tl.arange(float(tl.zeros(shape).numel())).reshape(shape)


CALLS = {
    "add": (lambda x: x + x, [Shard(0)]),
    "number": (lambda x: (x * 2 + 1.5).relu(), [Shard(1)]),
    "mean": (lambda x: x.mean(dim=1, keepdim=True), [Shard(0)]),
    "terms": (lambda x: x.sum(), [Shard(0)]),
    "view": (lambda x: x.t().unsqueeze(0), [Shard(1)]),
    "several": (lambda x: x.max(dim=0)[1], [Shard(1)]),
    "list": (lambda x: tl.stack([x, x])[1], [Shard(0)]),
    "pieces": (lambda x: x.split(2, dim=0)[0], [Shard(1)]),
    "sizes": (lambda x: x.sum(0).expand(5, 4), [Shard(1)]),
    "moved": (lambda x: x.softmax(0), [Shard(0)]),
    "write": (lambda x: x.clone().mul_(3), [Shard(0)]),
    "product": (lambda x: x @ x.t(), [Replicate()]),
}


@pytest.mark.parametrize("name", CALLS)
def test_later_calls_have_the_results_of_the_first(ranks, name):
    function, placements = CALLS[name]

    def body(rank):
        mesh = init_device_mesh("cpu", (3,))
        x = distribute_tensor(grid(7, 4), mesh, placements)
        first = function(x)
        for _ in range(2):
            later = function(x)
            assert later.placements == first.placements and later.dtype == first.dtype
            assert later.shape == first.shape and later.stride() == first.stride()
            assert later.to_local().tolist() == first.to_local().tolist()
            assert_close(later.full_tensor(), function(grid(7, 4)))

    ranks(3, body)


def test_a_step_of_training_asks_no_handler_again(world, asked):
    mesh = init_device_mesh("cpu", (1,))
    weight = grid(4, 4)
    w = distribute_tensor(weight, mesh, [Replicate()]).requires_grad_()
    x = distribute_tensor(grid(2, 4), mesh, [Replicate()])
    counts = []
    for _ in range(3):
        w.grad = None
        asked.clear()
        (x @ w).relu().pow(2).sum().backward()
        counts.append(len(asked))
    assert counts[0] > 0 and counts[1:] == [0, 0], asked
    plain = weight.clone().requires_grad_()
    (grid(2, 4) @ plain).relu().pow(2).sum().backward()
    assert w.grad.to_local().tolist() == plain.grad.tolist()


def test_gradients_of_pieces(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        plain = grid(5, 3).requires_grad_()
        (plain * plain).sum().backward()
        for _ in range(3):
            x = distribute_tensor(grid(5, 3), mesh, [Shard(0)]).requires_grad_()
            y = x * x
            assert y.requires_grad and not y.is_leaf
            y.sum().backward()
            assert x.grad.placements == (Shard(0),)
            assert x.grad.full_tensor().tolist() == plain.grad.tolist()
        with tl.no_grad():
            assert not (x * x).requires_grad

    ranks(2, body)


def test_other_dtypes_layouts_and_sizes_are_other_calls(world, asked):
    mesh = init_device_mesh("cpu", (1,))
    for dtype in (tl.float32, tl.float64, tl.int64, tl.bfloat16):
        for value in (grid(4, 3), grid(4, 3).t(), grid(3), grid(0, 2), tl.tensor(2.0)):
            for placement in (Replicate(), Shard(0), Partial()):
                if placement == Shard(0) and value.dim() == 0:
                    continue
                plain = value.to(dtype)
                x = DTensor.from_local(plain, mesh, [placement])
                first = x + x
                for _ in range(2):
                    y = x + x
                    assert y.dtype == dtype and y.placements == first.placements
                    assert y.to_local().tolist() == (plain + plain).tolist()
                    assert y.to_local().stride() == (plain + plain).stride()


def test_writes_and_views(world):
    mesh = init_device_mesh("cpu", (1,))
    x = distribute_tensor(grid(4, 3), mesh, [Shard(0)])
    for count in range(1, 4):
        version = x._version
        assert x.add_(1) is x and x._version > version
        assert x.to_local().tolist() == (grid(4, 3) + 2 * count - 1).tolist()
        view = x.t()
        assert view._base is x and view.placements == (Shard(1),)
        view.add_(1)
        assert x.to_local().tolist() == (grid(4, 3) + 2 * count).tolist()
    leaf = distribute_tensor(grid(3), mesh, [Shard(0)]).requires_grad_()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="leaf"):
            leaf.add_(1)


def test_modes_see_operators_with_plans(world):
    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    mesh = init_device_mesh("cpu", (1,))
    x = distribute_tensor(grid(4, 4), mesh, [Shard(0)])
    x + x
    for _ in range(2):
        names: list[str] = []
        with Seen():
            y = x + x
        assert y.to_local().tolist() == (grid(4, 4) * 2).tolist()
        assert names == ["aten.add.Tensor"]


def test_a_plain_tensor_beside_is_refused_after_the_block(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(grid(4), mesh, [Shard(0)])
        for _ in range(2):
            x + x
            with implicit_replication():
                assert (x + grid(4)).full_tensor().tolist() == (grid(4) * 2).tolist()
            with pytest.raises(RuntimeError, match=r"mixed torch\.Tensor and DTensor"):
                x + grid(4)

    ranks(2, body)


def test_losses_of_classes_that_are_cut(ranks):
    target = tl.tensor([0, 3, 1])

    def body(rank):
        from tl_nn import functional as F

        mesh = init_device_mesh("cpu", (2,))
        scores = distribute_tensor(grid(3, 4).sin(), mesh, [Shard(1)])
        goal = distribute_tensor(target, mesh, [Replicate()])
        expected = F.cross_entropy(grid(3, 4).sin(), target)
        for _ in range(3):
            assert_close(F.cross_entropy(scores, goal).full_tensor(), expected)
            with loss_parallel():
                assert_close(F.cross_entropy(scores, goal).full_tensor(), expected)

    ranks(2, body)


def test_a_new_rule_replaces_plans(world):
    mesh = init_device_mesh("cpu", (1,))
    x = distribute_tensor(grid(4, 2), mesh, [Shard(0)])
    operator = tl.ops.aten.sin.default
    for _ in range(2):
        assert x.sin().placements == (Shard(0),)
    try:
        register_sharding(operator)(lambda x: [([Replicate()], [Replicate()])])
        for _ in range(2):
            assert x.sin().placements == (Replicate(),)
    finally:
        REGISTERED.pop(operator)
        dispatch.forget_plans()
    assert x.sin().placements == (Shard(0),)


def test_a_new_world_has_plans_of_its_own():
    for size in (2, 1):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        mesh = init_device_mesh("cpu", (1,))
        x = distribute_tensor(grid(size, 2), mesh, [Shard(0)])
        for _ in range(2):
            y = x * x
            assert y.device_mesh is mesh and y.shape == (size, 2)
        assert len(mesh._call_plans) == 1
        dist.destroy_process_group()
    assert (x * x).to_local().tolist() == (grid(1, 2) ** 2).tolist()  # nothing moves, so no group is needed


def test_two_meshes_in_a_call(ranks):
    def body(rank):
        x = distribute_tensor(grid(4), init_device_mesh("cpu", (2,)), [Shard(0)])
        y = distribute_tensor(grid(4), init_device_mesh("cpu", (2, 1)), [Shard(0), Replicate()])
        x + x, y + y
        for _ in range(2):
            with pytest.raises(RuntimeError, match="two meshes"):
                x + y

    ranks(2, body)


def test_a_derived_class_keeps_its_handler(world, asked):
    class Derived(DTensor):
        calls = 0

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            Derived.calls += 1
            return super().__torch_dispatch__(func, types, args, kwargs)

    mesh = init_device_mesh("cpu", (1,))
    x = distribute_tensor(grid(3), mesh, [Shard(0)])
    derived = Derived(x.to_local(), x._spec, requires_grad=False)
    x + x
    for count in range(1, 3):
        assert (derived + x).to_local().tolist() == (grid(3) * 2).tolist()
        assert Derived.calls == count


def test_copies_and_pickles_of_results(world):
    mesh = init_device_mesh("cpu", (1,))
    x = distribute_tensor(grid(3), mesh, [Shard(0)])
    x + x
    y = x + x
    for again in (copy.deepcopy(y), copy.copy(y), pickle.loads(pickle.dumps(y))):
        assert type(again) is DTensor and again.placements == (Shard(0),)
        assert (again + again).to_local().tolist() == (grid(3) * 4).tolist()


def test_many_layouts_are_forgotten(world, monkeypatch):
    from tl_distributed.tensor import dtensor_spec

    monkeypatch.setattr(dtensor_spec, "_MOST_LAYOUTS", 3)
    mesh = init_device_mesh("cpu", (1,))
    for size in range(20):
        x = distribute_tensor(grid(size), mesh, [Shard(0)])
        for _ in range(2):
            assert (x + x).to_local().tolist() == (grid(size) * 2).tolist()
        assert len(mesh._layouts) <= 5 and len(mesh._call_plans) <= 5
