"""The operators by which handlers are asked for sizes, strides and the like of their tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core._C import Tensor
from tl_core.ops import OpOverload, OpOverloadPacket, _Namespace, aten

__all__ = ["OPERATORS", "wanted"]


class _Metadata(OpOverload):
    """One of them: called with a tensor, what is stored there."""

    def __init__(
        self, packet: Any, overload: str, name: str, schema: str, stored: Callable[..., Any]
    ) -> None:
        super().__init__(packet, overload, name, schema)
        self._stored = stored

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._stored(*args, **kwargs)


class _Packet(OpOverloadPacket):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.default(*args, **kwargs)  # type: ignore[attr-defined]


def _packet(namespace: str, name: str, overloads: dict[str, tuple[str, Callable[..., Any]]]) -> Any:
    made = _Packet(namespace, name, {})
    for overload, (schema, stored) in overloads.items():
        full = name if overload == "default" else f"{name}.{overload}"
        qualified = full if namespace == "aten" else f"{namespace}::{full}"
        setattr(made, overload, _Metadata(made, overload, qualified, schema, stored))
        made._overloads.append(overload)
    return made


prim = _Namespace("prim")
_READERS: dict[str, dict[str, tuple[str, Callable[..., Any]]]] = {
    "sym_size": {"default": ("sym_size(Tensor self) -> SymInt[]", lambda t: t.size())},
    "sym_stride": {"default": ("sym_stride(Tensor self) -> SymInt[]", lambda t: t.stride())},
    "sym_numel": {"default": ("sym_numel(Tensor self) -> SymInt", lambda t: t.numel())},
    "sym_storage_offset": {
        "default": ("sym_storage_offset(Tensor self) -> SymInt", lambda t: t.storage_offset())
    },
    "size": {"default": ("size(Tensor self) -> int[]", lambda t: t.size())},
    "stride": {"default": ("stride(Tensor self) -> int[]", lambda t: t.stride())},
    "numel": {"default": ("numel(Tensor self) -> int", lambda t: t.numel())},
    "storage_offset": {"default": ("storage_offset(Tensor self) -> int", lambda t: t.storage_offset())},
    "dim": {"default": ("dim(Tensor self) -> int", lambda t: t.dim())},
    "is_contiguous": {
        "default": ("is_contiguous(Tensor self) -> bool", lambda t: t.is_contiguous()),
        "memory_format": (
            "is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
            lambda t, memory_format: t.is_contiguous(memory_format=memory_format),
        ),
    },
}
PACKETS = {name: _packet("aten", name, overloads) for name, overloads in _READERS.items()}
prim.device = _packet("prim", "device", {"default": ("device(Tensor a) -> Device", lambda t: t.device)})
prim.layout = _packet("prim", "layout", {"default": ("layout(Tensor a) -> Layout", lambda t: t.layout)})
for _name, _made in PACKETS.items():
    vars(aten).setdefault(_name, _made)
OPERATORS: dict[str, Any] = {
    "shape": PACKETS["sym_size"], "size": PACKETS["sym_size"], "stride": PACKETS["sym_stride"],
    "numel": PACKETS["sym_numel"], "storage_offset": PACKETS["sym_storage_offset"], "dim": PACKETS["dim"],
    "ndim": PACKETS["dim"], "is_contiguous": PACKETS["is_contiguous"], "device": prim.device, "layout": prim.layout,
}  # fmt: skip


def wanted(t: Tensor, packet: Any, args: tuple[Any, ...]) -> Any:
    """What the handlers say: the innermost mode's, else that of the tensor's class; NotImplemented for as stored.

    Args:
        t: the tensor.
        packet: one of `OPERATORS`.
        args: a dimension, or a memory format.
    """
    whole = packet.default
    if args and packet is PACKETS["is_contiguous"]:
        whole, given = packet.memory_format, (t, *args)
    else:
        given = (t,)
    made = t.__torch_dispatch__(whole, (type(t),), given, {})
    if made is NotImplemented:
        raise TypeError(
            f"Multiple dispatch failed for 'torch.ops.{packet}'; all __torch_dispatch__ handlers returned "
            f"NotImplemented:\n  - tensor subclass {type(t)!r}"
        )
    if made is None:
        return NotImplemented
    if packet in (PACKETS["sym_size"], PACKETS["sym_stride"]):
        if args:
            return made[args[0]]
        if packet is PACKETS["sym_size"] and all(isinstance(n, int) for n in made):
            from tl_core._size import Size

            return Size(made)
        return tuple(made)
    return made
