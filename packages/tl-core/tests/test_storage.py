"""Storages: the memory that tensors are views of."""

from __future__ import annotations

import copy
import pickle

import pytest

import tl_core as tl
from tl_core.storage import bytes_of, memory_of


def test_views_have_one_storage():
    x = tl.arange(6, dtype=tl.int32)
    view = x[2:]
    storage = view.untyped_storage()
    assert storage == x.untyped_storage()
    assert hash(storage) == hash(x.untyped_storage())
    assert (storage.nbytes(), len(storage), storage.data_ptr()) == (24, 24, x.data_ptr())
    assert x.clone().untyped_storage() != storage


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x[3:7],
        lambda x: x[5:5],
        lambda x: x[4],
        lambda x: x.view(4, 5)[1:3, ::2],
        lambda x: x.view(4, 5).t()[1:],
        lambda x: x[7:8].expand(6, 1, 3),
        lambda x: x.view(4, 5).diagonal(),
    ],
)
def test_the_bytes_that_a_view_reaches(view):
    x = tl.arange(20, dtype=tl.int16)
    own, reached = view(x), view(x).reshape(-1).tolist()
    bounds = (2 * min(reached), 2 * (max(reached) + 1)) if reached else (0, 0)
    assert memory_of(own) == (memory_of(x)[0], 40, *bounds)
    assert bytes_of(own, *bounds).tolist() == x.view(tl.uint8)[slice(*bounds)].tolist()
    assert memory_of(x.clone())[0] != memory_of(x)[0]


def test_bytes_are_read_and_written():
    x = tl.tensor([1, 2], dtype=tl.int16)
    storage = x.untyped_storage()
    assert storage.tolist() == list(storage) == [1, 0, 2, 0]
    storage[0] = 7
    assert x.tolist() == [7, 2]
    assert storage[0] == 7
    storage.fill_(0)
    assert x.tolist() == [0, 0]
    assert storage[1:3].tolist() == [0, 0]


def test_typed_storages_read_elements():
    x = tl.tensor([1.5, 2.5])
    storage = x.storage()
    assert (storage.dtype, storage.size(), storage.nbytes(), storage.tolist()) == (
        tl.float32,
        2,
        8,
        [1.5, 2.5],
    )
    storage[1] = 4.0
    assert x.tolist() == [1.5, 4.0]
    with pytest.raises(RuntimeError, match="slices are only supported"):
        storage[0:1]


def test_texts():
    assert repr(tl.tensor([1, 2], dtype=tl.uint8).untyped_storage()) == (
        " 1\n 2\n[torch.storage.UntypedStorage(device=cpu) of size 2]"
    )
    assert repr(tl.tensor([1, 2]).storage()) == (
        " 1\n 2\n[torch.storage.TypedStorage(dtype=torch.int64, device=cpu) of size 2]"
    )


def test_resizing_keeps_what_fits():
    x = tl.tensor([1, 2], dtype=tl.uint8)
    storage = x.untyped_storage()
    storage.resize_(4)
    assert storage.nbytes() == 4
    assert storage.tolist()[:2] == [1, 2]
    with pytest.raises(RuntimeError, match="not resizable"):
        tl.frombuffer(bytearray(2), dtype=tl.uint8).untyped_storage().resize_(4)


def test_copies():
    storage = tl.tensor([1, 2], dtype=tl.uint8).untyped_storage()
    for result in (storage.clone(), copy.deepcopy(storage), pickle.loads(pickle.dumps(storage))):
        assert result.tolist() == [1, 2]
        assert result.data_ptr() != storage.data_ptr()
    other = tl.zeros(2, dtype=tl.uint8).untyped_storage()
    other.copy_(storage)
    assert other.tolist() == [1, 2]


def test_set_changes_the_view():
    x = tl.arange(6)
    y = tl.empty(0, dtype=tl.int64)
    y.set_(x.untyped_storage(), 1, (2, 2), (2, 1))
    assert y.tolist() == [[1, 2], [3, 4]]
    y[0, 0] = 9
    assert x[1] == 9
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        y.set_(x.untyped_storage(), 1, (6,), (1,))


@pytest.mark.parametrize(
    ("sizes", "strides", "offset"),
    [
        ((5,), (1,), 0),
        ((2**62,), (1,), 0),
        ((2, 2**61), (2**61, 1), 0),
        ((2,), (2**62,), 0),
        ((1,), (1,), 2**62),
        ((1,), (1,), -1),
        ((-1,), (1,), 0),
        ((2,), (-1,), 1),
        ((2, 2), (1,), 0),
    ],
)
def test_no_geometry_reaches_beyond_a_storage(sizes, strides, offset):
    memory = tl.zeros(4)
    with pytest.raises(RuntimeError):
        tl._C._with_storage(memory, tl.float32, sizes, strides, offset)
    with pytest.raises(RuntimeError):
        tl.as_strided(memory, sizes, strides, offset)
