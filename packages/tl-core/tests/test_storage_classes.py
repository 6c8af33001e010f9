"""What storages can do beyond being viewed: where they come from, other types and devices, sharing, refusals."""

from __future__ import annotations

import array
import copy
import os
import pickle
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tl_core as tl
from tl_core.memory.mapped_memory import map_descriptor

TYPES = {
    tl.BFloat16Storage: tl.bfloat16,
    tl.BoolStorage: tl.bool,
    tl.ByteStorage: tl.uint8,
    tl.CharStorage: tl.int8,
    tl.ComplexDoubleStorage: tl.complex128,
    tl.ComplexFloatStorage: tl.complex64,
    tl.DoubleStorage: tl.float64,
    tl.FloatStorage: tl.float32,
    tl.HalfStorage: tl.float16,
    tl.IntStorage: tl.int32,
    tl.LongStorage: tl.int64,
    tl.ShortStorage: tl.int16,
}


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_classes_of_one_type(kind):
    result = kind([0, 1])
    assert type(result) is tl.TypedStorage
    assert isinstance(result, kind)
    assert isinstance(result, tl.TypedStorage)
    assert issubclass(kind, tl.TypedStorage)
    assert not any(isinstance(result, other) for other in TYPES if other is not kind)
    assert result.dtype is kind.dtype is TYPES[kind]
    assert result.tolist() == [0, 1]
    assert result.type() == f"torch.{kind.__name__}"
    assert result.pickle_storage_type() == kind.__name__
    assert len(kind()) == 0
    assert kind(3).nbytes() == 3 * TYPES[kind].itemsize
    assert kind(wrap_storage=result.untyped()) == result
    assert tl.is_storage(result)
    assert pickle.loads(pickle.dumps(result)).tolist() == [0, 1]
    assert pickle.loads(pickle.dumps(kind)) is kind


def test_the_class_of_the_default_type():
    assert tl.Storage.dtype is tl.float32
    tl.set_default_dtype(tl.float64)
    try:
        assert tl.Storage([1.5]).dtype is tl.Storage.dtype is tl.TypedStorage(2).dtype is tl.float64
        assert isinstance(tl.DoubleStorage(1), tl.Storage)
    finally:
        tl.set_default_dtype(tl.float32)


@pytest.mark.parametrize("name", ["QInt32", "QInt8", "QUInt2x4", "QUInt4x2", "QUInt8"])
def test_quantized_storages_are_memory(name):
    storage = getattr(tl, f"{name}Storage")(3)
    assert storage.dtype is getattr(tl, name.lower())
    assert (storage.size(), storage.nbytes()) == (3, 3 * storage.dtype.itemsize)
    with pytest.raises(RuntimeError, match="are not numbers"):
        storage.tolist()


def test_conversion_to_float8():
    assert tl.FloatStorage([1.5, 1000.0]).float8_e5m2().tolist() == [1.5, 1024.0]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: tl.UntypedStorage(-1), RuntimeError, "0 or more, got -1"),
        (lambda: tl.UntypedStorage(True), RuntimeError, "Expected a sequence type, but got bool"),
        (lambda: tl.UntypedStorage([1.5]), RuntimeError, "type float instead of int"),
        (lambda: tl.UntypedStorage("a"), RuntimeError, "type str instead of int"),
        (lambda: tl.UntypedStorage(2).resize_(-1), RuntimeError, "0 or more, got -1"),
        (lambda: tl.UntypedStorage(2).copy_(tl.UntypedStorage(3)), RuntimeError, "2 bytes but src was 3"),
        (lambda: tl.FloatStorage("abc"), TypeError, "a size or a sequence"),
        (lambda: tl.FloatStorage(3, dtype=tl.int8), RuntimeError, "'dtype' cannot be specified"),
        (lambda: tl.FloatStorage(wrap_storage=3), TypeError, "must be UntypedStorage, but got int"),
        (lambda: tl.TypedStorage(3, 4), TypeError, "got 2 arguments"),
        (lambda: tl.UntypedStorage(3)[::2], RuntimeError, "step of 2"),
        (lambda: tl.UntypedStorage(3)[3], IndexError, "index 3 out of range for storage of size 3"),
        (lambda: tl.FloatStorage(3)[-4], IndexError, "index -4 out of range"),
        (lambda: tl.UntypedStorage(3)["a"], TypeError, "can't index a torch.UntypedStorage with str"),
        (lambda: tl.UntypedStorage(3).__setitem__(0, 1.5), RuntimeError, "but got float instead"),
        (lambda: tl.UntypedStorage(3).byteswap(tl.int16), RuntimeError, "whole elements of 2 bytes"),
        (lambda: tl.UntypedStorage(3).pin_memory(), RuntimeError, "no"),
        (lambda: tl.TypedStorage.from_file("x", True, 3), RuntimeError, "only be called on derived classes"),
        (lambda: tl.FloatStorage(3).type("torch.Nothing"), TypeError, "'torch.Nothing'"),
        (lambda: tl.zeros(1, dtype=tl.uint16).storage().pickle_storage_type(), KeyError, "uint16"),
    ],
)
def test_refusals(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_slices_and_items():
    storage = tl.UntypedStorage([1, 2, 300])
    assert storage.tolist() == [1, 2, 44]
    assert storage[-1] == 44
    assert storage[7:9].tolist() == []
    part = storage[1:]
    part.fill_(0)
    assert (part.tolist(), storage.tolist()) == ([0, 0], [1, 0, 0])
    assert part.data_ptr() == storage.data_ptr() + 1
    assert (part.nbytes(), part.resizable(), storage.resizable()) == (2, False, True)
    assert part != storage
    storage[0:2] = -7
    assert storage.tolist() == [249, 249, 0]
    del storage
    assert part.tolist() == [249, 0]
    typed = tl.FloatStorage([1, 2, 3])
    typed[0:2] = 7
    assert typed.tolist() == [7.0, 7.0, 3.0]
    assert typed[-1] == 3.0


def test_conversions():
    assert tl.UntypedStorage([0, 0, 128, 63]).float().tolist() == [0.0, 0.0, 128.0, 63.0]
    assert tl.FloatStorage([1.5, -2]).int().tolist() == [1, -2]
    assert tl.LongStorage([0, 3]).bool().tolist() == [False, True]
    assert tl.IntStorage([1]).complex_double().tolist() == [1 + 0j]
    assert tl.FloatStorage([1.5]).type("torch.IntStorage").tolist() == [1]
    assert tl.FloatStorage([1.5]).type(tl.DoubleStorage).dtype is tl.float64
    assert tl.UntypedStorage([3]).type(tl.int16).tolist() == [3]
    same = tl.FloatStorage([1.5])
    assert same.type(tl.float32) is same
    assert tl.UntypedStorage(3).type() == "torch.storage.UntypedStorage"


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=9))
def test_byte_orders(values):
    big = struct.pack(f">{len(values)}i", *values)
    assert tl.IntStorage.from_buffer(big, "big").tolist() == values
    assert tl.IntStorage.from_buffer(big[::-1], "little").tolist() == values[::-1]
    storage = tl.IntStorage(values).untyped()
    storage.byteswap(tl.int32)
    assert bytes(storage.tolist()) == big


def test_complex_numbers_swap_by_parts():
    storage = tl.UntypedStorage.from_buffer(struct.pack(">2f", 1.5, -2), "big", dtype=tl.complex64)
    assert tl.ComplexFloatStorage(wrap_storage=storage).tolist() == [1.5 - 2j]


def test_buffers():
    assert tl.ByteStorage.from_buffer(b"ab").tolist() == [97, 98]
    assert tl.BoolStorage.from_buffer(b"\x00\x01\x02").tolist() == [False, True, True]
    full = array.array("h", [1, 2, 3, 4])
    assert tl.ShortStorage.from_buffer(full, "native", 2, 2).tolist() == [2, 3]
    source = bytearray(4)
    result = tl.IntStorage.from_buffer(source, byte_order="little")
    source[0] = 1
    assert result.tolist() == [0]
    for arguments, error, text in [
        ((b"abcde", "little"), ValueError, r"buffer size \(5\) must be a multiple of element size \(4\)"),
        ((b"abcdefgh", "little", 4, 1), ValueError, "only 1 elements after offset 1"),
        ((b"abcd", "little", -1, 5), ValueError, "offset must be non-negative"),
        ((b"abcd",), TypeError, "needs byte_order"),
        ((b"abcd", "middle"), ValueError, "'middle'"),
    ]:
        with pytest.raises(error, match=text):
            tl.FloatStorage.from_buffer(*arguments)


def test_private_maps_of_files(tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(struct.pack("=3f", 1, 2, 3))
    storage = tl.FloatStorage.from_file(str(path), False, 3)
    storage[0] = 9
    assert storage.tolist() == [9, 2, 3]
    assert path.read_bytes() == struct.pack("=3f", 1, 2, 3)
    assert storage.filename is None
    assert not storage.is_shared()
    assert not storage.resizable()
    with pytest.raises(RuntimeError, match="size <12> is smaller than the required mapping size <16>"):
        tl.FloatStorage.from_file(str(path), False, 4)
    with pytest.raises(RuntimeError, match="unable to open file"):
        tl.UntypedStorage.from_file(str(tmp_path / "none"), False, 4)
    assert tl.UntypedStorage.from_file(str(path)).nbytes() == 0


def test_shared_maps_of_files(tmp_path):
    path = tmp_path / "data.bin"
    storage = tl.UntypedStorage.from_file(path, shared=True, nbytes=4)
    assert (storage.filename, storage.is_shared()) == (str(path), True)
    storage[1] = 7
    again = tl.ByteStorage.from_file(path, True, 4)
    assert again.tolist() == [0, 7, 0, 0]
    assert path.read_bytes() == b"\0\7\0\0"
    view = tl.tensor([], dtype=tl.uint8).set_(storage, 1, (2,), (1,))
    del storage
    assert view.tolist() == [7, 0]
    assert view.untyped_storage().filename == str(path)


def test_sharing_moves_every_view():
    full = tl.arange(6)
    part = full[2:4]
    storage = part.untyped_storage()
    assert not storage.is_shared()
    assert storage.share_memory_() is storage
    assert storage.share_memory_().is_shared()
    assert full.untyped_storage().is_shared()
    assert full.data_ptr() == storage.data_ptr()
    assert (full.tolist(), part.tolist()) == ([0, 1, 2, 3, 4, 5], [2, 3])
    with pytest.raises(RuntimeError, match="not resizable"):
        storage.resize_(9)
    assert tl.FloatStorage._new_shared(2).tolist() == [0.0, 0.0]
    assert tl.UntypedStorage(0).share_memory_().nbytes() == 0


def test_another_process_sees_shared_memory():
    values = tl.zeros(3, dtype=tl.uint8)
    storage = values.untyped_storage().share_memory_()
    child = os.fork()
    if child == 0:
        records = memoryview(map_descriptor(os.dup(storage._mapped().descriptor), 3))
        records[1] = 5
        values[2] = 6
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert values.tolist() == [0, 5, 6]


def test_shared_memory_is_given_back():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        tl.zeros(4).untyped_storage().share_memory_()
    assert len(os.listdir("/proc/self/fd")) == before


def test_read_only_memory_is_never_written():
    with pytest.warns(UserWarning, match="not writable"):
        storage = tl.frombuffer(b"abc", dtype=tl.uint8).untyped_storage()
    writes = [
        lambda: storage.fill_(0),
        lambda: storage.copy_(tl.UntypedStorage(3)),
        lambda: storage.__setitem__(0, 1),
        lambda: storage.byteswap(tl.uint8) or storage.fill_(1),
        lambda: tl.ByteStorage(wrap_storage=storage).__setitem__(0, 1),
        lambda: storage.resize_(9),
    ]
    for write in writes:
        with pytest.raises(RuntimeError, match=r"read-only|not resizable"):
            write()
    assert storage.tolist() == [97, 98, 99]


def test_devices():
    storage = tl.UntypedStorage([1, 2])
    assert storage.to(device="cpu") is storage.cpu() is storage.untyped() is storage
    assert storage.get_device() == -1
    on_meta = storage.to(device="meta")
    assert (on_meta.nbytes(), on_meta.device.type) == (2, "meta")
    assert repr(on_meta) == "...\n[torch.storage.UntypedStorage(device=meta) of size 2]"
    assert tl.UntypedStorage(3, device="meta").new().device.type == "meta"
    typed = tl.FloatStorage(2)
    assert typed.cpu() is typed
    assert not any((storage.is_cuda, storage.is_hpu, storage.is_sparse, storage.is_sparse_csr, typed.is_cuda))


def test_copies_are_apart_and_shared_ones_stay_together():
    x = tl.arange(3)
    first, second = copy.deepcopy([x.storage(), x[1:].untyped_storage()])
    assert first.untyped() == second
    assert copy.copy(x.storage()).untyped() != x.untyped_storage()
    assert x.storage() == x.storage()
    assert x.storage() != 3


def test_storages_as_data():
    x = tl.tensor([1.5, 2.5])
    copied = tl.tensor(x.storage())
    assert copied.equal(x)
    assert copied.data_ptr() != x.data_ptr()
    assert tl.tensor(x.untyped_storage(), dtype=tl.float32).equal(x)
    with pytest.raises(RuntimeError, match="Expected a Storage of type"):
        tl.tensor(x.storage(), dtype=tl.int32)
    with pytest.raises(RuntimeError, match="Expected a Storage of type"):
        tl.tensor([], dtype=tl.int32).set_(x.storage())


def test_storages_on_meta_have_no_values():
    storage = tl.zeros(3, device="meta").storage()
    for read in (storage.tolist, lambda: storage[0], storage.untyped().tolist):
        with pytest.raises(NotImplementedError, match="Not available for 'meta'"):
            read()
    for share in (storage.share_memory_, storage._share_fd_cpu_, storage._share_filename_cpu_):
        with pytest.raises(RuntimeError, match="only available on CPU"):
            share()


def test_a_descriptor_of_shared_memory():
    storage = tl.arange(3).untyped_storage()
    descriptor, nbytes = storage._share_fd_cpu_()
    assert os.pread(descriptor, nbytes, 0)[8] == 1
    os.close(descriptor)


def test_index_add_checks_the_shape_of_scalars_too():
    with pytest.raises(RuntimeError, match="source tensor shape must match self tensor shape"):
        tl.tensor(0.0).index_add(0, tl.tensor([0]), tl.ones(1, 1, 1))
    assert tl.tensor(1.0).index_add(0, tl.tensor([0]), tl.ones(1)).item() == 2


def test_a_storage_of_a_storage_is_a_copy():
    source = tl.UntypedStorage([1, 2, 255])
    result = tl.UntypedStorage(source)
    result[0] = 7
    assert result.tolist() == [7, 2, 255] and source.tolist() == [1, 2, 255]
