"""Storages: one object each while somebody has it, and references that do not keep them."""

import gc
import threading

import pytest

import tl_core as tl
from tl_core.compat import native
from tl_core.memory import storage_numbers
from tl_core.multiprocessing.reductions import StorageWeakRef


@pytest.mark.parametrize("n", [0, 1, 10, 10_000])
def test_a_reference_says_when_the_storage_is_gone(n):
    x = tl.ones(n)
    reference = StorageWeakRef(x.untyped_storage())
    view = x[1:]
    del x
    assert not reference.expired()
    del view
    assert reference.expired()


def test_references_are_equal_if_the_storage_is_one():
    x, y = tl.ones(3), tl.ones(3)
    a, b = StorageWeakRef(x.untyped_storage()), StorageWeakRef(x[1:].untyped_storage())
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    assert a != StorageWeakRef(y.untyped_storage())
    assert StorageWeakRef(x.storage()) == a
    del x
    assert a == b and a.expired()


def test_a_storage_can_be_had_again():
    x = tl.tensor([1, 2], dtype=tl.uint8)
    number = x.untyped_storage()._weak_ref()
    again = tl.UntypedStorage._new_with_weak_ptr(number)
    assert again.tolist() == [1, 2] and again == x.untyped_storage()
    del x
    assert not tl.UntypedStorage._expired(number)
    del again
    assert tl.UntypedStorage._new_with_weak_ptr(number) is None
    tl.UntypedStorage._free_weak_ref(number)
    with pytest.raises(ValueError, match="no weak reference to a storage"):
        tl.UntypedStorage._free_weak_ref(number)
    with pytest.raises(ValueError, match="no weak reference to a storage"):
        tl.UntypedStorage._expired(-1)


def test_a_storage_has_one_object_while_it_is_held():
    x = tl.ones(3)
    storage = x.untyped_storage()
    assert storage is x[1:].untyped_storage() and storage is x.storage().untyped()
    assert storage is not tl.ones(3).untyped_storage()
    own = tl.UntypedStorage(4)
    assert own is tl.empty(0, dtype=tl.uint8).set_(own).untyped_storage()


def test_shares_are_counted():
    x = tl.ones(3)
    storage = x.untyped_storage()
    alone = storage._use_count()
    view = x[1:]
    assert storage._use_count() == alone + 1
    del view
    assert storage._use_count() == alone
    assert storage._cdata == x.untyped_storage()._cdata != tl.ones(3).untyped_storage()._cdata


def test_shares_by_number():
    x = tl.ones(3)
    number = x.untyped_storage()._cdata
    assert native._storage_Use_Count(number) == 2  # the tensor's, and that of the storage's object
    view, storage = x[1:], x.untyped_storage()
    assert native._storage_Use_Count(number) == 3 and storage._cdata == number
    del view, storage
    assert native._storage_Use_Count(number) == 2
    numbers = [tl.ones(n + 1).untyped_storage()._cdata for n in range(600)]
    assert native._storage_Use_Count(number) == 2 and len(storage_numbers._weak_numbers) < 600
    del x
    for other in (number, numbers[0], 1, -1):
        with pytest.raises(RuntimeError, match="no living storage has the number"):
            native._storage_Use_Count(other)


def test_references_are_locked_while_storages_end():
    """Whoever locks a storage that is ending gets nothing, or keeps it."""
    current = [tl.ones(4)]
    stop = threading.Event()

    def replace():
        while not stop.is_set():
            current[0] = tl.ones(4)

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for _ in range(3000):
            number = current[0].untyped_storage()._weak_ref()
            value = tl.UntypedStorage._new_with_weak_ptr(number)
            assert value is None or value.nbytes() == 16
            tl.UntypedStorage._free_weak_ref(number)
    finally:
        stop.set()
        thread.join()
    gc.collect()
