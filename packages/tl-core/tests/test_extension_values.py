"""Storages, streams, objects of extensions and of Python as values of the C interface; layers in their order."""

from __future__ import annotations

import ctypes
import gc
import sys

import pytest
import table_calls as table
from test_extension_table import CALL, INT, LayerEntry, P, entry, pending, register

import tl_core as tl

STREAM, OBJECT, STORAGE, CAPSULE = 12, 14, 15, 16
AUTOCAST, AUTOGRAD, BATCH, MESH, NAMES = 1, 5, 17, 18, 16
RUNTIME, VALUE, TYPE = 1, 2, 3
value_own = table.core.entry("value_own", INT, ctypes.POINTER(table.Value), ctypes.POINTER(table.Value))


def forward(ctx, args, n_args, rets, n_rets):
    """A kernel that returns its first argument."""
    return value_own(ctypes.byref(args[0]), ctypes.byref(rets[0]))


# ---- layers ----------------------------------------------------------------------------------------------------------
def order() -> list[int]:
    """The numbers of the layers, in their order."""
    layer_order = entry("layer_order", ctypes.c_size_t, ctypes.POINTER(INT), ctypes.c_size_t)
    count = layer_order(None, 0)
    numbers = (INT * (count + 1))(*[-1] * (count + 1))
    assert layer_order(numbers, count) == count and numbers[count] == -1
    assert layer_order(numbers, 2) == count
    return list(numbers)[:count]


def test_the_order_is_apart_from_the_numbers():
    numbers = order()
    assert sorted(numbers) == list(range(len(numbers))) and numbers != sorted(numbers)
    assert numbers.index(BATCH) < numbers.index(MESH) < numbers.index(AUTOGRAD)
    assert numbers[-1] == NAMES


@pytest.mark.parametrize("call", [table.op_call_below, table.op_call_past])
def test_a_call_meets_layers_in_their_order(call):
    operator = register(b"layered::same(Tensor x) -> Tensor", forward)
    met, kernels = [], []
    set_entry = entry("layer_entry_set", INT, P, INT, LayerEntry, P)
    include = table.core.entry("thread_include", None, ctypes.c_uint64, INT)
    layers = [AUTOGRAD, MESH, AUTOCAST, BATCH]
    for layer in layers:

        def note(ctx, args, n_args, rets, n_rets, layer=layer):
            met.append(layer)
            return call(operator, layer, args, n_args, rets, n_rets)

        kernels.append(CALL(note))
        assert set_entry(operator, layer, LayerEntry(ctypes.cast(kernels[-1], P)), None) == 0
    try:
        for on in (layers, [MESH], [BATCH, AUTOGRAD], [AUTOCAST, MESH]):
            bits = sum(1 << layer for layer in on)
            met.clear()
            include(bits, 1)
            try:
                assert table.outcome(operator, [table.X], 1) == ""
            finally:
                include(bits, 0)
            assert met == [layer for layer in order() if layer in on and layer in layers]
    finally:
        assert entry("op_remove", INT, P)(operator) == 0


@pytest.mark.parametrize("call", [table.op_call_below, table.op_call_past])
@pytest.mark.parametrize("layer", [-1, 64, 1 << 20])
def test_a_layer_that_is_none(call, layer):
    args, rets = (table.Value * 1)(table.X), (table.Value * 1)()
    assert call(table.op_find(b"neg"), layer, args, 1, rets, 1) == -1
    kind, message = pending()
    assert kind == VALUE and message.startswith(f"layer {layer} is out of range [0, ")


def test_a_layer_of_another():
    install = table.core.entry("layer_install", INT, INT, P, P)
    assert install(AUTOCAST, ctypes.cast(CALL(forward), P), None) == -1
    assert pending() == (RUNTIME, f"layer {AUTOCAST} is already installed")


# ---- storages --------------------------------------------------------------------------------------------------------
def test_storages():
    received = []
    storage_bytes = entry("storage_bytes", ctypes.c_int64, P)

    def note(ctx, args, n_args, rets, n_rets):
        received.append(args[0].tag and storage_bytes(args[0].bits))
        return forward(ctx, args, n_args, rets, n_rets)

    operator = register(b"counted::storage(Storage? s) -> Storage?", note)
    count = entry("storage_refcount", ctypes.c_int64, P)
    t = tl.arange(3.0)
    handle = entry("storage_of", P, P)(table._unwrap(t))
    before = count(handle)
    result = tl.ops.counted.storage(t.untyped_storage())
    assert result is t.untyped_storage() and result.nbytes() == 12
    assert tl.ops.counted.storage(t.storage()).data_ptr() == t.data_ptr()
    assert tl.ops.counted.storage(None) is None
    assert received == [12, 12, 0]
    del result
    gc.collect()
    assert count(handle) <= before + 1  # the object of Python has its share
    for wrong in (t, 3, b"bytes"):
        with pytest.raises(TypeError, match=r"argument 's' .*must be torch\.Storage, not"):
            tl.ops.counted.storage(wrong)
    owned = (table.Value * 1)()
    args = (table.Value * 1)(table.Value(STORAGE, 0, handle))
    before = count(handle)
    assert table.op_call(operator, args, 1, owned, 1) == 0
    assert owned[0].tag == STORAGE and owned[0].bits == handle and count(handle) == before + 1
    table.value_release(ctypes.byref(owned[0]))
    assert owned[0].tag == 0 and count(handle) == before
    for value, text in (
        (table.Value(STORAGE, 0, 0), "Storage whose pointer is NULL"),
        (table.X, "Tensor"),
        (table.Value(CAPSULE, 0, handle), "Capsule"),
    ):
        expected = f"counted::storage(): argument 's' (position 1) must be Storage or None, not {text}"
        assert table.outcome(operator, [value], 1) == expected


def test_a_storage_outlives_its_tensor():
    register(b"counted::kept(Storage s) -> Storage", forward)
    t = tl.tensor([1, 2, 3], dtype=tl.uint8)
    storage = tl.ops.counted.kept(t.untyped_storage())
    del t
    gc.collect()
    assert storage.tolist() == [1, 2, 3]


# ---- streams ---------------------------------------------------------------------------------------------------------
class Stream:
    """What a stream of a program's own has."""

    def __init__(self, number, device):
        self.stream_id, self.device = number, device


def test_streams():
    received = []

    def note(ctx, args, n_args, rets, n_rets):
        received.append((args[0].tag, args[0].len >> 16, args[0].len & 0xFFFF, args[0].bits))
        rets[0] = table.Value(table.INT, 0, args[0].bits)
        return 0

    register(b"counted::stream(Stream s) -> int", note)
    assert tl.ops.counted.stream(Stream(7, tl.device("cpu"))) == 7
    assert tl.ops.counted.stream(Stream(-3, tl.device("meta", 2))) == -3
    assert received == [(STREAM, 1, 0xFFFF, 7), (STREAM, 0x7F, 2, -3)]
    for wrong in (0, None, Stream("0", tl.device("cpu")), Stream(0, "cpu")):
        with pytest.raises(TypeError, match=r"argument 's' .*must be torch\.Stream, not"):
            tl.ops.counted.stream(wrong)


def test_a_stream_as_a_result():
    streams = pytest.importorskip("tl_backends.streams", reason="tl-backends has the class of streams")
    register(b"counted::same_stream(Stream s) -> Stream", forward)
    given = streams.Stream(stream_id=5, device_index=0, device_type=0)
    result = tl.ops.counted.same_stream(given)
    assert type(result) is streams.Stream
    assert (result.stream_id, result.device_index, result.device.type) == (5, 0, "cpu")


# ---- objects of extensions -------------------------------------------------------------------------------------------
class CapsuleType(ctypes.Structure):
    """TlCapsuleType."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("destroy", P)]


create = entry("capsule_create", P, P, P)
data_of = entry("capsule_data", P, P, P)
release = entry("capsule_release", None, P)
DESTROYED: list[int] = []
DESTROY = ctypes.CFUNCTYPE(None, P)(DESTROYED.append)
KIND = CapsuleType(ctypes.sizeof(CapsuleType), b"test.table", ctypes.cast(DESTROY, P))
OTHER = CapsuleType(ctypes.sizeof(CapsuleType), b"test.other", None)


def object_of(number):
    """A capsule with a number in the place of its data."""
    return create(number, ctypes.addressof(KIND))


def test_capsules():
    def new(ctx, args, n_args, rets, n_rets):
        rets[0] = table.Value(CAPSULE, 0, object_of(args[0].bits))
        return 0

    def number(ctx, args, n_args, rets, n_rets):
        data = data_of(args[0].bits, ctypes.addressof(KIND))
        rets[0] = table.Value(table.INT, 0, data or 0)
        return 0 if data else -1

    register(b"counted::new(int number) -> Capsule", new)
    register(b"counted::number(Capsule c) -> int", number)
    register(b"counted::same(Capsule? c) -> Capsule?", forward)
    space = tl.ops.counted
    DESTROYED.clear()
    c = space.new(11)
    assert 'capsule object "test.table"' in repr(c)
    assert space.number(c) == 11
    again = space.same(c)
    assert again is not c and space.number(again) == 11 and space.same(None) is None
    del c
    assert DESTROYED == []
    del again
    assert DESTROYED == [11]
    foreign = tl._C.api_v1  # a capsule of another kind
    for wrong in (foreign, 11, object()):
        with pytest.raises(TypeError, match=r"argument 'c' .*must be a capsule of an extension, not"):
            space.number(wrong)


def test_capsules_of_another_type():
    capsule = object_of(5)
    assert data_of(capsule, ctypes.addressof(KIND)) == 5
    assert data_of(capsule, ctypes.addressof(OTHER)) is None
    expected = "capsule_data: expected an object of the type 'test.other', got one of 'test.table'"
    assert pending() == (TYPE, expected)
    assert data_of(None, ctypes.addressof(KIND)) is None and pending()[0] == TYPE
    DESTROYED.clear()
    entry("capsule_retain", None, P)(capsule)
    release(capsule)
    assert DESTROYED == []
    release(capsule)
    release(None)
    assert DESTROYED == [5]


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (0, KIND, "the data of 'test.table' is NULL"),
        (1, CapsuleType(8, b"small"), "TlCapsuleType.struct_size is too small"),
        (1, CapsuleType(ctypes.sizeof(CapsuleType), b""), "the type has no name"),
        (1, None, "the type is NULL"),
    ],
)
def test_wrong_capsules(data, kind, message):
    assert create(data, ctypes.addressof(kind) if kind else None) is None
    assert pending() == (VALUE, f"capsule_create: {message}")


# ---- objects of Python -----------------------------------------------------------------------------------------------
def test_objects_are_counted():
    operator = register(b"counted::any(Any o) -> Any", forward)
    o = object()
    before = sys.getrefcount(o)
    assert tl.ops.counted.any(o) is o
    assert sys.getrefcount(o) == before
    args, rets = (table.Value * 1)(table.Value(OBJECT, 0, id(o))), (table.Value * 1)()
    for _ in range(3):
        assert table.op_call(operator, args, 1, rets, 1) == 0
    assert rets[0].bits == id(o) and sys.getrefcount(o) == before + 3
    for _ in range(3):
        value = table.Value(OBJECT, 0, id(o))
        table.value_release(ctypes.byref(value))
        assert value.tag == 0
    assert sys.getrefcount(o) == before
