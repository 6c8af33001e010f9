"""The table of the C interface, called through ctypes: what any extension can pass."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import tl_core as tl

RECORD = Path(__file__).parent.parent / "abi" / "v1.txt"
NONE, BOOL, INT, FLOAT, DTYPE, DEVICE, LAYOUT, FORMAT, STRING, TENSOR, GENERATOR = (
    0,
    1,
    2,
    3,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
)
BOOLS, INTS, FLOATS, SCALARS, STRINGS, TENSORS = 32, 33, 34, 35, 36, 37
# The names of TlArgKind, in order.
KINDS = [
    *(
        "tensor",
        "tensors",
        "optional_tensors",
        "operand",
        "scalar",
        "bool",
        "int",
        "float",
        "string",
        "dtype",
    ),
    *("device", "layout", "format", "generator", "ints", "floats", "bools", "scalars", "object", "strings"),
    *("storage", "stream", "capsule"),
]


class Value(ctypes.Structure):
    """TlValue."""

    _fields_ = [("tag", ctypes.c_uint32), ("len", ctypes.c_uint32), ("bits", ctypes.c_int64)]


class ArgInfo(ctypes.Structure):
    """TlArgInfo."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        *(
            (name, ctypes.c_uint8)
            for name in ("kind", "optional", "alias", "written", "keyword_only", "default")
        ),
    ]


class OperatorInfo(ctypes.Structure):
    """The beginning of TlOperatorInfo."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("schema", ctypes.c_char_p),
        ("n_args", ctypes.c_int),
        ("n_rets", ctypes.c_int),
        ("args", ctypes.POINTER(ArgInfo)),
    ]


def _capsule(name: str) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get(getattr(tl._C, name), f"tl_core._C.{name}".encode())
    assert address
    return address


class Table:
    """The entries of a table by name; the order is that of the record.

    Args:
        structure: its type in the headers.
        address: where it is.
    """

    def __init__(self, structure: str, address: int) -> None:
        start = f"{structure} "
        names = [line.split()[1] for line in RECORD.read_text().splitlines() if line.startswith(start)]
        assert names[:3] == ["struct_size", "major", "minor"]
        slots = ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))
        self.entries = {name: slots[2 + i] for i, name in enumerate(names[3:])}

    def entry(self, name: str, result: Any, *arguments: Any) -> Any:
        """A function of the table."""
        return ctypes.PYFUNCTYPE(result, *arguments)(self.entries[name])


_get_api = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)(_capsule("api_v1"))
core = Table("TlApi", _get_api(1, 0))
extension = Table("TlExtension", _capsule("extension_v1"))
op_at = core.entry("op_at", ctypes.c_void_p, ctypes.c_size_t)
op_count = core.entry("op_count", ctypes.c_size_t)
op_find = core.entry("op_find", ctypes.c_void_p, ctypes.c_char_p)
op_info = core.entry("op_info", ctypes.POINTER(OperatorInfo), ctypes.c_void_p)
_CALL = (ctypes.c_void_p, ctypes.POINTER(Value), ctypes.c_int, ctypes.POINTER(Value), ctypes.c_int)
op_call = core.entry("op_call", ctypes.c_int, *_CALL)
op_call_on_host = core.entry("op_call_on_host", ctypes.c_int, *_CALL)
op_call_below = core.entry("op_call_below", ctypes.c_int, _CALL[0], ctypes.c_int, *_CALL[1:])
op_call_past = core.entry("op_call_past", ctypes.c_int, _CALL[0], ctypes.c_int, *_CALL[1:])
error_kind = core.entry("error_kind", ctypes.c_int)
error_message = core.entry("error_message", ctypes.c_char_p)
error_clear = core.entry("error_clear", None)
value_release = core.entry("value_release", None, ctypes.POINTER(Value))

_keep: list[Any] = []
python = Table("TlPython", _capsule("python_v1"))
_unwrap = python.entry("unwrap", ctypes.c_void_p, ctypes.py_object)


def tensor(t: Any) -> Value:
    """The value of a tensor."""
    _keep.append(t)
    return Value(TENSOR, 0, _unwrap(t))


def listed(tag: int, items: Any) -> Value:
    """The value of a list."""
    _keep.append(items)
    return Value(tag, len(items), ctypes.addressof(items))


X = tensor(tl.ones(2, 2))
RIGHT = {
    "tensor": X,
    "tensors": listed(TENSORS, (ctypes.c_int64 * 1)(X.bits)),
    "optional_tensors": listed(TENSORS, (ctypes.c_int64 * 2)(X.bits, 0)),
    "operand": X,
    "scalar": Value(INT, 0, 1),
    "bool": Value(BOOL, 0, 1),
    "int": Value(INT, 0, 1),
    "float": Value(INT, 0, 1),
    "string": listed(STRING, ctypes.create_string_buffer(b"mean")),
    "dtype": Value(DTYPE, 0, (2 << 16) | 32),
    "device": Value(DEVICE, 0, 1 | (-1 << 32)),
    "layout": Value(LAYOUT, 0, 0),
    "format": Value(FORMAT, 0, 0),
    "generator": Value(NONE, 0, 0),
    "ints": listed(INTS, (ctypes.c_int64 * 1)(1)),
    "floats": listed(FLOATS, (ctypes.c_double * 1)(1.0)),
    "bools": listed(BOOLS, (ctypes.c_uint8 * 1)(1)),
    "scalars": listed(SCALARS, (Value * 1)(Value(INT, 0, 1))),
    "object": Value(NONE, 0, 0),
    "strings": listed(STRINGS, (Value * 1)(listed(STRING, ctypes.create_string_buffer(b"mean")))),
}
WRONG = {
    "None": Value(NONE, 0, 0),
    "int": Value(INT, 0, 7),
    "str": listed(STRING, ctypes.create_string_buffer(b"text")),
    "list": listed(INTS, (ctypes.c_int64 * 3)(1, 2, 3)),
    "an undefined Tensor": Value(TENSOR, 0, 0),
    "list whose pointer is NULL": Value(TENSORS, 3, 0),
    "a list with an undefined Tensor": listed(TENSORS, (ctypes.c_int64 * 2)(X.bits, 0)),
    "a value with the unknown tag 99": Value(99, 0, 1),
    "Layout 77": Value(LAYOUT, 0, 77),
    "MemoryFormat -1": Value(FORMAT, 0, -1),
}
# Of the wrong values, those that are right for a kind.
FITTING = {
    "operand": {"int"},
    "scalar": {"int"},
    "bool": {"int"},
    "int": {"int"},
    "float": {"int"},
    "string": {"str"},
    "ints": {"list"},
    "optional_tensors": {"a list with an undefined Tensor"},
}


def outcome(operator: int, args: list[Value], n_rets: int, call: Any = op_call) -> str:
    """How a call ended: "" or the message of its TypeError."""
    source = (Value * max(len(args), 1))(*args)
    rets = (Value * max(n_rets, 1))()
    status = call(operator, source, len(args), rets, n_rets)
    if status == 0:
        for i in range(n_rets):
            value_release(rets[i])
        return ""
    kind, message = error_kind(), error_message().decode()
    error_clear()
    assert kind == 3, (kind, message)  # TL_ERROR_TYPE
    return message
