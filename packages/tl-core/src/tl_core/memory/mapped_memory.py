"""Memory that lies on a file, or that other processes see."""

from __future__ import annotations

import os
from typing import Any

from tl_core import _C
from tl_core._C import Tensor

__all__ = ["MappedMemory", "map_descriptor", "map_file", "map_shared", "tensor_on_buffer"]


class MappedMemory(_C._MemoryMap):
    """A map that knows what it shows. It holds at most one descriptor of its file, the one that it can be sent by.

    `filename` is that of a file which writes reach, else None; `is_shared` tells whether other processes see writes;
    `descriptor`, where it isn't -1, can be sent to another process, which gives it to `map_descriptor`.
    """

    filename: str | None = None
    is_shared: bool = False
    descriptor: int = -1

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)


def map_file(filename: str, shared: bool, nbytes: int) -> MappedMemory:
    """The first bytes of a file. Shared: writes reach the file, which is made, or made longer, where it is too short.

    Raises RuntimeError if the file can't be opened, or is too short and not shared.

    Args:
        filename: the path.
        shared: whether writes reach the file.
        nbytes: how many bytes.
    """
    kind = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    try:
        descriptor = os.open(filename, kind | os.O_CLOEXEC, 0o666)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(
            f"unable to open file <{filename}> in {mode} mode: {error.strerror} ({error.errno})"
        ) from error
    try:
        size = os.fstat(descriptor).st_size
        if size < nbytes and not shared:
            raise RuntimeError(
                f"file <{filename}> size <{size}> is smaller than the required mapping size <{nbytes}>"
            )
        if size < nbytes:
            os.ftruncate(descriptor, nbytes)
        memory = MappedMemory(descriptor, nbytes, shared)
    finally:
        os.close(descriptor)
    memory.filename, memory.is_shared = filename if shared else None, shared
    return memory


def map_shared(nbytes: int) -> MappedMemory:
    """New memory for several processes. It has no name, so that none can be left behind."""
    descriptor = os.memfd_create("tl", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, nbytes)
        return map_descriptor(descriptor, nbytes)
    except BaseException:
        os.close(descriptor)
        raise


def map_descriptor(descriptor: int, nbytes: int) -> MappedMemory:
    """The memory behind another map's descriptor, which belongs to the new map from then on."""
    memory = MappedMemory(descriptor, nbytes, True)
    memory.is_shared, memory.descriptor = True, descriptor
    return memory


def tensor_on_buffer(memory: Any, dtype: Any = _C.uint8) -> Tensor:
    """The elements that a buffer holds; where it is read-only, writes to the tensor raise.

    As `frombuffer` of the whole of it, without that function's warning, for those who expect read-only memory.
    """
    return _C._from_buffer(memory).view(dtype)
