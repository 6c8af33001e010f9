"""Hostile pickles and archives, each with what its refusal must say. None may run anything."""

from __future__ import annotations

import io
import itertools
import pickle
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from tl_checkpoint.testing.forgery import write_archive

P2, P4 = b"\x80\x02", b"\x80\x04"


def text(value: str) -> bytes:
    """A text, as opcodes."""
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def number(value: int) -> bytes:
    """A whole number, as opcodes."""
    return pickle.dumps(value, 2)[2:-1]


def call(path: str, *arguments: bytes) -> bytes:
    """A call of a function, as opcodes."""
    module, _, name = path.rpartition(".")
    return f"c{module}\n{name}\n".encode() + b"(" + b"".join(arguments) + b"tR"


def call4(path: str, *arguments: bytes) -> bytes:
    """The same as protocol 4 writes it."""
    module, _, name = path.rpartition(".")
    return text(module) + text(name) + b"\x93(" + b"".join(arguments) + b"tR"


# Functions that run code, read or write files, reach the network, or lead to those that do; from published payloads.
PAYLOADS = (Path(__file__).parent / "data" / "payloads.txt").read_text().split()


def refused_names() -> Iterator[tuple[str, bytes, str]]:
    """A pickle for each payload, in ways that take turns; the refusal must name it."""
    ways = [
        lambda path: P2 + call(path, text("false")) + b".",
        lambda path: P4 + call4(path, text("false")) + b".",
        lambda path: P2 + b"}" + text("weight") + call(path) + b"s.",
        lambda path: P2 + b"](" + call(path, text("x")) + b"Ne.",
        lambda path: P2 + call(path) + b"0N.",
        lambda path: (
            P2
            + b"c"
            + path.rpartition(".")[0].encode()
            + b"\n"
            + path.rpartition(".")[2].encode()
            + b"\n)\x81."
        ),
        lambda path: P4 + text(path.rpartition(".")[0]) + text(path.rpartition(".")[2]) + b"\x93)}\x92.",
        lambda path: (
            P2 + b"c" + path.rpartition(".")[0].encode() + b"\n" + path.rpartition(".")[2].encode() + b"\n}b."
        ),
        lambda path: (
            P2 + b"c" + path.rpartition(".")[0].encode() + b"\n" + path.rpartition(".")[2].encode() + b"\n."
        ),
        lambda path: P2 + call("collections.OrderedDict", b"](" + text("k") + call(path) + b"\x86e") + b".",
    ]
    for path, way in zip(PAYLOADS, itertools.cycle(ways)):
        module, _, name = path.rpartition(".")
        yield path, way(path), name if module.startswith("__builtin__") else path


_ORDERED = call("collections.OrderedDict")
_BOMB = b")" + b"q\x07h\x07\x86" * 60  # a tuple that holds itself twice, sixty times over: 2^60 steps to hash
_DEEP = b")" + b"\x85" * 50_000
# What misuses opcodes, or what is allowed: the pickle without its first and last opcode, and what the refusal says.
TRICKS: dict[str, tuple[bytes, str]] = {
    "a class through its attribute": (call4("builtins.list.__subclasses__"), "builtins.list.__subclasses__"),
    "an allowed class's method": (call4("collections.OrderedDict.fromkeys", b"]"), "OrderedDict.fromkeys"),
    "a name with dots": (text("os") + text("path.os.system") + b"\x93(tR", "os.path.os.system"),
    "a name with a line": (text("os\nsystem") + text("x") + b"\x93(tR", "not an allowed global"),
    "a name of nothing": (text("") + text("") + b"\x93(tR", "not an allowed global"),
    "a name that is a number": (number(1) + number(2) + b"\x93.", "by something else than text"),
    "a name in another encoding": (b"c\xff\xfe\n\xff\n(tR", "damaged"),
    "a name without an end": (b"cos", "line without an end"),
    "a very long name": (b"c" + b"a" * 5000 + b"\nb\n(tR", "line without an end"),
    "an old instance": (b"(i__builtin__\neval\n", "opcode that isn't read as data: 0x69"),
    "an old object": (b"(c__builtin__\neval\no", "opcode that isn't read as data: 0x6f"),
    "an extension": (b"\x82\x01", "opcode that isn't read as data: 0x82"),
    "a long extension": (b"\x84\x01\0\0\0", "opcode that isn't read as data: 0x84"),
    "a persistent line": (b"Pos.system\n", "opcode that isn't read as data: 0x50"),
    "a line of a number": (b"I1\n", "opcode that isn't read as data: 0x49"),
    "a line of a text": (b"V\\u0041\n", "opcode that isn't read as data: 0x56"),
    "a quoted text": (b"S'os'\n", "opcode that isn't read as data: 0x53"),
    "the next buffer": (b"\x97", "opcode that isn't read as data: 0x97"),
    "a read-only buffer": (b"N\x98", "opcode that isn't read as data: 0x98"),
    "an opcode that isn't one": (b"\xff", "opcode that isn't read as data: 0xff"),
    "items of a list": (b"]" + number(0) + number(1) + b"s", "'list', which is no dict"),
    "many items of a list": (b"](" + number(0) + number(1) + b"u", "'list', which is no dict"),
    "items of a tensor": (b"ctorch\nTensor\n" + number(0) + number(1) + b"s", "which is no dict"),
    "items of a storage class": (
        b"ctorch\nFloatStorage\n" + number(0) + number(1) + b"s",
        "'StorageType', which is no dict",
    ),
    "items of bytes": (b"C\x01a" + number(0) + number(1) + b"s", "'bytes', which is no dict"),
    "items of a namespace": (
        call("argparse.Namespace") + text("a") + number(1) + b"s",
        "'Namespace', which is no dict",
    ),
    "an odd number of items": (b"}(" + number(0) + b"u", "which is no dict"),
    "items for nothing": (b"(" + number(0) + number(1) + b"u", "changes an object that isn't there"),
    "an append to a dict": (b"}" + number(1) + b"a", "'dict', which is no list"),
    "an append to a text": (text("a") + text("b") + b"a", "'str', which is no list"),
    "many appends to a tuple": (b")(" + number(1) + b"e", "'tuple', which is no list"),
    "an addition to a list": (b"](" + number(1) + b"\x90", "'list', which is no set"),
    "an addition to a frozenset": (b"(\x91(" + number(1) + b"\x90", "'frozenset', which is no set"),
    "the state of a text": (text("a") + b"}b", "the state of 'str'"),
    "the state of a dict": (b"}}b", "the state of 'dict'"),
    "the state of a list": (b"]}b", "the state of 'list'"),
    "the state of a function": (
        b"ctorch._utils\n_rebuild_tensor_v2\n}" + text("make") + b"Nsb",
        "isn't allowed",
    ),
    "the state of a class": (b"ctorch\nTensor\n}" + text("a") + b"Nsb", "the state of"),
    "the state of an element type": (b"ctorch\nfloat32\n}" + text("a") + b"Nsb", "the state of 'dtype'"),
    "the state of a set": (b"\x8f}b", "the state of 'set'"),
    "the state of a path": (call("pathlib.PosixPath", text("a")) + b"}b", "isn't allowed"),
    "a state that is no dict": (call("argparse.Namespace") + b"]b", "must be a dict of names"),
    "a state with numbers": (
        call("argparse.Namespace") + b"}" + number(1) + b"Nsb",
        "must be a dict of names",
    ),
    "a dict's class": (_ORDERED + b"}" + number(1) + b"Nsb", "must be a dict of names"),
    "a call of a text": (text("os.system") + b")R", "which isn't allowed"),
    "a call of an element type": (b"ctorch\nfloat32\n)R", "which isn't allowed"),
    "a call of a tensor's class": (
        b"ctorch\nTensor\n" + number(2**40) + b"\x85R",
        "tl_core.Tensor, which isn't allowed",
    ),
    "a call of a storage's class": (
        b"ctorch\nFloatStorage\n" + number(2**40) + b"\x85R",
        "which isn't allowed",
    ),
    "a call of a parameter's class": (
        b"ctorch.nn.parameter\nParameter\n)R",
        "Parameter, which isn't allowed",
    ),
    "a call of what was made": (_ORDERED + b")R", "which isn't allowed"),
    "a call without a tuple": (b"ccollections\nOrderedDict\n]R", "which isn't allowed"),
    "a call without a function": (b")R", "takes an object that isn't there"),
    "keywords that are a list": (b"cargparse\nNamespace\n)]\x92", "which isn't allowed"),
    "an object with keywords": (
        b"cargparse\nNamespace\n)}" + text("x") + b"Ns\x92",
        "Namespace can't be made",
    ),
    "a factory that runs": (call("collections.defaultdict", b"cos\nsystem\n"), "factory may be a builtin"),
    "a factory that is a tensor": (
        call("collections.defaultdict", b"ctorch\nTensor\n"),
        "factory may be a builtin",
    ),
    "a factory that makes tensors": (
        call("collections.defaultdict", b"ctorch._utils\n_rebuild_tensor_v2\n"),
        "factory may be",
    ),
    "a large list": (
        call("builtins.list", call("builtins.range", number(2**40))),
        "builtins.list, which isn't allowed",
    ),
    "a large set": (call("builtins.set", call("builtins.range", number(2**40))), "made of 'range'"),
    "a large frozenset": (
        call("builtins.frozenset", call("builtins.range", number(2**40))),
        "made of 'range'",
    ),
    "a large deque": (call("collections.deque", call("builtins.range", number(2**40))), "made of 'range'"),
    "a large counter": (
        call("collections.Counter", call("builtins.range", number(2**40))),
        "made of 'range'",
    ),
    "a large bytearray": (call("builtins.bytearray", number(2**40)), "made of bytes only"),
    "large bytes": (call("builtins.bytes", number(2**40)), "made of bytes only"),
    "a large number of text": (
        call("builtins.int", text("9" * 100), number(36)),
        "builtins.int, which isn't allowed",
    ),
    "a long number": (
        b"\x8b" + struct.pack("<i", 100_000) + bytes(100_000),
        "a whole number of 100000 bytes",
    ),
    "a negative length": (b"\x8b\xff\xff\xff\xff", "cut off"),
    "a long text": (b"X\xff\xff\xff\xff", "cut off"),
    "a very long text": (b"\x8d" + struct.pack("<Q", 2**63), "cut off"),
    "very long bytes": (b"\x8e" + struct.pack("<Q", 2**62), "cut off"),
    "a very long bytearray": (b"\x96" + struct.pack("<Q", 2**62), "cut off"),
    "a text that isn't UTF-8": (b"X\x02\0\0\0\xff\xff", "damaged"),
    "a far memo": (b"Nr\xff\xff\xff\xff", "number it can't have"),
    "a memo of nothing": (b"q\x00", "isn't there"),
    "recall of nothing": (b"h\x05", "recalls number 5"),
    "a far recall": (b"j\xff\xff\xff\xff", "recalls number 4294967295"),
    "a memo of a mark": (b"(q\x00", "isn't there"),
    "a tuple of too few": (b"N\x87", "isn't there"),
    "a tuple over a mark": (b"N(N\x87", "isn't there"),
    "a close without an open": (b"t", "closes what it didn't open"),
    "an empty stack": (b"", "doesn't end with one object"),
    "two objects": (b"NN", "doesn't end with one object"),
    "a mark alone": (b"(", "doesn't end with one object"),
    "a bomb as a key": (b"}" + _BOMB + b"Ns", "key of too many parts"),
    "a bomb in a set": (b"\x8f(" + _BOMB + b"\x90", "key of too many parts"),
    "a bomb in a frozenset": (b"(" + _BOMB + b"\x91", "key of too many parts"),
    "a bomb in a set's call": (call("builtins.set", b"]" + _BOMB + b"a"), "key of too many parts"),
    "a bomb in an ordered dict": (
        call("collections.OrderedDict", b"](" + _BOMB + b"N\x86e"),
        "key of too many parts",
    ),
    "a bomb in a slice": (
        b"}" + call("builtins.slice", _BOMB, _BOMB, _BOMB) + b"Ns",
        "can't be one: 'slice'",
    ),
    "a deep key": (b"}" + _DEEP + b"Ns", "key of too many parts"),
    "a list as a key": (b"}]Ns", "can't be one: 'list'"),
    "a dict in a set": (b"\x8f(}\x90", "can't be one: 'dict'"),
    "numbers of one hash": (b"}" + number(2**61 - 1) + b"Ns", "too large a number"),
    "one object over and over": (
        b"(" + text("x" * 60_000) + b"q\x05" + b"c_codecs\nencode\nh\x05\x85R" * 200 + b"t",
        "over and over",
    ),
    "bytes of another encoding": (call("_codecs.encode", text("a"), text("rot13")), "latin-1 only"),
    "bytes of a codec": (call("_codecs.encode", text("a"), text("zlib_codec")), "latin-1 only"),
    "a path of numbers": (call("pathlib.PosixPath", number(3)), "isn't made of 'int'"),
    "a date of a text": (call("datetime.datetime", text("now")), "datetime.datetime can't be made"),
    "a layout that isn't one": (
        call("torch.serialization._get_layout", text("__class__")),
        "no layout '__class__'",
    ),
    "a device that isn't one": (call("torch.device", text("../x")), "torch.device can't be made"),
    "a size of texts": (call("torch.Size", b"(" + text("a") + b"t"), "torch.Size can't be made"),
    "an object dtype": (call("numpy.dtype", text("O8"), number(0), number(1)), "'O8' isn't read as data"),
    "an object dtype by name": (call("numpy.dtype", text("object")), "'object' isn't read as data"),
    "a dtype of fields": (call("numpy.dtype", text("i4,O")), "'i4,O' isn't read as data"),
    "an object scalar": (
        call("numpy.core.multiarray.scalar", call("numpy.dtype", text("O8")), b"C\x00"),
        "'O8' isn't",
    ),
    "a scalar of too many bytes": (
        call("numpy.core.multiarray.scalar", text("x"), b"C\x00"),
        "NumPy scalar is damaged",
    ),
    "a buffer of bytes at a negative position": (
        b"c_io\nBytesIO\n)R(C\x01xJ\xff\xff\xff\xffNtb",
        "io.BytesIO is damaged",
    ),
    "a buffer of bytes without bytes": (b"c_io\nBytesIO\n)R(K\x01K\x01Ntb", "io.BytesIO is damaged"),
    "a partial without a function": (b"cfunctools\npartial\n)R", "functools.partial can't be made"),
    "a partial's damaged state": (
        call("functools.partial", b"cos\nsystem\n") + b"]b",
        "functools.partial is damaged",
    ),
    "a function beside a partial": (
        b"(cos\nsystem\n" + call("functools.partial", b"cos\nsystem\n") + b"0t",
        "os.system",
    ),
    "a storage by a name": (text("data/0") + b"Q", "something that is no storage"),
    "a storage of three": (
        b"(" + text("storage") + text("x") + text("0") + b"tQ",
        "something that is no storage",
    ),
    "a storage of an unknown class": (
        b"(" + text("storage") + b"ctorch\nfloat32\n" + text("0") + text("cpu") + number(4) + b"tQ",
        "by something else",
    ),
    "a storage with a negative size": (
        b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + number(-4) + b"tQ",
        "can't have -4",
    ),
    "a storage outside": (
        b"("
        + text("storage")
        + b"ctorch\nFloatStorage\n"
        + text("../../x")
        + text("cpu")
        + number(4)
        + b"tQ",
        "no record 'data/../../x'",
    ),
    "a storage that is the pickle": (
        b"("
        + text("storage")
        + b"ctorch\nByteStorage\n"
        + text("../data.pkl")
        + text("cpu")
        + number(4)
        + b"tQ",
        "no record 'data/../data.pkl'",
    ),
    "a tensor of a text": (
        call("torch._utils._rebuild_tensor_v2", text("x"), number(0), b")", b")", b"\x89", b"}"),
        "storage is something else",
    ),
    "a parameter of a text": (
        call("torch._utils._rebuild_parameter", text("x"), b"\x88", b"}"),
        "is no tensor",
    ),
    "a tensor made by another": (
        call(
            "torch._tensor._rebuild_from_type_v2",
            b"cos\nsystem\n",
            b"ctorch\nTensor\n",
            b"(" + text("x") + b"t",
            b"}",
        ),
        "made by something else",
    ),
    "a tensor made by an allowed other": (
        call("torch._tensor._rebuild_from_type_v2", b"cbuiltins\nset\n", b"ctorch\nTensor\n", b")", b"}"),
        "made by something else",
    ),
    "a tensor of another class": (
        call(
            "torch._tensor._rebuild_from_type_v2",
            b"ctorch._utils\n_rebuild_tensor_v2\n",
            b"cbuiltins\nlist\n",
            b")",
            b"}",
        ),
        "class is something else",
    ),
    "an enumeration's method": (text("enum") + text("Enum.__new__") + b"\x93(tR", "enum.Enum.__new__"),
    "a value no enumeration has": (call("signal.Signals", number(9999)), "has no value 9999"),
}


def pickles() -> Iterator[tuple[str, bytes, str]]:
    """Every hostile pickle: its name, its bytes, and what the refusal must say."""
    yield from refused_names()
    for name, (body, says) in TRICKS.items():
        yield name, P4 + body + b".", says
    yield "protocol 0", b"I1\n.", "opcode that isn't read as data: 0x49"
    yield "protocol 1", b"\x80\x01N.", "protocol 1"
    yield "protocol 6", b"\x80\x06N.", "protocol 6"
    yield "nothing", b"", "cut off"
    yield "no end", P2 + b"K\x01", "cut off"
    yield "a pickle behind a pickle's start", P2 + P2 + call("os.system", text("false")) + b".", "os.system"


# ---- archives


def zip_of(records: dict[str, bytes], method: int = zipfile.ZIP_STORED, comment: bytes = b"") -> bytes:
    """An archive as Python writes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.comment = comment
        for name, content in records.items():
            archive.writestr(name, content)
    return file.getvalue()


def tensor_pickle(
    count: int = 4, size: int = 4, key: str = "0", offset: int = 0, stride: int = 1, kind: str = "Float"
) -> bytes:
    """The pickle of a tensor."""
    storage = (
        b"("
        + text("storage")
        + f"ctorch\n{kind}Storage\n".encode()
        + text(key)
        + text("cpu")
        + number(count)
        + b"tQ"
    )
    geometry = number(offset) + number(size) + b"\x85" + number(stride) + b"\x85"
    function = b"ctorch._utils\n_rebuild_tensor_v2\n("
    return P2 + function + storage + geometry + b"\x89" + _ORDERED + b"tR."


GOOD = {"data.pkl": tensor_pickle(), "data/0": bytes(16), "version": b"3\n"}


def changed(data: bytes, old: bytes, new: bytes, which: int = 0) -> bytes:
    """Bytes in which one occurrence of some is another."""
    at = -1
    for _ in range(which + 1):
        at = data.index(old, at + 1)
    return data[:at] + new + data[at + len(old) :]


def _sized(data: bytes, mark: bytes, at: int, value: int, form: str = "<I") -> bytes:
    """An archive in which a number behind a mark is another, in every place."""
    changed_data = bytearray(data)
    position = data.find(mark)
    while position >= 0:
        struct.pack_into(form, changed_data, position + at, value)
        position = data.find(mark, position + 1)
    return bytes(changed_data)


def _tar() -> bytes:
    """A file in the format from before 2016."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in (
            ("sys_info", P2 + b"}."),
            ("pickle", P2 + call("os.system", text("false")) + b"."),
            ("storages", P2 + b"K\x00."),
            ("tensors", P2 + b"K\x00."),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def _old(obj: bytes, keys: bytes = b"]", storages: bytes = b"") -> bytes:
    """A file in the format from before 2020."""
    magic, protocol, system = (
        pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
    )
    return magic + protocol + system + P2 + obj + b"." + P2 + keys + b"." + storages


def archives() -> Iterator[tuple[str, bytes, str]]:
    """Every hostile file: its name, its bytes, and what the refusal must say."""
    yield from _records()
    yield from _polyglots()
    yield from _directories()
    yield from _manifests()
    yield from _storages()
    yield from _old_files()
    yield "nothing", b"", "the file is empty"
    yield "noise", bytes(range(256)) * 4, ""
    yield "good", write_archive(GOOD), "GOOD"


_EVIL = call("os.system", text("false"))
_BAD = zip_of({"a/data.pkl": P2 + _EVIL + b"."})
_PLAIN = zip_of({f"a/{name}": content for name, content in GOOD.items()})


def _records() -> Iterator[tuple[str, bytes, str]]:
    """Archives whose records aren't those of a checkpoint."""
    checksum = struct.pack("<I", zlib.crc32(P2 + _EVIL + b"."))
    yield "another extension's content", _BAD, "os.system"
    yield "wrong checksums", changed(_BAD, checksum, b"abcd"), "isn't what the directory says"
    yield (
        "wrong checksums in both places",
        changed(changed(_BAD, checksum, b"abcd"), checksum, b"abcd"),
        "CRC-32",
    )
    yield "checksums of zero", changed(changed(_BAD, checksum, bytes(4)), checksum, bytes(4)), "os.system"
    yield "compressed", zip_of({"a/data.pkl": P2 + _EVIL + b"."}, zipfile.ZIP_DEFLATED), "os.system"
    yield (
        "another compression",
        zip_of({"a/data.pkl": P2 + _EVIL + b"."}, zipfile.ZIP_BZIP2),
        "compressed by method 12",
    )
    yield (
        "encrypted",
        _sized(_sized(_PLAIN, b"PK\x01\x02", 8, 1, "<H"), b"PK\x03\x04", 6, 1, "<H"),
        "is encrypted",
    )
    yield "a script", write_archive({**GOOD, "constants.pkl": P2 + b")."}), "TorchScript archive"
    yield (
        "two pickles in two folders",
        zip_of({"a/data.pkl": P2 + b"N.", "b/data.pkl": P2 + _EVIL + b"."}),
        "no data.pkl in its folder",
    )
    yield "a pickle in no folder", zip_of({"data.pkl": P2 + _EVIL + b"."}), "no data.pkl in its folder"
    yield "a folder above", zip_of({"../data.pkl": P2 + _EVIL + b"."}), "os.system"
    yield "two records of one name", _twice(), "same name"
    yield (
        "a bomb",
        zip_of({"a/data.pkl": P2 + b"N.", "a/data/0": bytes(200 << 20)}, zipfile.ZIP_DEFLATED),
        "isn't unpacked on trust",
    )


def _polyglots() -> Iterator[tuple[str, bytes, str]]:
    """Archives beside other content, in one file."""
    yield "a polyglot behind a script", b"#!/bin/sh\nfalse\n" + _PLAIN, "neither an archive nor"
    yield "a polyglot of a pickle", P2 + _EVIL + b"." + _PLAIN, "neither an archive nor"
    yield "a polyglot of safetensors", struct.pack("<Q", 2) + b"{}" + _PLAIN, "one of safetensors"
    yield "an archive in front of an archive", _PLAIN + _BAD, "isn't where it says"
    yield "an archive in a comment", zip_of({"a/data.pkl": P2 + b"N."}, comment=_BAD), "isn't where it says"
    yield "bytes behind the end", _PLAIN + b"x", "bytes stand behind its end"


def _directories() -> Iterator[tuple[str, bytes, str]]:
    """Archives whose directory lies about the records."""
    yield "no directory", _PLAIN[: _PLAIN.index(b"PK\x01\x02")], "directory is missing"
    yield "a directory elsewhere", _sized(_PLAIN, b"PK\x05\x06", 16, 0), "isn't where it says"
    yield "a longer directory", _sized(_PLAIN, b"PK\x05\x06", 12, 2**31), "isn't where it says"
    yield "more entries", _sized(_PLAIN, b"PK\x05\x06", 10, 9, "<H"), "entries and says 9"
    yield "an offset outside", _sized(_PLAIN, b"PK\x01\x02", 42, 2**31), "lies outside of it"
    yield "one offset for all", _sized(_PLAIN, b"PK\x01\x02", 42, 0), "isn't what the directory says"
    yield "sizes that lie in the directory", _sized(_PLAIN, b"PK\x01\x02", 24, 2**31), "has two sizes"
    yield (
        "sizes that lie at the record",
        _sized(_PLAIN, b"PK\x03\x04", 22, 2**31),
        "isn't what the directory says",
    )
    yield "sizes that lie everywhere", _both(_PLAIN, 2**30), "reaches past its end"
    yield "a longer name", _sized(_PLAIN, b"PK\x03\x04", 26, 60_000, "<H"), "isn't what the directory says"
    yield (
        "a name that isn't UTF-8",
        changed(changed(_PLAIN, b"a/version", b"\xff/version"), b"a/version", b"\xff/version"),
        "isn't UTF-8",
    )
    yield (
        "another name at the record",
        changed(_PLAIN, b"a/version", b"b/version"),
        "isn't what the directory says",
    )


def _manifests() -> Iterator[tuple[str, bytes, str]]:
    """Archives whose manifest doesn't fit the records."""
    yield (
        "an exchanged record",
        write_archive({**GOOD, "data/1": bytes(15) + b"x"}).replace(b"archive/data/0", b"archive/data/2"),
        "manifest",
    )
    yield (
        "a manifest that isn't one",
        zip_of({**{f"a/{n}": c for n, c in GOOD.items()}, "a/.data/manifest.json": b"[]"}),
        "manifest is damaged",
    )
    yield (
        "a deep manifest",
        zip_of({**{f"a/{n}": c for n, c in GOOD.items()}, "a/.data/manifest.json": b"[" * 100_000}),
        "manifest is damaged",
    )
    yield (
        "a manifest that lacks a record",
        zip_of({**{f"a/{n}": c for n, c in GOOD.items()}, "a/.data/manifest.json": b"{}"}),
        "aren't those of its manifest",
    )


def _storages() -> Iterator[tuple[str, bytes, str]]:
    """Tensors that don't fit their storages."""
    for name, wrong, says in [
        ("a storage of 2^60", {"count": 2**60}, "should have"),
        ("a smaller storage", {"count": 3}, "should have 12 bytes"),
        ("a storage of another type", {"kind": "Double"}, "should have 32 bytes"),
        ("a missing storage", {"key": "7"}, "no record"),
        ("a tensor of 2^62", {"size": 2**62}, ""),
        ("a tensor beyond", {"size": 5}, "out of bounds"),
        ("an offset beyond", {"offset": 1}, "out of bounds"),
        ("an offset before", {"offset": -1}, "whole numbers"),
        ("a step beyond", {"stride": 2}, "out of bounds"),
        ("a step back", {"stride": -1}, ""),
        ("a step that overflows", {"stride": 2**61}, ""),
        ("a size of 2^70", {"size": 2**70}, ""),
    ]:
        yield name, write_archive({**GOOD, "data.pkl": tensor_pickle(**wrong)}), says
    yield (
        "booleans that aren't",
        write_archive({"data.pkl": tensor_pickle(kind="Bool", count=16, size=16), "data/0": b"\x02" * 16}),
        "other than 0 and 1",
    )


def _old_files() -> Iterator[tuple[str, bytes, str]]:
    """Files in the formats before archives."""
    yield "tar", _tar(), "legacy .tar format"
    yield "old: a call", _old(_EVIL), "os.system"
    yield (
        "old: a large storage",
        _old(
            b"("
            + text("storage")
            + b"ctorch\nFloatStorage\n"
            + text("0")
            + text("cpu")
            + number(2**50)
            + b"NtQ"
        ),
        "more bytes than the file has",
    )
    yield (
        "old: many storages",
        _old(
            b"]"
            + b"".join(
                b"("
                + text("storage")
                + b"ctorch\nByteStorage\n"
                + text(str(i))
                + text("cpu")
                + number(400)
                + b"NtQa"
                for i in range(60)
            ),
            storages=b"",
        ),
        "more bytes than the file has",
    )
    yield (
        "old: a storage with two sizes",
        _old(
            b"(" + text("storage") + b"ctorch\nByteStorage\n" + text("0") + text("cpu") + number(8) + b"NtQ",
            b"]" + text("0") + b"a",
            struct.pack("<q", 2**40) + bytes(8),
        ),
        "has two sizes",
    )
    yield "old: a list of keys that isn't one", _old(b"N", b"}"), "list of storages is damaged"
    yield "old: an unknown key", _old(b"N", b"]" + text("0") + b"a"), "list of storages is damaged"
    yield "old: another magic number", P2 + number(1) + b".", "neither an archive nor"
    yield (
        "old: another protocol",
        pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1, 2) + P2 + b"N." * 9,
        "Invalid protocol version: 1",
    )


def _twice() -> bytes:
    data = zip_of({"a/data.pkl": P2 + b"N.", "a/data.pkm": P2 + call("os.system", text("false")) + b"."})
    return data.replace(b"a/data.pkm", b"a/data.pkl")


def _both(data: bytes, size: int) -> bytes:
    for at, mark in ((18, b"PK\x03\x04"), (22, b"PK\x03\x04"), (20, b"PK\x01\x02"), (24, b"PK\x01\x02")):
        data = _sized(data, mark, at, size)
    return data
