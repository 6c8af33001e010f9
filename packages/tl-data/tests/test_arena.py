"""The shared memory of workers: blocks, their allocation, and messages whose large buffers are in it."""

import gc
import os
import pickle

import pytest

import tl_core
from tl_data import messages, spool
from tl_data.arena import Arena, Descriptor, Region, anonymous_file

PAGE = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def region():
    return Region(Descriptor(anonymous_file(2 * PAGE)), PAGE, PAGE)


def test_memory_without_a_name():
    descriptor = anonymous_file(3 * PAGE)
    assert os.fstat(descriptor).st_size == 3 * PAGE and os.fstat(descriptor).st_nlink == 0
    assert os.pread(descriptor, 4, PAGE) == b"\0\0\0\0"
    Descriptor(descriptor).close()
    with pytest.raises(OSError):
        os.fstat(descriptor)


def test_blocks_are_aligned_and_joined_again(region):
    first, second, third = (region.allocate(n) for n in (1, 100, 64))
    assert (first, second, third) == (0, 64, 192)
    assert region.allocate(PAGE) is None
    region.free(first)
    region.free(third)
    region.free(second)
    assert region.allocate(PAGE) == 0


def test_the_first_gap_with_room_is_used(region):
    offsets = [region.allocate(64) for _ in range(4)]
    region.free(offsets[1])
    assert region.allocate(65) == 256 and region.allocate(10) == offsets[1]


def test_bytes_are_at_their_offset_in_the_arena():
    arena = Arena(2 * PAGE, 2)
    assert arena.share == PAGE == Arena(1, 1).share
    region = Region(Descriptor(os.dup(arena.descriptor.number)), PAGE, PAGE)
    offset = region.store(memoryview(b"abcdef"))
    assert offset == PAGE and region.store(memoryview(bytes(PAGE))) is None
    block = arena.block(1, offset, 6)
    assert bytes(block) == b"abcdef" and arena.pop_released(1) == []
    del block
    gc.collect()
    assert arena.pop_released(0) == [] and arena.pop_released(1) == [offset]
    region.release([offset])
    assert region.allocate(PAGE) == 0


def test_tensors_in_the_region(region):
    tensor = region.tensor((2, 3), tl_core.float32)
    assert tensor.shape == (2, 3) and region.tensor((PAGE,), tl_core.float32) is None
    assert region.hand_over(tl_core.zeros(2, 3)) is None
    assert region.hand_over(tensor) == PAGE and region.hand_over(tensor) is None
    unsent = region.tensor((4,), tl_core.int64)
    assert unsent.data_ptr() - tensor.data_ptr() == 64
    region.discard_unsent()
    assert region.allocate(8) == 64


class Storage:
    """The storage of a sender and of a receiver, a list: `Slots` and `Stored`."""

    def __init__(self, room=10):
        self.room, self.blocks, self.released = room, [], []

    def hand_over(self, tensor):
        return None

    def store(self, data):
        if len(self.blocks) == self.room:
            return None
        self.blocks.append(bytes(data))
        return len(self.blocks) - 1

    def release(self, offsets):
        self.released += offsets

    def block(self, worker, offset, size):
        assert worker == 3 and len(self.blocks[offset]) == size
        return memoryview(bytearray(self.blocks[offset]))


def test_large_buffers_are_in_the_storage():
    large, small = tl_core.arange(1000.0), tl_core.arange(3)
    storage: messages.Slots = Storage()
    data = messages.encode({"large": large, "small": small, "empty": tl_core.ones(0, 2)}, storage)
    assert [len(b) for b in storage.blocks] == [4000] and len(data) < 2000
    stored: messages.Stored = storage
    message = messages.decode(data, stored, 3)
    assert tl_core.equal(message["large"], large) and message["small"].tolist() == [0, 1, 2]
    assert message["empty"].shape == (0, 2)


def test_buffers_without_room_are_in_the_pickle():
    tensors = [tl_core.full((1000,), float(i)) for i in range(2)]
    storage = Storage(room=1)
    data = messages.encode(tensors, storage)
    assert len(storage.blocks) == 1 and 4000 < len(data) < 6000
    assert [t[0].item() for t in messages.decode(data, storage, 3)] == [0.0, 1.0]
    assert len(messages.encode(tensors, None)) > 8000


def test_a_message_that_cannot_be_pickled_frees_its_buffers():
    storage = Storage()
    with pytest.raises((AttributeError, pickle.PicklingError)):
        messages.encode([tl_core.zeros(1000), lambda: None], storage)
    assert storage.released == [0]


def test_a_configuration_in_memory():
    message = {"rows": tl_core.arange(5000.0), "name": "data"}
    descriptor, pickled = spool.write(message)
    assert b"data" in pickled and len(pickled) < 2000
    assert os.fstat(descriptor.number).st_size >= 20000
    copy = spool.read(descriptor)
    assert tl_core.equal(copy["rows"], message["rows"]) and copy["name"] == "data"
    copy["rows"].zero_()
    assert message["rows"][1].item() == 1.0
