"""Sharded tensors: how they are cut, whole tensors of their parts, files and checkpoints, operators, wrong metadata."""

from __future__ import annotations

import copy
import io

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed.compat.shard import _shard_tensor, load_with_process_group, shard_parameter
from tl_distributed.compat.shard import sharded_tensor as st
from tl_distributed.compat.shard.metadata import TensorProperties
from tl_distributed.compat.shard.sharded_tensor import (
    Shard,
    ShardedTensor,
    ShardMetadata,
    custom_sharded_op_impl,
    init_from_local_shards,
    pre_load_state_dict_hook,
    state_dict_hook,
)
from tl_distributed.compat.shard.sharding_spec import (
    ChunkShardingSpec,
    DevicePlacementSpec,
    EnumerableShardingSpec,
    _infer_sharding_spec_from_shards_metadata,
    check_tensor,
)
from tl_distributed.groups.world import world_of_thread

dcp = pytest.importorskip("tl_checkpoint.distributed")
serialization = pytest.importorskip("tl_checkpoint.serialization")
nn = pytest.importorskip("tl_nn")

CHUNKS = ChunkShardingSpec(0, ["rank:0/cpu", "rank:1/cpu"])
COLUMNS = EnumerableShardingSpec(
    [ShardMetadata([0, 0], [5, 1], "rank:1/cpu"), ShardMetadata([0, 1], [5, 1], "rank:0/cpu")]
)
WHOLE = tl.arange(10.0).reshape(5, 2)


def whole_of(tensor, rank):
    out = tl.full(tensor.size(), -1.0) if rank == 0 else None
    tensor.gather(0, out)
    return out


# ---- how a tensor is cut: sizes of PyTorch 2.13
@pytest.mark.parametrize(
    ("length", "count", "expected"),
    [(5, 2, [3, 2]), (7, 4, [2, 2, 2, 1]), (2, 4, [1, 1, 0, 0]), (0, 2, [0, 0]), (8, 4, [2, 2, 2, 2])],
)
def test_chunks(length, count, expected):
    spec = ChunkShardingSpec(-1, [f"rank:{i}/cpu" for i in range(count)])
    parts = spec.build_metadata((3, length), TensorProperties()).shards_metadata
    assert [p.shard_sizes for p in parts] == [[3, n] for n in expected]
    starts = [sum(expected[:i]) for i in range(count)]
    assert [p.shard_offsets for p in parts] == [[0, n] for n in starts]


def test_the_cut_of_boxes_is_found():
    parts = CHUNKS.build_metadata((5, 2), TensorProperties()).shards_metadata
    assert _infer_sharding_spec_from_shards_metadata(parts) == CHUNKS
    boxes = [ShardMetadata([0, 0], [1, 2], "rank:0/cpu"), ShardMetadata([1, 0], [4, 2], "rank:1/cpu")]
    assert isinstance(_infer_sharding_spec_from_shards_metadata(boxes), EnumerableShardingSpec)


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: ShardMetadata([0], [1, 2]), ValueError, "same number of elements, found 1 and 2"),
        (lambda: ShardMetadata([-1], [1]), ValueError, "shard_offsets should be >= 0"),
        (lambda: ShardMetadata([0], [-1]), ValueError, "shard_sizes should be >= 0"),
        (lambda: ChunkShardingSpec("N", ["rank:0/cpu"]), NotImplementedError, "not support named dimension"),
        (lambda: ChunkShardingSpec(None, ["rank:0/cpu"]), ValueError, "needs to be an integer"),
        (lambda: ChunkShardingSpec(0, ["random:0"]), ValueError, "Could not parse remote_device"),
        (
            lambda: ChunkShardingSpec(3, ["rank:0/cpu"]).build_metadata((2,), TensorProperties()),
            ValueError,
            "Invalid",
        ),
        (lambda: EnumerableShardingSpec([]), ValueError, "Empty shard list"),
        (
            lambda: EnumerableShardingSpec([ShardMetadata([0], [2]), ShardMetadata([1], [2])]),
            ValueError,
            "overlap",
        ),
        (
            lambda: EnumerableShardingSpec([ShardMetadata([0], [2]), ShardMetadata([0, 0], [1, 1])]),
            ValueError,
            "ranks",
        ),
        (lambda: check_tensor([ShardMetadata([0], [2])], (3,)), ValueError, "does not match tensor volume"),
        (lambda: check_tensor([ShardMetadata([2], [2])], (3,)), ValueError, "exceeds tensor dim"),
        (lambda: check_tensor([ShardMetadata([0], [2])], (3, 1)), ValueError, "Rank of tensor is 2"),
        (lambda: Shard(tl.ones(2), ShardMetadata([0], [3])), ValueError, "tensor size does not match"),
        (lambda: DevicePlacementSpec("cuda:foo"), ValueError, "Could not parse remote_device"),
    ],
)
def test_wrong_metadata(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


# ---- several ranks
def test_parts_and_the_whole(ranks):
    def body(rank):
        tensor = _shard_tensor(WHOLE, CHUNKS)
        return tensor.local_tensor().tolist(), whole_of(tensor, rank), tensor.size(), tensor.sharding_spec()

    first, second = ranks(2, body)
    assert first[0] == WHOLE[:3].tolist() and second[0] == WHOLE[3:].tolist()
    assert tl.equal(first[1], WHOLE) and second[1] is None
    assert first[2] == (5, 2) and first[3] == CHUNKS


def test_own_parts_become_a_tensor(ranks):
    def body(rank):
        own = Shard.from_tensor_and_offsets(tl.full((2, 3), float(rank)), [2 * rank, 0], rank)
        return whole_of(init_from_local_shards([own], 4, 3), rank)

    assert ranks(2, body)[0].tolist() == [[0.0] * 3] * 2 + [[1.0] * 3] * 2


def test_boxes_in_another_order(ranks):
    def body(rank):
        tensor = _shard_tensor(WHOLE, COLUMNS)
        local = tensor.local_tensor().tolist()
        tensor.reshard(CHUNKS)
        return local, tensor.local_tensor().tolist()

    (first, first_rows), (second, second_rows) = ranks(2, body)
    assert first == WHOLE[:, 1:].tolist() and second == WHOLE[:, :1].tolist()
    assert first_rows + second_rows == WHOLE.tolist()


def test_created_tensors(ranks):
    def body(rank):
        tensors = [
            st.zeros(CHUNKS, 5, 2),
            st.ones(CHUNKS, 5, 2),
            st.full(CHUNKS, (5, 2), 4.0),
            st.empty(CHUNKS, (5, 2)),
        ]
        tl.manual_seed(rank)
        numbers = st.rand(CHUNKS, 5, 2, dtype=tl.float64)
        return (
            [whole_of(t, rank) for t in tensors[:3]],
            tensors[3].local_tensor().shape,
            numbers.local_tensor(),
        )

    (full, shape, numbers), _ = ranks(2, body)
    assert [t.tolist() for t in full] == [[[n, n]] * 5 for n in (0.0, 1.0, 4.0)] and shape == (3, 2)
    tl.manual_seed(0)
    assert numbers.tolist() == tl.empty(3, 2, dtype=tl.float64).uniform_().tolist()


def test_files(ranks):
    def body(rank):
        tensor = _shard_tensor(WHOLE, CHUNKS)
        file = io.BytesIO()
        serialization.save(tensor, file)
        file.seek(0)
        with load_with_process_group(dist.group.WORLD):
            loaded = serialization.load(file, weights_only=False)
            with pytest.raises(RuntimeError, match="ProcessGroup already set"), load_with_process_group(None):
                pass
        return tl.equal(loaded, tensor), loaded.local_tensor().tolist()

    results = ranks(2, body)
    assert [same for same, _ in results] == [True, True]
    assert results[1][1] == WHOLE[3:].tolist()


def test_checkpoints_in_another_cut(ranks, tmp_path):
    def body(rank):
        dcp.save({"w": _shard_tensor(WHOLE, CHUNKS)}, checkpoint_id=tmp_path / "step")
        blank = st.full(COLUMNS, (5, 2), -1.0)
        dcp.load({"w": blank}, checkpoint_id=tmp_path / "step")
        return blank.local_tensor().tolist()

    first, second = ranks(2, body)
    assert first == WHOLE[:, 1:].tolist() and second == WHOLE[:, :1].tolist()


def test_modules(ranks):
    def body(rank):
        layer = nn.Linear(2, 5, bias=False)
        with tl.no_grad():
            layer.weight.copy_(WHOLE)
        shard_parameter(layer, "weight", CHUNKS)
        layer._register_state_dict_hook(state_dict_hook)
        state = layer.state_dict()
        other = nn.Linear(2, 5, bias=False)
        shard_parameter(other, "weight", CHUNKS)
        pre_load_state_dict_hook(other, state, "", {}, True, [], [], [])
        with pytest.raises(AttributeError, match="has no attribute `nothing`"):
            shard_parameter(layer, "nothing", CHUNKS)
        return list(state), whole_of(other.weight, rank), other.weight is layer.weight

    (names, full, same), _ = ranks(2, body)
    assert names == ["weight"] and same and tl.equal(full.detach(), WHOLE)


def test_operators(ranks):
    marker = tl.special.expit

    @custom_sharded_op_impl(marker)
    def expit(types, args, kwargs, group):
        return args[0].local_tensor().sigmoid(), group.size()

    def body(rank):
        tensor = _shard_tensor(WHOLE, CHUNKS)
        twin = copy.deepcopy(tensor)
        twin.local_tensor().add_(rank)
        zeros = tl.zeros_like(tensor)
        with pytest.raises(RuntimeError, match=r"torch function 'add'.* not supported for ShardedTensor"):
            tensor + 1
        with pytest.raises(RuntimeError, match="init_rrefs=False"):
            tensor.remote_shards()
        values, size = marker(tensor)
        half = tensor.to(tl.float64)
        return (
            tl.equal(tensor, tensor.clone()), tl.equal(tensor, twin), whole_of(zeros, rank), values, size,
            half.dtype, half.local_tensor().dtype, tensor.to(tl.float32) is tensor,
        )  # fmt: skip

    first, second = ranks(2, body)
    assert first[0] and second[0] and not first[1] and not second[1]  # one rank differs, and both know
    assert first[2].tolist() == [[0.0, 0.0]] * 5 and first[4] == 2
    tl.testing.assert_close(second[3], WHOLE[3:].sigmoid())
    assert first[5:] == (tl.float64, tl.float64, True)


def test_references_to_boxes_of_other_workers(workers):
    store = dist.HashStore()

    def body(rank):
        with world_of_thread():
            dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
            try:
                tensor = ShardedTensor(CHUNKS, 5, 2, init_rrefs=True)
                part = Shard.from_tensor_and_offsets(tl.full((2,), float(rank)), [2 * rank], rank)
                joined = init_from_local_shards([part], 4, init_rrefs=True)
                (reference,) = joined.remote_shards()[1 - rank]
                remote = reference.to_here()
                sizes = [r.to_here().metadata.shard_sizes for r in tensor.remote_shards()[1 - rank]]
                dist.barrier()
                return (
                    list(joined.remote_shards()),
                    remote.tensor.tolist(),
                    remote.metadata.shard_offsets,
                    sizes,
                )
            finally:
                dist.destroy_process_group()

    assert workers(2, body) == [
        ([1], [1.0, 1.0], [2], [[2, 2]]),
        ([0], [0.0, 0.0], [0], [[3, 2]]),
    ]


def test_ranks_that_disagree(ranks):
    def body(rank):
        texts = []
        for tensor, offsets, size in (
            (tl.ones(2, dtype=tl.float64 if rank else tl.float32), [2 * rank], (4,)),
            (tl.ones(2), [rank], (3,)),
            (tl.ones(2), [2 * rank], (5,)),
        ):
            with pytest.raises(ValueError) as error:
                init_from_local_shards([Shard.from_tensor_and_offsets(tensor, offsets, rank)], *size)
            texts.append(str(error.value))
        with pytest.raises(ValueError, match="rank in its process group"):
            init_from_local_shards([Shard.from_tensor_and_offsets(tl.ones(2), [0], 1 - rank)], 2)
        with pytest.raises(ValueError, match="Global rank 7 does not exist"):
            ShardedTensor(ChunkShardingSpec(0, ["rank:7/cpu"]), 2)
        with pytest.raises(RuntimeError, match="RPC Framework needs to be initialized"):
            ShardedTensor(CHUNKS, 2, init_rrefs=True)
        return texts

    for texts in ranks(2, body):
        assert "dtype property does not match from different ranks" in texts[0]
        assert "overlap" in texts[1] and "does not match tensor volume" in texts[2]


def test_wrong_targets_of_gather(ranks):
    def body(rank):
        tensor = st.ones(CHUNKS, 5, 2)
        with pytest.raises(ValueError, match="dst_tensor"):
            tensor.gather(0, None if rank == 0 else tl.ones(5, 2))
        if rank == 0:
            with pytest.raises(ValueError, match="have size"):
                tensor.gather(0, tl.ones(4, 2))

    ranks(2, body)
