"""Slices of meshes know their root, dimensions are joined, and a block has a mesh of its own."""

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed.backends.engine_backend import EngineBackend
from tl_distributed.groups.device_mesh import DeviceMesh, _mesh_resources, init_device_mesh

pytest.importorskip("tl_nn")

from tl_distributed.tensor import DTensor, Shard, distribute_tensor, zeros


def test_slices_know_their_root(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2, 2, 1), mesh_dim_names=("a", "b", "c"))
        inner = mesh["b", "c"]["c"]
        assert _mesh_resources.get_root_mesh(inner) is mesh is mesh._get_root_mesh()
        assert [_mesh_resources.get_root_mesh_dim(m) for m in (mesh["a"], inner, mesh, mesh["a", "b"])] == [
            *(0, 2),
            *(None, None),
        ]
        assert _mesh_resources.get_mesh_dim_by_name(mesh, "b") == 1

    ranks(4, body)


def test_dimensions_are_joined(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("a", "b", "c"))
        flat, outer = mesh._flatten("all"), mesh["a", "b"]._flatten()
        assert flat.mesh.tolist() == [0, 1, 2, 3] and outer.mesh.tolist() == [rank % 2, rank % 2 + 2]
        assert mesh["all"] is flat and mesh["a_b"] is outer is mesh["a", "b"]._flatten()
        assert mesh["a"]._flatten("a") == mesh["a"] and outer._get_root_mesh() is mesh
        assert outer.get_local_rank() == rank // 2 and outer._get_root_mesh_dim() is None
        total = tl.tensor(rank)
        dist.all_reduce(total, group=outer.get_group())
        return int(total)

    assert ranks(4, body) == [2, 4, 2, 4]


def test_what_cannot_be_joined_is_refused(world):
    with pytest.raises(RuntimeError, match="the dimensions have no names"):
        DeviceMesh("cpu", [[0]])._flatten()
    mesh = DeviceMesh("cpu", [[0]], mesh_dim_names=("a", "b"))
    with pytest.raises(ValueError, match="'b' is a dimension of"):
        mesh["a"]._flatten("b")
    with pytest.raises(KeyError, match="no dimension 'a_b'"):
        mesh["a_b"]


def test_a_dimension_has_a_backend_of_its_own(ranks):
    if not dist.is_backend_available("second"):
        dist.Backend.register_backend("second", EngineBackend)

    def body(rank):
        mesh = init_device_mesh(
            "cpu", (2, 2), mesh_dim_names=("a", "b"), backend_override={"b": "second", 0: ("gloo", None)}
        )
        names = [dist.get_backend(mesh.get_group(name)) for name in "ab"]
        total = tl.tensor(rank)
        dist.all_reduce(total, group=mesh.get_group("b"))
        for override, text in (
            ({"c": "gloo"}, "'c'"),
            ({2: "gloo"}, "dimension 2"),
            ({0: "gloo", "a": "gloo"}, "twice"),
        ):
            with pytest.raises(RuntimeError, match=text):
                init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"), backend_override=override)
        return names, int(total)

    assert ranks(4, body) == [(["gloo", "second"], 1)] * 2 + [(["gloo", "second"], 5)] * 2


def test_groups_connect_at_their_first_call(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        before = [len(group._connected) for group in mesh.get_all_groups()]
        dist.barrier(mesh.get_group("a"))
        return before, [len(group._connected) for group in mesh.get_all_groups()]

    assert ranks(4, body) == [([0, 0], [1, 0])] * 4


def test_a_block_has_a_mesh(ranks):
    def body(rank):
        outer, inner = (init_device_mesh("cpu", (2,), mesh_dim_names=(name,)) for name in "ab")
        with outer:
            with inner as entered:
                assert entered is inner is _mesh_resources.get_current_mesh()
                assert _mesh_resources.mesh_stack == [outer, inner]
                x = distribute_tensor(tl.arange(4.0), placements=[Shard(0)])
            y = DTensor.from_local(tl.ones(2), placements=[Shard(0)])
            assert (x.device_mesh, y.device_mesh, zeros(2).device_mesh) == (inner, outer, outer)
        with pytest.raises(RuntimeError, match="No device mesh is currently active!"):
            distribute_tensor(tl.ones(2))
        return x.to_local().tolist()

    assert ranks(2, body) == [[0, 1], [2, 3]]
