"""Ranks that save and load together over a channel; here they are threads."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tl_checkpoint.distributed as sharded
import tl_core as tl


class Room:
    """Where the threads meet."""

    def __init__(self, size):
        self.size = size
        self.barrier = threading.Barrier(size, timeout=20)
        self.values: list[Any] = [None] * size


class Channel:
    def __init__(self, room, rank, coordinator):
        self.room, self.rank, self.world_size, self.coordinator = room, rank, room.size, coordinator

    def all_gather(self, value):
        self.room.barrier.wait()
        self.room.values[self.rank] = value
        self.room.barrier.wait()
        matches = list(self.room.values)
        self.room.barrier.wait()
        return matches

    def gather(self, value):
        result = self.all_gather(value)
        return result if self.rank == self.coordinator else None

    def broadcast(self, value):
        return self.all_gather(value)[self.coordinator]

    def scatter(self, values):
        return self.all_gather(values)[self.coordinator][self.rank]


class Group:
    def __init__(self, room, rank):
        self.room, self.rank_ = room, rank

    def size(self):
        return self.room.size

    def __checkpoint_channel__(self, coordinator_rank):
        return Channel(self.room, self.rank_, coordinator_rank)


def on_ranks(size, body):
    room, results = Room(size), [None] * size

    def run(rank):
        try:
            results[rank] = body(rank, Group(room, rank))
        except BaseException as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Broken:
    """A tensor's neighbour that cannot be saved."""

    def __reduce__(self):
        raise ValueError("not this one")


def test_what_all_ranks_have_is_saved_once_and_loaded_by_all(tmp_path):
    def save(rank, group):
        sharded.save({"x": tl.arange(5), f"own{rank}": rank}, checkpoint_id=tmp_path, process_group=group)

    def load(rank, group):
        state = {"x": tl.zeros(5, dtype=tl.int64), "own1": 0}
        sharded.load(state, checkpoint_id=tmp_path, process_group=group)
        return state["x"].tolist(), state["own1"]

    assert on_ranks(3, save) == [None] * 3
    assert on_ranks(2, load) == [([0, 1, 2, 3, 4], 1)] * 2


def test_a_failure_of_one_rank_is_raised_on_all(tmp_path):
    def save(rank, group):
        sharded.save({f"x{rank}": Broken() if rank == 1 else 1}, checkpoint_id=tmp_path, process_group=group)

    for error in on_ranks(3, save):
        assert isinstance(error, sharded.CheckpointException)
        assert list(error.failures) == [1]
        with pytest.raises(ValueError, match="not this one"):
            raise error.failures[1][0]
