"""Batches between processes: a pickle whose large pieces lie in the arena."""

from __future__ import annotations

import io
import pickle
import struct
from multiprocessing.reduction import ForkingPickler
from typing import Any, Protocol

import tl_core
from tl_core import Tensor
from tl_core.mapped_memory import tensor_on_buffer

__all__ = ["Slots", "Stored", "decode", "encode"]

SMALL = 2048  # bytes that are cheaper to send than to place
_COUNT = struct.Struct("<Q")
_SLOT = struct.Struct("<QQ")


class Slots(Protocol):
    """Where large pieces are put: a worker's `Region`, for one."""

    def placed(self, tensor: Tensor) -> int | None:
        """The place of a tensor that lies there already."""

    def store(self, data: memoryview) -> int | None:
        """The place of a new piece; None if there is no room."""

    def release(self, offsets: list[int]) -> None:
        """Gives slots back."""


class Stored(Protocol):
    """Where large pieces are found: the `Arena`, for one."""

    def block(self, worker: int, offset: int, size: int) -> memoryview:
        """A piece's memory."""


def encode(message: Any, region: Slots | None) -> bytes:
    """A message as bytes; what its pieces fill of the region is the receiver's."""
    file = io.BytesIO()
    pickler = _Pickler(file, region)
    try:
        pickler.dump(message)
    except BaseException:
        pickler.take_back()
        raise
    slots = b"".join(_SLOT.pack(*slot) for slot in pickler.slots)
    return b"".join((_COUNT.pack(len(pickler.slots)), slots, file.getbuffer()))


def decode(data: bytes | memoryview, arena: Stored | None, worker: int) -> Any:
    """The message; its pieces stay where they are.

    Args:
        data: the message.
        arena: the memory that workers share with the program.
        worker: the number of the worker that sent it.
    """
    (count,) = _COUNT.unpack_from(data)
    start = _COUNT.size + count * _SLOT.size
    slots = _SLOT.iter_unpack(memoryview(data)[_COUNT.size : start])
    blocks = [] if arena is None else [arena.block(worker, offset, size) for offset, size in slots]
    return pickle.loads(memoryview(data)[start:], buffers=blocks)


class _Pickler(ForkingPickler):
    def __init__(self, file: io.BytesIO, region: Slots | None) -> None:
        super().__init__(file, 5, True, self._store)
        self.region = region
        self.slots: list[tuple[int, int]] = []
        self._known: dict[int, int] = {}  # of a buffer that lies in the region already

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is Tensor and _is_plain(obj):
            return self._tensor(obj)
        return NotImplemented

    def _tensor(self, tensor: Tensor) -> Any:
        shape = tuple(tensor.shape)
        if tensor.numel() == 0:
            return _empty, (shape, tensor.dtype)
        resolved = tensor.resolve_conj().resolve_neg().contiguous()
        memory = memoryview(resolved.reshape(-1).view(tl_core.uint8))
        buffer = pickle.PickleBuffer(memory)
        slot = None if self.region is None else self.region.placed(resolved)
        if slot is not None:
            self._known[id(buffer)] = slot
        return _rebuild, (buffer, tensor.dtype, shape)

    def _store(self, buffer: pickle.PickleBuffer) -> bool:
        """Where a buffer goes: False into the region, True into the pickle."""
        size = memoryview(buffer).nbytes
        slot = self._known.pop(id(buffer), None)
        if slot is None:
            if self.region is None or size < SMALL:
                return True
            slot = self.region.store(buffer.raw())
            if slot is None:
                return True
        self.slots.append((slot, size))
        return False

    def take_back(self) -> None:
        """Gives back what was placed, after a failure."""
        if self.region is not None:
            self.region.release([slot for slot, _ in self.slots])


def _is_plain(tensor: Tensor) -> bool:
    kind = tensor.layout is tl_core.strided and tensor.device.type == "cpu"
    return kind and not tensor.requires_grad and not vars(tensor)


def _empty(shape: tuple[int, ...], dtype: Any) -> Tensor:
    return tl_core.empty(shape, dtype=dtype)


def _rebuild(buffer: Any, dtype: Any, shape: tuple[int, ...]) -> Tensor:
    return tensor_on_buffer(buffer, dtype).view(shape)
