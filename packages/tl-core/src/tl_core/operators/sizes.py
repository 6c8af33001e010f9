"""Operators that read sizes, strides, the device and the layout of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core.base.row_facts import declare
from tl_core.operators.metadata import reply_of_handler
from tl_core.operators.python_operator import Overloads, add_packets
from tl_core.tensors.strides import is_non_overlapping_and_dense


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


# A call of `aten.size` comes to the first overload, with a dimension or without.
def _size(self: Any, dim: Any = None) -> Any:
    return self.size() if dim is None else self.size(dim)


def _stride(self: Any, dim: Any = None) -> Any:
    return self.stride() if dim is None else self.stride(dim)


_SIZES: dict[str, Overloads] = {
    "sym_size": {
        "int": ("sym_size.int(Tensor self, int dim) -> SymInt", _size),
        "default": ("sym_size(Tensor self) -> SymInt[]", lambda self: self.size()),
    },
    "sym_stride": {
        "int": ("sym_stride.int(Tensor self, int dim) -> SymInt", _stride),
        "default": ("sym_stride(Tensor self) -> SymInt[]", lambda self: self.stride()),
    },
    "sym_numel": {"default": ("sym_numel(Tensor self) -> SymInt", lambda self: self.numel())},
    "sym_storage_offset": {
        "default": ("sym_storage_offset(Tensor self) -> SymInt", lambda self: self.storage_offset())
    },
    "size": {
        "int": ("size.int(Tensor self, int dim) -> int", _size),
        "default": ("size(Tensor self) -> int[]", lambda self: self.size()),
    },
    "stride": {
        "int": ("stride.int(Tensor self, int dim) -> int", _stride),
        "default": ("stride(Tensor self) -> int[]", lambda self: self.stride()),
    },
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
}
_PRIM: dict[str, Overloads] = {
    "device": {"default": ("device(Tensor a) -> Device", lambda a: a.device)},
    "layout": {"default": ("layout(Tensor a) -> Layout", lambda a: a.layout)},
}
declare("core", "sym_size.int", "sym_stride.int", "sym_numel", "sym_storage_offset")
add_packets("aten", _SIZES)
add_packets("prim", _PRIM)
