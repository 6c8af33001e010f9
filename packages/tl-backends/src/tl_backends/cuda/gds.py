"""Reads and writes between files and the memory of CUDA devices."""

from typing import Any

from tl_backends.absent_device import CUDA

__all__ = ["GdsFile", "gds_deregister_buffer", "gds_register_buffer"]


def gds_register_buffer(s: Any) -> None:
    """Prepares a storage for transfers."""
    raise CUDA.error("gds.gds_register_buffer")


def gds_deregister_buffer(s: Any) -> None:
    """Undoes `gds_register_buffer`."""
    raise CUDA.error("gds.gds_deregister_buffer")


class GdsFile:
    """A file for transfers."""

    def __init__(self, filename: str, flags: int):
        raise CUDA.error(f"gds.GdsFile({filename!r})")

    def register_handle(self) -> None:
        """Prepares the file for transfers."""
        raise CUDA.error("gds.GdsFile.register_handle")

    def deregister_handle(self) -> None:
        """Undoes `register_handle`."""
        raise CUDA.error("gds.GdsFile.deregister_handle")

    def load_storage(self, storage: Any, offset: int = 0) -> None:
        """Reads a storage from the file."""
        raise CUDA.error("gds.GdsFile.load_storage")

    def save_storage(self, storage: Any, offset: int = 0) -> None:
        """Writes a storage to the file."""
        raise CUDA.error("gds.GdsFile.save_storage")
