"""Batches between processes: a pickle whose large buffers are in the arena."""

from __future__ import annotations

import io
import pickle
import struct
from multiprocessing.reduction import ForkingPickler
from typing import Any, Protocol

import tl_core
from tl_core import Tensor
from tl_core.memory.mapped_memory import tensor_on_buffer

__all__ = ["Slots", "Stored", "decode", "encode"]

SMALL = 2048  # bytes of a buffer that is cheaper to send through the pipe
_COUNT = struct.Struct("<Q")
_SLOT = struct.Struct("<QQ")


class Slots(Protocol):
    """Storage for large buffers of a sender, such as a worker's `Region`."""

    def hand_over(self, tensor: Tensor) -> int | None:
        """The offset of a tensor that is in the storage already; None for any other."""

    def store(self, data: memoryview) -> int | None:
        """Copies a buffer; returns its offset, or None if there is no room."""

    def release(self, offsets: list[int]) -> None:
        """Frees slots."""


class Stored(Protocol):
    """Storage of large buffers of a receiver, such as the `Arena`."""

    def block(self, worker: int, offset: int, size: int) -> memoryview:
        """The memory of a buffer."""


def encode(message: Any, region: Slots | None) -> bytes:
    """A message as bytes; the receiver owns the blocks of its buffers."""
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
    """The message; its buffers are not copied.

    Args:
        data: the bytes that `encode` returned.
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
        self._offsets: dict[int, int] = {}  # of a buffer that is in the region already

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
        slot = None if self.region is None else self.region.hand_over(resolved)
        if slot is not None:
            self._offsets[id(buffer)] = slot
        return _rebuild, (buffer, tensor.dtype, shape)

    def _store(self, buffer: pickle.PickleBuffer) -> bool:
        """Stores a buffer; False if it is in the region, True if the pickle has to hold it."""
        size = memoryview(buffer).nbytes
        slot = self._offsets.pop(id(buffer), None)
        if slot is None:
            if self.region is None or size < SMALL:
                return True
            slot = self.region.store(buffer.raw())
            if slot is None:
                return True
        self.slots.append((slot, size))
        return False

    def take_back(self) -> None:
        """Frees the buffers after a failure."""
        if self.region is not None:
            self.region.release([slot for slot, _ in self.slots])


def _is_plain(tensor: Tensor) -> bool:
    kind = tensor.layout is tl_core.strided and tensor.device.type == "cpu"
    return kind and not tensor.requires_grad and not vars(tensor)


def _empty(shape: tuple[int, ...], dtype: Any) -> Tensor:
    return tl_core.empty(shape, dtype=dtype)


def _rebuild(buffer: Any, dtype: Any, shape: tuple[int, ...]) -> Tensor:
    return tensor_on_buffer(buffer, dtype).view(shape)
