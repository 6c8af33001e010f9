"""Tensors cut into chunks by several ranks are loaded cut in any other way. Ranks are played one after another."""

from __future__ import annotations

import itertools
import random

import pytest

import tl_checkpoint.distributed as sharded
import tl_core as tl
from tl_checkpoint.distributed.metadata import ChunkStorageMetadata, MetadataIndex
from tl_checkpoint.distributed.resharding import check_partition, overlap


def save(folder, states):
    """Saves what several ranks hold."""
    ranks = []
    for rank, state in enumerate(states):
        planner, writer = sharded.DefaultSavePlanner(), sharded.FileSystemWriter(folder)
        writer.reset()
        planner.set_up_planner(state, writer.storage_meta(), rank == 0)
        writer.set_up_storage_writer(rank == 0)
        ranks.append((planner, writer))
    plans = [writer.prepare_local_plan(planner.create_local_plan()) for planner, writer in ranks]
    first_planner, first_writer = ranks[0]
    plans, metadata = first_planner.create_global_plan(plans)
    plans = first_writer.prepare_global_plan(plans)
    results = [w.write_data(p.finish_plan(plan), p).wait() for (p, w), plan in zip(ranks, plans, strict=True)]
    first_writer.finish(metadata, results)
    return metadata


def cut(tensor, axis, cuts, rank):
    """The rank's part of a tensor that is cut at some positions."""
    begin, end = ([0, *cuts, tensor.shape[axis]][rank + k] for k in (0, 1))
    offsets = [0] * tensor.ndim
    offsets[axis] = begin
    return sharded.ChunkedTensor(tensor.shape, [(offsets, tensor.narrow(axis, begin, end - begin).clone())])


@pytest.mark.parametrize(("saving", "loading"), list(itertools.product((1, 2, 3, 4), repeat=2)))
def test_from_n_to_m_ranks(tmp_path, saving, loading):
    draw = random.Random(10 * saving + loading)
    full = {"a": tl.arange(35.0).reshape(7, 5), "b": tl.arange(6).reshape(1, 6), "c": tl.ones(0, 3)}
    for trial in range(4):
        axes = {name: draw.randrange(2) for name in full}
        cuts = {n: sorted(draw.choices(range(t.shape[axes[n]] + 1), k=saving - 1)) for n, t in full.items()}
        states = [{n: cut(t, axes[n], cuts[n], rank) for n, t in full.items()} for rank in range(saving)]
        states = [state | {"step": trial, "same": tl.full((3,), trial)} for state in states]
        folder = tmp_path / str(trial)
        save(folder, states)
        for name, tensor in full.items():
            axis = draw.randrange(2)
            expected = sorted(draw.choices(range(tensor.shape[axis] + 1), k=loading - 1))
            for rank in range(loading):
                target = cut(tl.zeros_like(tensor), axis, expected, rank)
                sharded.load({name: target}, checkpoint_id=folder)
                for (_, result), (_, right) in zip(
                    target.chunks, cut(tensor, axis, expected, rank).chunks, strict=True
                ):
                    assert result.tolist() == right.tolist() and result.shape == right.shape
        plain = {name: tl.zeros_like(tensor) for name, tensor in full.items()} | {
            "step": -1,
            "same": tl.zeros(3),
        }
        sharded.load(plain, checkpoint_id=folder)
        assert {name: plain[name].tolist() for name in full} == {n: t.tolist() for n, t in full.items()}
        assert plain["step"] == trial and plain["same"].tolist() == [trial] * 3


def test_a_whole_tensor_into_pieces_and_back(tmp_path):
    tensor = tl.arange(24.0).reshape(4, 6)
    sharded.save({"x": tensor}, checkpoint_id=tmp_path / "whole")
    boxes = [((i, j), tl.zeros(2, 3)) for i in (0, 2) for j in (0, 3)]
    pieces = sharded.ChunkedTensor((4, 6), boxes)
    sharded.load({"x": pieces}, checkpoint_id=tmp_path / "whole")
    for (i, j), piece in pieces.chunks:
        assert piece.tolist() == tensor[i : i + 2, j : j + 3].tolist()
    sharded.save({"x": pieces}, checkpoint_id=tmp_path / "pieces")
    target = tl.zeros(4, 6)
    sharded.load({"x": target}, checkpoint_id=tmp_path / "pieces")
    assert target.tolist() == tensor.tolist()


def test_what_ranks_hold_alike_is_written_once(tmp_path):
    state = {"same": tl.ones(1000), "also": tl.ones(1000), "n": 1}
    metadata = save(tmp_path, [state, state])
    sizes = sorted(path.stat().st_size for path in tmp_path.glob("*.distcp"))
    assert all(4000 < size < 8000 for size in sizes) and len(sizes) == 2  # and shared out
    assert len(metadata.state_dict_metadata["same"].chunks) == 1


@pytest.mark.parametrize(
    ("chunks", "said"),
    [
        ([((0,), 2), ((1,), 3)], "the chunks at .* overlap"),
        ([((0,), 2)], "its chunks hold 2 of 4 elements"),
    ],
)
def test_chunks_that_do_not_make_up_the_tensor(tmp_path, chunks, said):
    state = {"x": sharded.ChunkedTensor((4,), [(offsets, tl.zeros(n)) for offsets, n in chunks])}
    with pytest.raises(sharded.CheckpointException, match=f"Failed to validate global plan: x: {said}"):
        sharded.save(state, checkpoint_id=tmp_path)


def test_wrong_chunks():
    with pytest.raises(ValueError, match=r"a chunk of \(3,\) at \(2,\) isn't part of a tensor of \(4,\)"):
        sharded.ChunkedTensor((4,), [((2,), tl.zeros(3))])
    with pytest.raises(TypeError, match="chunks must have one dtype"):
        sharded.ChunkedTensor((4,), [((0,), tl.zeros(2)), ((2,), tl.zeros(2, dtype=tl.int64))])
    tensor = sharded.ChunkedTensor((4,), [((0,), tl.zeros(2))])
    with pytest.raises(ValueError, match="'x' has no chunk at"):
        tensor.__get_tensor_shard__(MetadataIndex("x", (2,)))


def test_boxes_against_sets_of_indices():
    draw = random.Random(0)

    def box():
        begins = [draw.randrange(5) for _ in range(2)]
        return ChunkStorageMetadata(tl.Size(begins), tl.Size([draw.randrange(5) for _ in begins]))

    def indices(b):
        return set(itertools.product(*(range(o, o + n) for o, n in zip(b.offsets, b.sizes, strict=True))))

    for _ in range(300):
        boxes = [box() for _ in range(draw.randrange(1, 5))]
        one, two = boxes[0], boxes[-1]
        common = overlap(one, two)
        there = indices(one) & indices(two)
        assert (common is not None) == bool(there)
        if common:
            begin = [o + s for o, s in zip(common.saved_offsets, one.offsets, strict=True)]
            assert indices(ChunkStorageMetadata(tl.Size(begin), common.lengths)) == there
        every = [index for b in boxes for index in indices(b)]
        good = sorted(every) == sorted(itertools.product(range(8), repeat=2))
        assert (check_partition(boxes, (8, 8)) is None) == good


class FP16Planner(sharded.DefaultSavePlanner):
    """The manual's example."""

    def create_local_plan(self):
        plan = super().create_local_plan()
        for item in plan.items:
            if item.tensor_data is not None:
                item.tensor_data.properties.dtype = tl.float16
        return plan

    def transform_object(self, write_item, object):
        data = super().transform_object(write_item, object)
        return data.to(tl.float16) if isinstance(data, tl.Tensor) else data


class RenamePlanner(sharded.DefaultLoadPlanner):
    """The manual's other example."""

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        super().set_up_planner(
            {name[4:]: value for name, value in state_dict.items()}, metadata, is_coordinator
        )


def test_planners_of_programs(tmp_path):
    sharded.save({"x": tl.ones(100), "n": 1}, checkpoint_id=tmp_path, planner=FP16Planner())
    metadata = sharded.FileSystemReader(tmp_path).read_metadata()
    assert metadata.state_dict_metadata["x"].properties.dtype is tl.float16
    target = tl.zeros(100)
    sharded.load({"new_x": target}, checkpoint_id=tmp_path, planner=RenamePlanner())
    assert target.tolist() == [1] * 100
    partial = {"x": tl.zeros(100), "more": 5}
    sharded.load(partial, checkpoint_id=tmp_path, planner=sharded.DefaultLoadPlanner(allow_partial_load=True))
    assert partial["more"] == 5 and partial["x"].sum().item() == 100
