"""Storages and streams of operators that C or C++ registers, as the objects of Python that stand for them."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base import name_table, optional
from tl_core.memory.typed_storage import TypedStorage
from tl_core.memory.untyped_storage import UntypedStorage

__all__ = ["storage_object", "storage_tensor", "stream_numbers", "stream_object"]

_TYPES = {"cpu": 0, "cuda": 1, "meta": 14}
"""The numbers of types of devices in PyTorch's streams."""


def storage_tensor(storage: Any) -> Tensor | None:
    """A tensor on the memory of a storage.

    Args:
        storage: the storage.

    Returns:
        The tensor, or None for any other object.

    Example:
        >>> import tl_core
        >>> storage_tensor(tl_core.ones(2, dtype=tl_core.uint8).untyped_storage())
        tensor([1, 1], dtype=torch.uint8)
    """
    if isinstance(storage, TypedStorage):
        storage = storage.untyped()
    return storage._tensor if isinstance(storage, UntypedStorage) else None


def storage_object(tensor: Tensor) -> UntypedStorage:
    """The storage of a tensor.

    Args:
        tensor: the tensor.

    Example:
        >>> import tl_core
        >>> storage_object(tl_core.ones(2)).nbytes()
        8
    """
    return UntypedStorage._of(tensor)


def stream_numbers(stream: Any) -> tuple[_C.device, int] | None:
    """The device and the number of a stream.

    Args:
        stream: the stream.

    Returns:
        Both, or None for an object that is no stream.

    Example:
        >>> stream_numbers("no stream")
    """
    number, device = getattr(stream, "stream_id", None), getattr(stream, "device", None)
    return (device, number) if isinstance(number, int) and isinstance(device, _C.device) else None


def stream_object(device: _C.device, number: int) -> Any:
    """The stream of a device with a number.

    Args:
        device: the device.
        number: the number, which is 0 for the stream of the CPU.

    Raises:
        ModuleNotFoundError: the package of streams is not installed.
    """
    module, _, name = name_table.OBJECTS["Stream"].partition(":")
    if device.type not in _TYPES:
        raise RuntimeError(f"a stream of the device type {device.type!r} has no object in Python")
    streams = optional.load(module, "a stream as the result of an operator", "tl-backends")
    kind = getattr(streams, name)
    return kind(stream_id=number, device_index=device.index or 0, device_type=_TYPES[device.type])
