"""Operators of graphs that are no kernels: they read a size, take a number out of a tensor, check a condition, or
begin and end a range that a profile lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core import _C
from tl_core.base import recording
from tl_core.base.row_facts import declare
from tl_core.operators.metadata import reply_of_handler
from tl_core.operators.packets import PACKETS, OpOverload, OpOverloadPacket
from tl_core.symbolic.numbers import SymBool, SymInt
from tl_core.tensors.strides import is_non_overlapping_and_dense

__all__ = ["PythonOperator"]


class PythonOperator(OpOverload):
    """An operator whose call is a function of Python.

    Args:
        packet: the overloads it belongs to.
        overload: its own name among them.
        schema: what it takes, as schemas write it.
        function: what a call does.
    """

    def __init__(
        self, packet: OpOverloadPacket, overload: str, schema: str, function: Callable[..., Any]
    ) -> None:
        # Not OpOverload's, which looks a kernel up.
        name = packet.__name__ + ("" if overload == "default" else f".{overload}")
        self.overloadpacket = self._overloadpacket = packet
        self._overloadname, self._native_name, self._schema_text = overload, name, schema
        self._name = f"{packet._namespace}::{name}"
        self.__qualname__, self.__module__ = self._name, packet.__module__
        self.__name__ = f"{packet.__name__}.{overload}"
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    def __hash__(self) -> int:
        return object.__hash__(self)

    @property
    def tags(self) -> list[Any]:
        """What is known of it beyond its schema: a list of `Tag`."""
        from tl_core.schemas.tags import tags_of_function

        return tags_of_function(self._native_name)

    _tags = tags

    @property
    def _schema(self) -> Any:
        from tl_core.schemas.parser import parse_schema

        return parse_schema(f"{self.overloadpacket._namespace}::{self._schema_text}")


def _item(self: Any) -> Any:
    return self.item()


def _lift(self: Any) -> Any:
    return self.clone()


def _holds(condition: Any) -> bool:
    """Whether a condition holds; of one that data decide, which is taken as true from now on, True."""
    return condition.node.expect_true("", 0) if isinstance(condition, SymBool) else bool(condition)


def _assert_scalar(self: Any, assert_msg: str) -> None:
    if not _holds(self):
        raise RuntimeError(assert_msg)


def _constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    if isinstance(size, SymInt):
        number: Any = size
        bounds = (min is None or number >= min, max is None or number <= max)
        if not all(map(_holds, bounds)):
            raise RuntimeError(f"Invalid value range for {number} between [{min}, {max}].")
        return
    value = int(size)
    if (min is not None and value < min) or (max is not None and value > max):
        raise RuntimeError(f"Invalid value range for {value} between [{min}, {max}].")


def _constrain_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    _constrain_range(size, min=0 if min is None else min, max=max)


def _assert_metadata(
    a: Any,
    size: Any = None,
    stride: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    layout: Any = None,
) -> None:
    for name, expected, actual in (
        ("sizes", None if size is None else tuple(size), tuple(a.shape)),
        ("strides", None if stride is None else tuple(stride), a.stride()),
        ("dtype", dtype, a.dtype),
        ("device", None if device is None else type(a.device)(device), a.device),
        ("layout", layout, a.layout),
    ):
        if expected is not None and expected != actual:
            raise RuntimeError(f"Tensor {name} mismatch! Expected: {expected}, Got: {actual}")


def _ask_geometry(name: str, stored: Callable[..., bool]) -> Callable[..., bool]:
    """A question about a geometry: the handler's answer where the tensor's class says its strides."""

    def answer(self: Any, *args: Any) -> bool:
        reply = reply_of_handler(name, self, args)
        return stored(self, *args) if reply is NotImplemented else bool(reply)

    return answer


_INNERMOST_FIRST = {_C.channels_last: (1, 3, 2, 0), _C.channels_last_3d: (1, 4, 3, 2, 0)}


def _is_strides_like(self: Any, memory_format: Any) -> bool:
    """Whether the strides, dense or not, grow in the order of a format; of a tensor whose strides fit both, False."""
    order = _INNERMOST_FIRST.get(memory_format, ())
    if self.dim() != len(order) or self.stride(1) == 0:
        return False
    least, strides = 0, self.stride()
    for d in order:
        n = self.shape[d]
        if n == 0 or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(n, 1)
    return True


_TABLE: dict[str, dict[str, tuple[str, Callable[..., Any]]]] = {
    "sym_size": {
        "int": ("sym_size.int(Tensor self, int dim) -> SymInt", lambda self, dim: self.shape[dim]),
        "default": ("sym_size(Tensor self) -> SymInt[]", lambda self: self.size()),
    },
    "sym_stride": {
        "int": ("sym_stride.int(Tensor self, int dim) -> SymInt", lambda self, dim: self.stride(dim)),
        "default": ("sym_stride(Tensor self) -> SymInt[]", lambda self: self.stride()),
    },
    "sym_numel": {"default": ("sym_numel(Tensor self) -> SymInt", lambda self: self.numel())},
    "sym_storage_offset": {
        "default": ("sym_storage_offset(Tensor self) -> SymInt", lambda self: self.storage_offset())
    },
    "size": {"default": ("size(Tensor self) -> int[]", lambda self: self.size())},
    "stride": {"default": ("stride(Tensor self) -> int[]", lambda self: self.stride())},
    "numel": {"default": ("numel(Tensor self) -> int", lambda self: self.numel())},
    "storage_offset": {"default": ("storage_offset(Tensor self) -> int", lambda self: self.storage_offset())},
    "dim": {"default": ("dim(Tensor self) -> int", lambda self: self.dim())},
    "is_contiguous": {
        "default": ("is_contiguous(Tensor self) -> bool", lambda self: self.is_contiguous()),
        "memory_format": (
            "is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
            lambda self, memory_format: self.is_contiguous(memory_format=memory_format),
        ),
    },
    "is_strides_like_format": {
        "default": (
            "is_strides_like_format(Tensor self, MemoryFormat memory_format) -> bool",
            _ask_geometry("is_strides_like_format", _is_strides_like),
        )
    },
    "is_non_overlapping_and_dense": {
        "default": (
            "is_non_overlapping_and_dense(Tensor self) -> bool",
            _ask_geometry("is_non_overlapping_and_dense", is_non_overlapping_and_dense),
        )
    },
    "item": {"default": ("item(Tensor self) -> Scalar", _item)},
    "lift_fresh_copy": {"default": ("lift_fresh_copy(Tensor self) -> Tensor", _lift)},
    "_assert_scalar": {
        "default": ("_assert_scalar(Scalar self, str assert_msg) -> ()", _assert_scalar),
    },
    "sym_constrain_range": {
        "default": (
            "sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
            _constrain_range,
        )
    },
    "sym_constrain_range_for_size": {
        "default": (
            "sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
            _constrain_size,
        )
    },
    "_assert_tensor_metadata": {
        "default": (
            (
                "_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? "
                "dtype=None, *, "
                "Device? device=None, Layout? layout=None) -> ()"
            ),
            _assert_metadata,
        )
    },
}


class _Packet(OpOverloadPacket):
    def __init__(
        self, namespace: str, name: str, overloads: dict[str, tuple[str, Callable[..., Any]]]
    ) -> None:
        # Not OpOverloadPacket's, which looks kernels up.
        self.__name__, self._namespace = name, namespace
        self.__qualname__, self.__module__ = name, f"torch._ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._overload_names = list(overloads)
        for overload, (schema, function) in overloads.items():
            setattr(self, overload, PythonOperator(self, overload, schema, function))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, self._overload_names[0])(*args, **kwargs)


_PRIM: dict[str, dict[str, tuple[str, Callable[..., Any]]]] = {
    "device": {"default": ("device(Tensor a) -> Device", lambda a: a.device)},
    "layout": {"default": ("layout(Tensor a) -> Layout", lambda a: a.layout)},
}


def _begin_range(name: str, args: str | None = None) -> Any:
    event = recording.EventRange(name, args)
    event.__enter__()
    return event


def _range_of_tensor(name: str, args: str | None = None) -> Any:
    """Begins a range whose handle is a tensor, as older programs write it."""
    handle = tl_core.zeros((), dtype=tl_core.int64)
    handle._event_range = _begin_range(name, args)
    return handle


def _end_range(handle: Any) -> None:
    getattr(handle, "_event_range", handle).__exit__()


_HANDLE = "__torch__.torch.classes.profiler._RecordFunction"
_PROFILER: dict[str, dict[str, tuple[str, Callable[..., Any]]]] = {
    "_record_function_enter_new": {
        "default": (f"_record_function_enter_new(str name, str? args=None) -> {_HANDLE}", _begin_range)
    },
    "_record_function_enter": {
        "default": ("_record_function_enter(str name, str? args=None) -> Tensor", _range_of_tensor)
    },
    "_record_function_exit": {
        "default": ("_record_function_exit(Tensor handle) -> ()", _end_range),
        "_RecordFunction": (
            f"_record_function_exit._RecordFunction({_HANDLE} handle) -> ()",
            _end_range,
        ),
    },
}
declare("core", "sym_size.int", "sym_stride.int", "sym_numel", "sym_storage_offset")
PACKETS.update(
    (f"{namespace}::{name}", _Packet(namespace, name, overloads))
    for namespace, table in (("aten", _TABLE), ("prim", _PRIM), ("profiler", _PROFILER))
    for name, overloads in table.items()
)
