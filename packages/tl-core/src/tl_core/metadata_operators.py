"""How handlers are asked for sizes, strides and the like of their tensors."""

from __future__ import annotations

from typing import Any

from tl_core._C import Tensor
from tl_core._size import Size
from tl_core.size_operators import PACKETS

__all__ = ["OPERATORS", "wanted"]

OPERATORS: dict[str, Any] = {
    "shape": PACKETS["aten::sym_size"], "size": PACKETS["aten::sym_size"], "stride": PACKETS["aten::sym_stride"],
    "numel": PACKETS["aten::sym_numel"], "plain_numel": PACKETS["aten::numel"],
    "storage_offset": PACKETS["aten::sym_storage_offset"],
    "dim": PACKETS["aten::dim"], "ndim": PACKETS["aten::dim"], "is_contiguous": PACKETS["aten::is_contiguous"],
    "is_strides_like_format": PACKETS["aten::is_strides_like_format"],
    "is_non_overlapping_and_dense": PACKETS["aten::is_non_overlapping_and_dense"],
    "device": PACKETS["prim::device"], "layout": PACKETS["prim::layout"],
}  # fmt: skip


def wanted(t: Tensor, packet: Any, args: tuple[Any, ...]) -> Any:
    """What the handlers say: the innermost mode's, else that of the tensor's class; NotImplemented for as stored.

    Args:
        t: the tensor.
        packet: one of `OPERATORS`.
        args: a dimension, or a memory format.
    """
    whole = packet.default
    if args and packet is OPERATORS["is_contiguous"]:
        whole = packet.memory_format
    formats = packet in (OPERATORS["is_contiguous"], OPERATORS["is_strides_like_format"])
    given = (t, *args) if formats else (t,)
    made = t.__torch_dispatch__(whole, (type(t),), given, {})
    if made is NotImplemented:
        raise TypeError(
            f"Multiple dispatch failed for 'torch.ops.{packet}'; all __torch_dispatch__ handlers returned "
            f"NotImplemented:\n  - tensor subclass {type(t)!r}"
        )
    if made is None:
        return NotImplemented
    if packet in (OPERATORS["size"], OPERATORS["stride"]):
        if args:
            return made[args[0]]
        if packet is OPERATORS["size"] and all(isinstance(n, int) for n in made):
            return Size(made)
        return tuple(made)
    return made
