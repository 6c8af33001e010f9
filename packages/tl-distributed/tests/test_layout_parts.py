"""Layouts of distributed tensors, in closed form, and the strategies of operators on pieces."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed.tensor import Partial, Replicate, Shard, distribute_tensor
from tl_distributed.tensor.dtensor_spec import DTensorSpec, TensorMeta, meta_of, normalize_placements
from tl_distributed.tensor.layout import compute_global_tensor_info, compute_local_shape, whole_stride
from tl_distributed.tensor.list_operators import is_elementwise_on_lists
from tl_distributed.tensor.operator_call import OperatorCall, argument_names
from tl_distributed.tensor.placement_types import Placement
from tl_distributed.tensor.redistribute import redistribute_local_tensor
from tl_distributed.tensor.strategies import strategies_of


def test_sizes_of_pieces(ranks):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (3,))
        pieces = [compute_local_shape((7, 4), mesh, [p]) for p in (Shard(0), Shard(1), Replicate())]
        stride = compute_global_tensor_info(tl.empty(3, 2, 4), mesh, [Shard(1)])
        return pieces, stride

    results = ranks(3, body)
    assert [pieces for pieces, _ in results] == [
        [(3, 4), (7, 2), (7, 4)],
        [(3, 4), (7, 2), (7, 4)],
        [(1, 4), (7, 0), (7, 4)],
    ]
    assert all(info == ([3, 6, 4], [24, 4, 1]) for _, info in results)


def test_strides_of_contiguous_tensors():
    assert whole_stride((2, 3, 4)) == (12, 4, 1)
    assert whole_stride(()) == ()


def test_the_description_of_a_tensor():
    assert meta_of(tl.empty(2, 3).t()) == TensorMeta(tl.Size([3, 2]), (1, 3), tl.float32)


def test_placements_count_from_the_front(world):
    mesh = dist.init_device_mesh("cpu", (1,))
    assert normalize_placements([Shard(-1)], mesh, 2) == (Shard(1),)
    assert normalize_placements([Partial("max")], mesh, 0) == (Partial("max"),)
    with pytest.raises(ValueError, match="Found placements length: 2"):
        normalize_placements([Shard(0), Shard(1)], mesh, 2)
    with pytest.raises(IndexError, match="cuts a dimension"):
        normalize_placements([Shard(2)], mesh, 2)
    with pytest.raises(RuntimeError, match="expected a Shard, Replicate or Partial"):
        normalize_placements([0], mesh, 2)


def test_kinds_of_placements():
    kinds = [
        (p.is_shard(), p.is_replicate(), p.is_partial()) for p in (Shard(1), Replicate(), Partial("sum"))
    ]
    assert kinds == [(True, False, False), (False, True, False), (False, False, True)]
    assert Shard(1).is_shard(1) and not Shard(1).is_shard(0)
    assert Partial("max").is_partial("max") and not Partial("max").is_partial("sum")
    assert all(isinstance(p, Placement) for p in (Shard(0), Replicate(), Partial()))


def test_terms_become_shards_and_replicas(ranks):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        local = tl.arange(4.0) * (rank + 1)
        spec = DTensorSpec(mesh, (Partial("sum"),), meta_of(local))
        return [redistribute_local_tensor(local, spec, (p,)).tolist() for p in (Shard(0), Replicate())]

    assert ranks(2, body) == [[[0, 3], [0, 3, 6, 9]], [[6, 9], [0, 3, 6, 9]]]


def test_strategies_of_pointwise_operators():
    matrix, row = tl.empty(2, 3, device="meta"), tl.empty(3, device="meta")
    add = tl.ops.aten.add.Tensor
    call = OperatorCall(add, argument_names(add, (matrix, row), {}), [matrix], lambda operand, dim: 2, 2)
    strategies = [(s.operands, s.results) for s in strategies_of(call)]
    assert strategies[0] == ((Replicate(), Replicate()), (Replicate(),))
    assert ((Shard(0), Replicate()), (Shard(0),)) in strategies
    assert ((Shard(1), Shard(0)), (Shard(1),)) in strategies
    assert ((Partial("sum"), Partial("sum")), (Partial("sum"),)) in strategies


def test_operators_on_lists():
    assert is_elementwise_on_lists(tl.ops.aten._foreach_add.List)
    assert not is_elementwise_on_lists(tl.ops.aten.add.Tensor)


def test_a_distributed_tensor_has_the_description_of_the_whole(world):
    mesh = dist.init_device_mesh("cpu", (1,))
    x = distribute_tensor(tl.ones(4, 2), mesh, [Shard(0)])
    spec = x._spec.with_placements((Replicate(),))
    assert (spec.shape, spec.ndim, spec.placements, spec.device_mesh) == ((4, 2), 2, (Replicate(),), mesh)
