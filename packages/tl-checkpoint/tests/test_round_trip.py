"""What is saved is loaded: values, types, geometry, sharing."""

from __future__ import annotations

import argparse
import collections
import functools
import io
import mmap
import pathlib
import pickle

import pytest

import tl_checkpoint
import tl_core as tl
from tl_checkpoint import Inert, serialization
from tl_checkpoint.source import MappedSource

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


def again(obj, **options):
    file = io.BytesIO()
    tl_checkpoint.save(obj, file)
    file.seek(0)
    return tl_checkpoint.load(file, **options)


def size_of(obj):
    file = io.BytesIO()
    tl_checkpoint.save(obj, file)
    return len(file.getvalue())


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_dtype(name, protocol):
    t = tl.tensor([0, 1, 3]).to(getattr(tl, name))
    file = io.BytesIO()
    tl_checkpoint.save([t, t[1:], tl.tensor(1).to(t.dtype)], file, pickle_protocol=protocol)
    file.seek(0)
    loaded, part, number = tl_checkpoint.load(file)
    assert loaded.dtype is part.dtype is t.dtype
    assert loaded.tolist() == t.tolist() and part.tolist() == t[1:].tolist() and number.item() == 1
    assert part.untyped_storage().data_ptr() == loaded.untyped_storage().data_ptr()


@pytest.mark.parametrize(
    "make",
    [
        lambda: tl.zeros(0, 3),
        lambda: tl.tensor(2.0),
        lambda: tl.arange(12).reshape(3, 4).t(),
        lambda: tl.arange(12).reshape(3, 4)[::2, 1:],
        lambda: tl.ones(1, 3).expand(5, 3),
    ],
)
def test_geometry(make):
    t = make()
    loaded = again(t)
    assert (loaded.shape, loaded.stride(), loaded.requires_grad) == (t.shape, t.stride(), t.requires_grad)
    assert loaded.tolist() == t.tolist()


def test_requires_grad_is_kept():
    pytest.importorskip("tl_autograd")
    assert again(tl.arange(5.0).requires_grad_()).requires_grad
    assert again(tl.Parameter(tl.ones(2))).requires_grad


def test_a_view_costs_its_own_elements():
    large = tl.arange(1_000_000)
    assert size_of(large[500_000:500_010]) < 2000
    first, second = again([large[10:20], large[15:30]])
    first[5] = -1
    assert second[0].item() == -1 and second.tolist()[1:] == list(range(16, 30))


def test_one_memory_under_several_types():
    full = tl.arange(4, dtype=tl.int32)
    numbers, floats, part = again([full, full.view(tl.float32), full.view(tl.uint8)[4:8]])
    assert part.tolist() == [1, 0, 0, 0] and floats.dtype is tl.float32
    numbers[1] = 0x3F800000
    assert floats[1].item() == 1.0 and part.tolist() == [0, 0, 0x80, 0x3F]


def test_the_same_object_is_the_same_again():
    t, more = tl.ones(2), [1]
    loaded = again({"a": t, "b": t, "c": more, "d": more})
    assert loaded["a"] is loaded["b"] and loaded["c"] is loaded["d"]


def test_parameters_and_subclasses():
    parameter = tl.Parameter(tl.arange(3.0), requires_grad=False)
    parameter.note = "kept"
    loaded = again(parameter)
    assert type(loaded) is tl.Parameter and loaded.note == "kept" and not loaded.requires_grad

    marked = tl.ones(2)
    marked.note = 5
    assert again(marked).note == 5
    with serialization.safe_globals([Special]):
        special = again(tl.zeros(3).as_subclass(Special))
    assert type(special) is Special and special.tolist() == [0, 0, 0]


class Special(tl.Tensor):
    """A subclass."""


class Wrapper(tl.Tensor):
    """A subclass that has no memory; its elements are those of another tensor."""

    @staticmethod
    def __new__(cls, inner):
        return tl.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), dtype=inner.dtype)

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return cls(func(*[arg.inner if isinstance(arg, cls) else arg for arg in args], **(kwargs or {})))


class WithAWayOfItsOwn(Wrapper):
    """A subclass that says itself how it is written."""

    def __reduce_ex__(self, protocol):
        return WithAWayOfItsOwn, (self.inner,)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("kind", [Wrapper, WithAWayOfItsOwn])
def test_subclasses_without_memory(weights_only, kind):
    full = tl.arange(6.0).reshape(2, 3).t()
    with serialization.safe_globals([kind]):
        for tensor in (kind(full), kind(full.double()), tl.Parameter(kind(full), requires_grad=False)):
            result = again({"x": tensor}, weights_only=weights_only)["x"]
            assert type(result) is kind and not result.requires_grad
            assert result.inner.tolist() == full.tolist() and result.stride() == (1, 3)
            assert result.dtype is tensor.dtype
    with pytest.raises(pickle.UnpicklingError, match=kind.__name__):
        again(kind(full))


def test_plain_objects():
    obj = {
        "list": [1, 2.5, None, True, "ü", b"\x00\xff", bytearray(b"x"), (1, (2,)), 2**70, -1, 1j],
        "set": {1, 2},
        "frozen": frozenset([3]),
        "ordered": collections.OrderedDict(b=1, a=2),
        "default": collections.defaultdict(list, {1: [2]}),
        "counter": collections.Counter("aab"),
        "namespace": argparse.Namespace(lr=0.1),
        "path": pathlib.PurePosixPath("/a/b"),
        "range": range(3),
        "size": tl.Size([2, 3]),
        "dtype": tl.bfloat16,
        "device": tl.device("cpu"),
        "layout": tl.strided,
    }
    loaded = again(obj)
    assert loaded == obj
    assert [type(v) for v in loaded.values()] == [type(v) for v in obj.values()]


def test_a_partial_is_data():
    loaded = again(functools.partial(int, base=2))
    assert isinstance(loaded, Inert) and loaded.name == "functools.partial"
    assert not callable(loaded)


def test_numpy_is_data():
    numpy = pytest.importorskip("numpy")
    obj = {
        "array": numpy.arange(6.0).reshape(2, 3),
        "turned": numpy.arange(6, dtype=">i2").reshape(2, 3).T,
        "scalar": numpy.float32(1.5),
        "dtype": numpy.dtype("f4"),
        "text": numpy.array(["ab", "c"]),
    }
    loaded = again([obj, obj])[1]
    for name in ("array", "turned", "text"):
        assert loaded[name].dtype == obj[name].dtype and numpy.array_equal(loaded[name], obj[name])
    assert loaded["scalar"] == 1.5 and type(loaded["scalar"]) is numpy.float32
    assert loaded["dtype"] == numpy.dtype("f4")


def test_tensors_without_memory():
    loaded = again(tl.empty(3, 2, device="meta"))
    assert loaded.is_meta and loaded.shape == (3, 2)
    assert again(tl.ones(2), map_location="meta").is_meta


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("layout", [tl.sparse_csr, tl.sparse_csc, tl.sparse_bsr, tl.sparse_bsc], ids=str)
def test_tensors_in_compressed_rows_and_columns(layout, weights_only):
    blocksize = (2, 2) if layout in (tl.sparse_bsr, tl.sparse_bsc) else None
    x = tl.tensor([[0.0, 2.0, 0.0, 0.0], [3.0, 0.0, 0.0, 1.0]])
    s = x.to_sparse(layout=layout, blocksize=blocksize)
    result = again(s, weights_only=weights_only)
    assert (
        result.layout is layout
        and result.values().tolist() == s.values().tolist()
        and tl.equal(result.to_dense(), x)
    )
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match="is not satisfied"):
        again(tl.sparse_csr_tensor([0, 1], [5], [1.0], (1, 2)))


@pytest.mark.parametrize("weights_only", [True, False])
def test_sparse_tensors(weights_only):
    s = tl.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4.0, 5.0], (2, 3))
    result = again({"s": s, "c": s.coalesce(), "values": s._values()}, weights_only=weights_only)
    assert repr(result["s"]) == repr(s) and not result["s"].is_coalesced() and result["c"].is_coalesced()
    assert result["values"].tolist() == [3.0, 4.0, 5.0]


def test_indices_of_a_file_are_looked_at():
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match="found index 5"):
        again(tl.sparse_coo_tensor([[5]], [1.0], (2,)))


def test_some_keys_only(tmp_path):
    state = {"enc.w": tl.ones(3), "enc.b": tl.zeros(2), "dec.w": tl.full((4,), 7.0)}
    tl_checkpoint.save(state, tmp_path / "x.pt")
    loaded = tl_checkpoint.load(tmp_path / "x.pt", keys="enc.*")
    assert list(loaded) == ["enc.w", "enc.b"] and loaded["enc.w"].tolist() == [1, 1, 1]
    with pytest.raises(KeyError, match="no key of the file matches"):
        tl_checkpoint.load(tmp_path / "x.pt", keys="head.*")


def test_mapped_files(tmp_path):
    path = tmp_path / "x.pt"
    tl_checkpoint.save({"a": tl.arange(1000.0), "b": tl.empty(0)}, path)
    loaded = tl_checkpoint.load(path, mmap=True)
    assert loaded["a"].sum().item() == 499_500 and loaded["b"].numel() == 0
    loaded["a"][1] = 7
    loaded["a"].view(tl.uint8)[-4:] = 0
    assert loaded["a"][[1, 999]].tolist() == [7, 0]
    assert tl_checkpoint.load(path)["a"].tolist() == list(range(1000))
    tl_checkpoint.load(path, mmap=True)["a"].untyped_storage().fill_(0)
    assert tl_checkpoint.load(path, mmap=True)["a"].tolist() == list(range(1000))
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        shared = tl_checkpoint.load(path, mmap=True)
    shared["a"][0] = 5
    assert tl_checkpoint.load(path, mmap=True)["a"][0].item() == 5
    assert loaded["a"][1].item() == 7
    with pytest.raises(ValueError, match="must be a string filename"):
        tl_checkpoint.load(io.BytesIO(path.read_bytes()), mmap=True)


def test_a_mapped_file_can_be_saved_over(tmp_path):
    path = tmp_path / "x.pt"
    tl_checkpoint.save({"a": tl.arange(5000.0)}, path)
    for number in range(3):
        mapped = tl_checkpoint.load(path, mmap=True)["a"]
        mapped.add_(1)
        tl_checkpoint.save({"a": mapped}, path)
        assert mapped[0].item() == number + 1
    assert tl_checkpoint.load(path)["a"].tolist() == [x + 3.0 for x in range(5000)]


def test_a_file_larger_than_the_memory_can_be_mapped(tmp_path):
    path = tmp_path / "hole"
    with open(path, "wb") as file:
        file.truncate(1 << 41)
    source = MappedSource(path)
    source.view[1 << 40] = 3
    assert source.size == 1 << 41 and source.view[1 << 40] == 3
    with open(path, "rb") as file:
        file.seek(1 << 40)
        assert file.read(1) == b"\0"


def test_map_location():
    records = []

    def relocate(storage, location):
        records.append((storage.nbytes(), location))
        return storage

    assert again(tl.ones(2), map_location=relocate).tolist() == [1, 1]
    assert records == [(8, "cpu")]
    assert again(tl.ones(2), map_location={"cpu": "meta"}).is_meta
    with pytest.raises(RuntimeError, match="CUDA device"):
        again(tl.ones(2), map_location="cuda:0")


def test_data_can_be_left_out():
    with serialization.skip_data():
        assert again(tl.ones(3)).tolist() == [0, 0, 0]


def test_files_that_cannot_seek(tmp_path):
    class Pipe:
        def __init__(self, data):
            self.data = data

        def read(self, n=-1):
            n = len(self.data) if n < 0 else n
            part, self.data = self.data[:n], self.data[n:]
            return part

    file = io.BytesIO()
    tl_checkpoint.save({"a": tl.ones(2)}, file)
    assert tl_checkpoint.load(Pipe(file.getvalue()))["a"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: tl_checkpoint.save(1, 5), AttributeError, "with a 'write' attribute, got int"),
        (lambda: tl_checkpoint.load(5), AttributeError, "with a 'read' attribute, got int"),
        (lambda: tl_checkpoint.save(1, io.BytesIO(), pickle_protocol=1), ValueError, "must be 2 to 5, got 1"),
        (lambda: tl_checkpoint.save(1, io.BytesIO(), pickle_module=io), NotImplementedError, "not with 'io'"),
        (lambda: tl_checkpoint.load("/nowhere/x.pt"), FileNotFoundError, "nowhere"),
        (lambda: tl_checkpoint.save(lambda: 0, io.BytesIO()), Exception, "pickle"),
    ],
)
def test_wrong_calls(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_conjugates_and_negatives_stay_views_of_their_memory():
    x = tl.tensor([1 + 2j, 3 - 4j])
    y, c, n = again([x, x.conj(), x.conj().imag])
    assert c.is_conj() and c.tolist() == [1 - 2j, 3 + 4j] and c.data_ptr() == y.data_ptr()
    assert n.is_neg() and n.tolist() == [-2, 4]


def test_names_of_dimensions_are_refused(tmp_path):
    for value in (tl.ones(2, names=("N",)), {"a": [tl.ones(1, 1, names=(None, "C"))]}):
        with pytest.raises(RuntimeError, match="Named tensors don't support serialization"):
            tl_checkpoint.save(value, tmp_path / "t.pt")
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("location", [None, "cpu", "meta"])
def test_fakes_are_read_without_their_data(location):
    from tl_core.subclasses import FakeTensor, FakeTensorMode

    file, x = io.BytesIO(), tl.arange(6.0).view(2, 3)
    tl_checkpoint.save({"x": x, "row": x[1]}, file)
    file.seek(0)
    with FakeTensorMode():
        result = tl_checkpoint.load(file, map_location=location)
        copied = pickle.loads(pickle.dumps(x))
    assert all(isinstance(t, FakeTensor) for t in (*result.values(), copied))
    assert (result["row"].shape, result["row"].stride(), result["row"].storage_offset()) == ((3,), (1,), 3)
    assert result["x"].device.type == (location or "cpu")
    assert result["x"].untyped_storage()._cdata == result["row"].untyped_storage()._cdata


class Broken:
    def __reduce__(self):
        raise ValueError("no state")


def test_tracebacks_keep_only_frames_that_tell_the_cause():
    with pytest.raises(pickle.PicklingError) as caught:
        tl_checkpoint.save({"a": [{"b": lambda x: x}]}, io.BytesIO())
    assert len(caught.traceback) <= 4
    with pytest.raises(ValueError, match="no state") as caught:
        tl_checkpoint.save({"a": [Broken()]}, io.BytesIO())
    assert caught.traceback[-1].name == "__reduce__"
