"""What makes people switch the safety off loads without: as data, or as an inert record."""

from __future__ import annotations

import argparse
import collections
import datetime
import enum
import functools
import io
import pathlib
import pickle
import sys
import types
from dataclasses import dataclass, field

import pytest

import tl_checkpoint
import tl_core as tl
from tl_checkpoint import Inert
from tl_checkpoint.serialization import safe_globals


class Color(enum.Enum):
    RED = "red"
    BLUE = 2


class Right(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Config:
    rate: float
    layers: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        raise AssertionError("what a file describes isn't initialised")


@dataclass(frozen=True, slots=True)
class Fixed:
    size: int


class Point(collections.namedtuple("Point", "x y")):
    pass


def own_function(x):
    raise AssertionError("executed")


def again(obj, protocol=2):
    file = io.BytesIO()
    tl_checkpoint.save(obj, file, pickle_protocol=protocol)
    file.seek(0)
    return tl_checkpoint.load(file)


PLAIN = {
    "namespace": argparse.Namespace(lr=0.1, layers=[1, 2], path=pathlib.Path("/a")),
    "simple namespace": types.SimpleNamespace(a=1),
    "ordered": collections.OrderedDict([("b", 1), ("a", {"c": (1,)})]),
    "defaultdict": collections.defaultdict(dict, {"a": {}}),
    "defaultdict of sets": collections.defaultdict(set, {"a": {1}}),
    "counter": collections.Counter("abca"),
    "deque": collections.deque([1, 2, 3], maxlen=5),
    "set": {1, "a", (1, 2)},
    "frozenset": frozenset({3}),
    "path": pathlib.Path("/models/a.pt"),
    "pure path": pathlib.PurePosixPath("a/b"),
    "windows path": pathlib.PureWindowsPath("c:\\a"),
    "datetime": datetime.datetime(2026, 5, 17, 12, 30, tzinfo=datetime.UTC),
    "date": datetime.date(2026, 5, 17),
    "duration": datetime.timedelta(days=1, seconds=3),
    "enum": Color.RED,
    "enum of a number": Color.BLUE,
    "int enum": Level.LOW,
    "flag": Right.READ,
    "flags": Right.READ | Right.RUN,
    "range": range(1, 9, 2),
    "slice": slice(1, None, 2),
    "complex": 1.5 - 2j,
    "bytes": b"\x00\xff",
    "bytearray": bytearray(b"ab"),
    "big": -(2**200),
    "class": float,
    "nothing": None,
}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", PLAIN)
def test_plain_objects(name, protocol):
    obj = PLAIN[name]
    loaded = again({"value": obj}, protocol)["value"]
    assert type(loaded) is type(obj)
    assert loaded == obj
    assert getattr(loaded, "maxlen", None) == getattr(obj, "maxlen", None)
    assert getattr(loaded, "default_factory", None) is getattr(obj, "default_factory", None)


def test_an_enumeration_that_nobody_has_imported_is_named():
    file = io.BytesIO()
    tl_checkpoint.save(Color.RED, file)
    data = file.getvalue().replace(__name__.encode(), b"x" * len(__name__))
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):  # its checksum is another now
        tl_checkpoint.load(io.BytesIO(data))
    file = io.BytesIO()
    module = types.ModuleType("passing")
    module.Kind = enum.Enum("Kind", {"A": 1}, module="passing")
    sys.modules["passing"] = module
    tl_checkpoint.save(module.Kind.A, file)
    del sys.modules["passing"]
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL passing\.Kind"):
        tl_checkpoint.load(file)


def test_buffers_of_bytes():
    """Programs put them into states. What is read goes on where the writer was."""
    buffer = io.BytesIO(b"abcdef")
    buffer.seek(4)
    file = io.BytesIO()
    tl_checkpoint.save({"one": buffer, "same": [buffer], "empty": io.BytesIO()}, file)
    file.seek(0)
    loaded = tl_checkpoint.load(file)
    assert loaded["one"].read() == b"ef" and loaded["same"][0] is loaded["one"]
    assert loaded["one"].getvalue() == b"abcdef" and loaded["empty"].getvalue() == b""


@pytest.mark.parametrize("protocol", [2, 4])
def test_partials_are_inert_records(protocol):
    partial = functools.partial(own_function, 1, functools.partial(int, base=2), scale=own_function, rate=0.5)
    loaded = again({"schedule": partial}, protocol)["schedule"]
    name = f"{__name__}.own_function"
    inner = Inert("functools.partial", (Inert("builtins.int"),), {"base": 2})
    assert loaded == Inert("functools.partial", (Inert(name), 1, inner), {"scale": Inert(name), "rate": 0.5})
    assert not callable(loaded)
    assert repr(loaded).startswith(f"Inert(functools.partial: Inert({name}), 1, ")


def test_a_function_beside_a_partial_is_refused():
    with pytest.raises(pickle.UnpicklingError, match="own_function"):
        again([functools.partial(int), own_function])


@pytest.mark.parametrize("obj", [Fixed(3), Point(1, 2)], ids=["dataclass", "named tuple"])
@pytest.mark.parametrize("protocol", [2, 4])
def test_classes_that_are_registered(obj, protocol):
    with pytest.raises(pickle.UnpicklingError, match=type(obj).__name__):
        again(obj, protocol)
    with safe_globals([type(obj)]):
        assert again({"a": obj, "kind": type(obj)}, protocol) == {"a": obj, "kind": type(obj)}


def test_a_registered_dataclass_isnt_initialised():
    config = object.__new__(Config)
    config.rate, config.layers = 0.1, [1]
    with safe_globals([Config]):
        loaded = again(config)
    assert type(loaded) is Config
    assert vars(loaded) == {"rate": 0.1, "layers": [1]}


def test_numpy():
    numpy = pytest.importorskip("numpy")
    arrays = {
        "float": numpy.arange(6.0).reshape(2, 3),
        "fortran": numpy.asfortranarray(numpy.arange(6, dtype="i2").reshape(2, 3)),
        "big-endian": numpy.arange(4, dtype=">f8"),
        "bool": numpy.array([True, False]),
        "complex": numpy.array([1 + 2j]),
        "text": numpy.array(["ab", "ü"]),
        "bytes": numpy.array([b"ab", b"c"]),
        "dates": numpy.array(["2026-05-17", "2026-05-18"], dtype="M8[D]"),
        "durations": numpy.array([1, 2], dtype="m8[25ns]"),
        "empty": numpy.zeros((0, 3)),
        "0-d": numpy.array(3),
    }
    scalars = [numpy.float32(1.5), numpy.int64(-3), numpy.bool_(True), numpy.complex64(1j), numpy.str_("a")]
    scalars.append(numpy.datetime64("2026-05-17T12", "h"))
    dtypes = [numpy.dtype(code) for code in ("f4", ">i8", "U3", "M8[ms]", "?")]
    for protocol in (2, 4, 5):
        for name, array in arrays.items():
            loaded = again({"a": array}, protocol)["a"]
            assert loaded.dtype == array.dtype, name
            assert loaded.shape == array.shape
            assert numpy.array_equal(loaded, array)
            assert loaded.flags.writeable
        for scalar in scalars:
            loaded = again(scalar, protocol)
            assert type(loaded) is type(scalar)
            assert loaded == scalar and loaded.dtype == scalar.dtype
        assert again(dtypes, protocol) == dtypes
    assert again({"kind": numpy.float32}) == {"kind": numpy.float32}
    assert again({numpy.int64(3): 1}) == {3: 1}
    for refused in (numpy.array([object()]), numpy.zeros(2, dtype=[("a", "f4")])):
        with pytest.raises(pickle.UnpicklingError, match="NumPy dtype"):
            again(refused)


def test_compact_views_share_what_they_shared():
    large = tl.arange(1_000_000)
    file = io.BytesIO()
    tl_checkpoint.save({"a": large[10:20], "b": large[15:25], "c": large[12:24:3]}, file)
    assert len(file.getvalue()) < 3000
    file.seek(0)
    loaded = tl_checkpoint.load(file)
    assert loaded["a"].untyped_storage() == loaded["c"].untyped_storage()
    assert loaded["a"].untyped_storage().nbytes() == 15 * 8
    loaded["b"][0] = -1
    assert loaded["a"][5] == -1
    assert loaded["c"].tolist() == [12, -1, 18, 21]


class Counted(io.BytesIO):
    """A file that counts the bytes that are read."""

    count = 0

    def read(self, size=-1):
        data = super().read(size)
        self.count += len(data)
        return data


def test_some_keys_cost_their_own_bytes():
    file = Counted()
    tl_checkpoint.save({"enc.w": tl.ones(1000), "dec.w": tl.ones(1_000_000)}, file)
    file.seek(0)
    assert tl_checkpoint.load(file, keys="enc.*")["enc.w"].sum() == 1000
    assert file.count < 100_000  # the directory is looked for in the last 64 KB


def test_a_mapped_file_of_10_gigabytes_opens_at_once(tmp_path):
    path, size = tmp_path / "large.pt", 10 << 30
    make_sparse(path, size)
    script = (
        "import sys, time, tl_checkpoint\n"
        "def kilobytes(field):\n"
        "    return int(open('/proc/self/status').read().split(field)[1].split()[0])\n"
        "before = kilobytes('VmRSS:')\n"
        "began = time.perf_counter()\n"
        "state = tl_checkpoint.load(sys.argv[1], mmap=True)\n"
        "took = time.perf_counter() - began\n"
        "print(state.numel(), state[5].item(), kilobytes('VmHWM:') - before, took)\n"
    )
    import subprocess

    ran = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    count, value, grown, took = ran.stdout.split()
    assert (int(count), int(value)) == (size, 0)
    assert int(grown) < 50_000
    assert float(took) < 1


def make_sparse(path, size):
    """An archive of one storage that is a hole."""
    from tl_checkpoint.archive_writer import ArchiveWriter
    from tl_checkpoint.pickler import pickle_object

    data, _ = pickle_object(tl.zeros(1, dtype=tl.uint8), 2)
    count = pickle.BININT1 + b"\x01"
    data = data.replace(
        b"cpu" + data.split(b"cpu")[1][:2] + count, b"cpu" + data.split(b"cpu")[1][:2] + number(size)
    )
    data = data.replace(b"K\x00K\x01\x85", b"K\x00" + number(size) + b"\x85")

    with open(path, "wb") as file:

        def write(part):
            if isinstance(part, Hole):
                file.seek(size, io.SEEK_CUR)
            else:
                file.write(part)

        writer = ArchiveWriter(write, "large", checksums=False)
        writer.add("data.pkl", data)
        writer.add("byteorder", sys.byteorder.encode())
        add_hole(writer, "data/0", size)
        writer.close()


class Hole:
    """Stands for bytes that aren't written."""


def number(value):
    return pickle.dumps(value, 2)[2:-1]


def add_hole(writer, record, size):
    """What `add` does for so many zeros, which are left out."""
    writer._flush()
    writer._names.append(record)
    writer._write_alone(writer._folder + record, Hole(), size)
