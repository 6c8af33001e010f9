"""Meshes and distributed tensors of several ranks: coordinates, groups, pieces, and results of operators."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

NAMES = ("pipe", "data", "model")
SHAPES = [(4,), (2, 2), (1, 4), (4, 1), (2, 1, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_mesh_is_a_grid_of_ranks(ranks, shape):
    grid = np.arange(4).reshape(shape)
    names = NAMES[: len(shape)]

    def body(rank):
        mesh = dist.init_device_mesh("cpu", shape, mesh_dim_names=names)
        coordinate = tuple(int(i) for i in np.argwhere(grid == rank)[0])
        assert (mesh.ndim, mesh.shape, mesh.size(), mesh.get_rank()) == (len(shape), shape, 4, rank)
        assert mesh.get_coordinate() == coordinate and mesh.mesh.tolist() == grid.tolist()
        assert repr(mesh) == f"DeviceMesh('cpu', {grid.tolist()}, mesh_dim_names={names})"
        for dim, name in enumerate(names):
            index = (*coordinate[:dim], slice(None), *coordinate[dim + 1 :])
            line = grid[index].tolist()
            assert mesh.size(dim) == mesh.size(dim - mesh.ndim) == shape[dim]
            for key in (dim, dim - mesh.ndim, name):
                assert mesh.get_local_rank(key) == coordinate[dim]
                assert dist.get_process_group_ranks(mesh.get_group(key)) == line
            x = tl.tensor([10**rank])
            dist.all_reduce(x, group=mesh.get_group(name))
            assert x.item() == sum(10**r for r in line)
            part = mesh[name]
            assert (part.mesh.tolist(), part.mesh_dim_names) == (line, (name,))
            assert part.get_local_rank() == coordinate[dim] and part.get_group() is mesh.get_group(dim)
            assert part._get_root_mesh() is mesh and mesh._get_root_mesh() is mesh
            assert part._get_root_mesh_dim() == (dim if len(names) > 1 or part is not mesh else None)
            assert mesh._get_mesh_dim_by_name(name) == dim
        assert [g.ranks for g in mesh.get_all_groups()] == [mesh.get_group(d).ranks for d in range(mesh.ndim)]
        for first, second in itertools.combinations(range(len(names)), 2):
            index = tuple(slice(None) if d in (first, second) else coordinate[d] for d in range(len(names)))
            pair = mesh[names[first], names[second]]
            assert pair.mesh.tolist() == grid[index].tolist() and pair._get_root_mesh_dim() is None
            flat = pair._flatten()
            joined = f"{names[first]}_{names[second]}"
            assert flat.mesh.tolist() == grid[index].reshape(-1).tolist() and flat.mesh_dim_names == (joined,)
            assert mesh[joined] is flat and pair._flatten() is flat and flat._get_root_mesh_dim() is None
            assert sorted(dist.get_process_group_ranks(flat.get_group())) == sorted(flat.mesh.tolist())
            with pytest.raises(KeyError, match="order"):
                mesh[names[second], names[first]]
        again = pickle.loads(pickle.dumps(mesh))
        assert again == mesh and hash(again) == hash(mesh) and again.get_coordinate() == coordinate
        assert [g.ranks for g in again.get_all_groups()] == [g.ranks for g in mesh.get_all_groups()]

    ranks(4, body)


def test_a_mesh_of_some_ranks(ranks):
    def body(rank):
        mesh = dist.DeviceMesh("cpu", [[3, 1]], mesh_dim_names=("a", "b"))
        assert mesh.size() == 2
        if rank in (1, 3):
            assert mesh.get_coordinate() == (0, [3, 1].index(rank))
            assert list(mesh.get_group("b").ranks) == [3, 1] and mesh.get_local_rank("b") == [3, 1].index(
                rank
            )
        else:
            assert mesh.get_coordinate() is None
            for call in (lambda: mesh.get_local_rank("b"), lambda: mesh["b"]):
                with pytest.raises(RuntimeError, match=f"rank {rank} is not in"):
                    call()
        other = dist.DeviceMesh("cpu", [[3, 1]], mesh_dim_names=("a", "c"))
        assert (
            mesh != other
            and mesh != "mesh"
            and mesh == dist.DeviceMesh("cpu", [[3, 1]], mesh_dim_names=("a", "b"))
        )
        for call, error in (
            (lambda: dist.DeviceMesh("cpu", [0, 4]), RuntimeError),
            (lambda: dist.DeviceMesh("cpu", [-1, 2]), RuntimeError),
            (lambda: dist.DeviceMesh("cpu", [1, 1]), RuntimeError),
            (lambda: dist.DeviceMesh("cpu", [[0, 1]], mesh_dim_names=("a",)), RuntimeError),
            (lambda: dist.DeviceMesh("cpu", tl.ones(2, device="meta")), ValueError),
            (lambda: mesh.size(2), IndexError),
            (lambda: mesh.size(-3), IndexError),
            (lambda: mesh.get_group("c"), KeyError),
            (lambda: mesh.get_group(), RuntimeError),
            (lambda: dist.DeviceMesh.from_group([], "cpu"), ValueError),
            (lambda: dist.DeviceMesh.from_group([dist.group.WORLD], "cpu"), ValueError),
        ):
            with pytest.raises(error):
                call()

    ranks(4, body)


def test_a_mesh_of_groups(ranks):
    def body(rank):
        world = dist.group.WORLD
        mesh = dist.DeviceMesh.from_group(world, "cpu", mesh_dim_names=("all",))
        assert mesh.mesh.tolist() == [0, 1] and mesh.get_group() is world and mesh.mesh_dim_names == ("all",)
        grid = dist.DeviceMesh.from_group([world, world], "cpu", [[0, 1]])
        assert grid.get_all_groups() == [world, world] and grid.get_coordinate() == (0, rank)
        assert mesh["all"]._flatten().mesh.tolist() == [0, 1]
        with pytest.raises(RuntimeError, match="no names"):
            grid._flatten()

    ranks(2, body)


# ---- distributed tensors ---------------------------------------------------------------------------------------------

PLACEMENTS = [Shard(0), Shard(1), Replicate()]
WHOLE = np.arange(35, dtype=np.float64).reshape(7, 5) / 10 - 1


def whole():
    return tl.from_numpy(WHOLE.copy())


def pieces(size, count):
    step = -(-size // count)
    return [(min(r * step, size), min((r + 1) * step, size)) for r in range(count)]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_pieces_cover_the_whole(ranks, count):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (count,))
        for dim in (0, 1, -1):
            x = distribute_tensor(whole(), mesh, [Shard(dim)])
            begin, end = pieces(WHOLE.shape[dim], count)[rank]
            expected = WHOLE[begin:end] if dim == 0 else WHOLE[:, begin:end]
            np.testing.assert_array_equal(x.to_local().numpy(), expected)
            assert x.shape == WHOLE.shape and x.placements == (Shard(dim % 2),) and x.device_mesh == mesh
            np.testing.assert_array_equal(x.full_tensor().numpy(), WHOLE)
        part = DTensor.from_local(whole() * (rank + 1), mesh, [Partial()])
        np.testing.assert_allclose(part.full_tensor().numpy(), WHOLE * sum(range(1, count + 1)))
        for name, function in (("max", np.maximum), ("min", np.minimum)):
            part = DTensor.from_local(whole() * (rank - 1), mesh, [Partial(name)])
            values = [WHOLE * (r - 1) for r in range(count)]
            np.testing.assert_allclose(part.full_tensor().numpy(), function.reduce(values))
        for target in PLACEMENTS:
            result = DTensor.from_local(whole() * (rank + 1), mesh, [Partial()]).redistribute(mesh, [target])
            assert result.placements == (target,)
            np.testing.assert_allclose(result.full_tensor().numpy(), WHOLE * sum(range(1, count + 1)))
            for source in PLACEMENTS:
                moved = distribute_tensor(whole(), mesh, [source]).redistribute(mesh, [target])
                assert moved.placements == (target,)
                expected = distribute_tensor(whole(), mesh, [target]).to_local()
                np.testing.assert_array_equal(moved.to_local().numpy(), expected.numpy())

    ranks(count, body)


@pytest.mark.parametrize(
    ("first", "second"), [*itertools.product(PLACEMENTS, PLACEMENTS)], ids=lambda p: str(p)
)
def test_two_dimensions_of_a_mesh(ranks, first, second):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2))
        x = distribute_tensor(whole(), mesh, [first, second])
        local = WHOLE
        for placement, index in zip((first, second), divmod(rank, 2), strict=True):
            if isinstance(placement, Shard):
                begin, end = pieces(local.shape[placement.dim], 2)[index]
                local = local[begin:end] if placement.dim == 0 else local[:, begin:end]
        np.testing.assert_array_equal(x.to_local().numpy(), local)
        np.testing.assert_array_equal(x.full_tensor().numpy(), WHOLE)
        for target in ([Replicate(), Shard(0)], [Shard(1), Shard(0)], [Shard(0), Shard(0)]):
            moved = x.redistribute(mesh, target)
            np.testing.assert_array_equal(moved.full_tensor().numpy(), WHOLE)
        np.testing.assert_allclose((x @ x.t()).full_tensor().numpy(), WHOLE @ WHOLE.T)
        np.testing.assert_allclose(x.sum(0).full_tensor().numpy(), WHOLE.sum(0))

    ranks(4, body)


OPERATORS = {
    "add": (lambda x, y: x + y, lambda x, y: x + y),
    "multiply": (lambda x, y: x * y * 2, lambda x, y: x * y * 2),
    "negative": (lambda x, y: -x, lambda x, y: -x),
    "exp": (lambda x, y: x.exp(), lambda x, y: np.exp(x)),
    "relu": (lambda x, y: x.relu(), lambda x, y: np.maximum(x, 0)),
    "row": (lambda x, y: x + y[:1], lambda x, y: x + y[:1]),
    "sum": (lambda x, y: x.sum(), lambda x, y: x.sum()),
    "sum 0": (lambda x, y: x.sum(0), lambda x, y: x.sum(0)),
    "sum 1": (lambda x, y: x.sum(1, keepdim=True), lambda x, y: x.sum(1, keepdims=True)),
    "mean 0": (lambda x, y: x.mean(0), lambda x, y: x.mean(0)),
    "mean": (lambda x, y: x.mean(), lambda x, y: x.mean()),
    "amax 1": (lambda x, y: x.amax(1), lambda x, y: x.max(1)),
    "transposed": (lambda x, y: x.t(), lambda x, y: x.T),
    "product": (lambda x, y: x.t() @ y, lambda x, y: x.T @ y),
    "wide product": (lambda x, y: x @ y.t(), lambda x, y: x @ y.T),
    "softmax": (lambda x, y: x.softmax(1), lambda x, y: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    "flat": (lambda x, y: x.reshape(35), lambda x, y: x.reshape(35)),
    "joined": (lambda x, y: tl.cat([x, y]), lambda x, y: np.concatenate([x, y])),
    "stacked": (lambda x, y: tl.stack([x, y]), lambda x, y: np.stack([x, y])),
    "where": (lambda x, y: tl.where(x > 0, x, y), lambda x, y: np.where(x > 0, x, y)),
    "new dimension": (lambda x, y: x.unsqueeze(1), lambda x, y: x[:, None]),
    "slice": (lambda x, y: x[1:4], lambda x, y: x[1:4]),
    "permuted": (lambda x, y: x.unsqueeze(0).permute(2, 0, 1), lambda x, y: x[None].transpose(2, 0, 1)),
    "variance": (lambda x, y: x.var(0), lambda x, y: x.var(0, ddof=1)),
    "norm": (lambda x, y: x.norm(), lambda x, y: np.sqrt((x * x).sum())),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_return_the_results_of_the_whole(ranks, name):
    function, reference = OPERATORS[name]
    other = np.cos(WHOLE)
    expected = reference(WHOLE, other)

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        for first, second in itertools.product(PLACEMENTS, PLACEMENTS):
            x, y = (
                distribute_tensor(tl.from_numpy(v), mesh, [p]) for v, p in ((WHOLE, first), (other, second))
            )
            result = function(x, y)
            assert isinstance(result, DTensor) and result.shape == expected.shape
            np.testing.assert_allclose(result.full_tensor().numpy(), expected, rtol=1e-12, atol=1e-12)

    ranks(2, body)
