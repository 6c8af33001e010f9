"""NVIDIA's driver by its shared library: the devices of memory, streams and events, for the backend `nccl`."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from ..base.errors import DistBackendError
from .nccl_library import open_library

__all__ = ["CudaDriver", "load_driver"]

_NOT_READY = 600
_MEMORY_TYPE, _DEVICE_ORDINAL = 2, 9  # attributes of pointers
_HOST = 1
_NON_BLOCKING = 1  # a stream that does not wait for the default stream
_NO_TIMING = 2
_WORD = ctypes.c_void_p


class CudaDriver:
    """The functions of the driver that the backend calls.

    Args:
        library: what the loader has opened.
    """

    def __init__(self, library: ctypes.CDLL):
        self._library = library
        self._contexts: dict[int, ctypes.c_void_p] = {}
        self._call("cuInit", 0)

    def _call(self, name: str, *arguments: Any) -> None:
        result = getattr(self._library, name)(*arguments)
        if result:
            raise DistBackendError(f"{name}: error {result} of NVIDIA's driver")

    def device_of(self, address: int) -> int | None:
        """The number of the device whose memory has an address; None for memory of the host.

        Args:
            address: the address.
        """
        kind, device = ctypes.c_uint(0), ctypes.c_int(-1)
        pointer = ctypes.c_uint64(address)
        if (
            self._library.cuPointerGetAttribute(ctypes.byref(kind), _MEMORY_TYPE, pointer)
            or kind.value == _HOST
        ):
            return None
        self._call("cuPointerGetAttribute", ctypes.byref(device), _DEVICE_ORDINAL, pointer)
        return device.value

    def enter(self, device: int) -> None:
        """Makes a device the current one of this thread.

        Args:
            device: its number.
        """
        if device not in self._contexts:
            handle, context = ctypes.c_int(), _WORD()
            self._call("cuDeviceGet", ctypes.byref(handle), device)
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
            self._contexts.setdefault(device, context)
        self._call("cuCtxSetCurrent", self._contexts[device])

    def stream(self) -> ctypes.c_void_p:
        """A new stream of the current device."""
        stream = _WORD()
        self._call("cuStreamCreate", ctypes.byref(stream), _NON_BLOCKING)
        return stream

    def close_stream(self, stream: ctypes.c_void_p) -> None:
        """Ends a stream when its work is done."""
        self._call("cuStreamDestroy_v2", stream)

    def record(self, stream: ctypes.c_void_p | None) -> ctypes.c_void_p:
        """An event at the end of what a stream has to do.

        Args:
            stream: the stream; None for the default stream.
        """
        event = _WORD()
        self._call("cuEventCreate", ctypes.byref(event), _NO_TIMING)
        self._call("cuEventRecord", event, stream)
        return event

    def follow(self, stream: ctypes.c_void_p) -> None:
        """Lets a stream wait for what the default stream has to do now.

        Args:
            stream: the stream.
        """
        event = self.record(None)
        self._call("cuStreamWaitEvent", stream, event, 0)
        self.close_event(event)

    def has_happened(self, event: ctypes.c_void_p) -> bool:
        """True if the work before an event is done.

        Args:
            event: the event.
        """
        result: int = self._library.cuEventQuery(event)
        if result not in (0, _NOT_READY):
            raise DistBackendError(f"cuEventQuery: error {result} of NVIDIA's driver")
        return result == 0

    def close_event(self, event: ctypes.c_void_p) -> None:
        """Frees an event."""
        self._call("cuEventDestroy_v2", event)

    @contextmanager
    def memory(self, size: int) -> Iterator[int]:
        """The address of memory of the current device, within a block.

        Args:
            size: its bytes.
        """
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        try:
            yield address.value
        finally:
            self._call("cuMemFree_v2", address)


def load_driver() -> CudaDriver:
    """The driver: the file of TL_CUDA_DRIVER, or the system's.

    Raises:
        RuntimeError: it isn't there.
    """
    return _load(os.environ.get("TL_CUDA_DRIVER"))


@cache
def _load(_: str | None) -> CudaDriver:
    return CudaDriver(
        open_library("libcuda.so.1", "TL_CUDA_DRIVER", [], "NCCL needs an NVIDIA GPU and its driver")
    )
