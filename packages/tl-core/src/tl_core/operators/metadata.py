"""The operators by which handlers return sizes, strides and other metadata of their tensors."""

from __future__ import annotations

import functools
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.operators.packets import python_packet
from tl_core.tensors.size import Size

__all__ = ["ASKED", "DEVICES", "reply_of_handler"]

ASKED = "_metadata_of_handler"  # the attribute of a tensor with the names of its metadata that its handler returns
DEVICES = ("is_cpu", "is_cuda", "is_meta")
_OPERATORS = {
    "shape": "aten::sym_size", "size": "aten::sym_size", "stride": "aten::sym_stride", "numel": "aten::sym_numel",
    "plain_numel": "aten::numel", "storage_offset": "aten::sym_storage_offset", "dim": "aten::dim",
    "ndim": "aten::dim", "is_contiguous": "aten::is_contiguous",
    "is_strides_like_format": "aten::is_strides_like_format",
    "is_non_overlapping_and_dense": "aten::is_non_overlapping_and_dense",
    "device": "prim::device", "layout": "prim::layout",
}  # fmt: skip
_WITH_FORMAT = ("aten::is_contiguous", "aten::is_strides_like_format")


@functools.cache
def _overload(operator: str, has_format: bool) -> Any:
    packet: Any = python_packet(operator)
    return packet.memory_format if has_format and operator == "aten::is_contiguous" else packet.default


def _call_handler(t: Tensor, operator: str, args: tuple[Any, ...]) -> Any:
    """The reply of the innermost mode's handler, else of the tensor's class; NotImplemented for the stored value."""
    overload = _overload(operator, bool(args))
    arguments = (t, *args) if operator in _WITH_FORMAT else (t,)
    reply = t.__torch_dispatch__(overload, (type(t),), arguments, {})
    if reply is NotImplemented:
        raise TypeError(
            f"Multiple dispatch failed for 'torch.ops.{overload.overloadpacket}'; all __torch_dispatch__ handlers "
            f"returned NotImplemented:\n  - tensor subclass {type(t)!r}"
        )
    if reply is None:
        return NotImplemented
    if operator in ("aten::sym_size", "aten::sym_stride"):
        if args:
            return reply[args[0]]
        is_plain = operator == "aten::sym_size" and all(isinstance(n, int) for n in reply)
        return Size(reply) if is_plain else tuple(reply)
    return reply


def reply_of_handler(name: str, t: Tensor, args: tuple[Any, ...]) -> Any:
    """The metadata that the handler of a tensor returns; NotImplemented where the stored value holds.

    Args:
        name: a property or method of tensors, such as "shape".
        t: the tensor.
        args: a dimension, or a memory format.

    Raises:
        TypeError: all handlers returned NotImplemented.
    """
    if type(t) is Tensor or name not in t.__dict__.get(ASKED, ()):
        return NotImplemented
    if _C._is_layer_excluded(_C._LAYER_PYTHON):  # in `no_dispatch`, or below the handlers
        return NotImplemented
    if name in DEVICES:
        return _call_handler(t, _OPERATORS["device"], ()).type == name.removeprefix("is_")
    return _call_handler(t, _OPERATORS[name], args)
