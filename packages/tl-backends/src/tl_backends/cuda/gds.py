"""Reads and writes between files and the memory of CUDA devices."""

from typing import Any

from tl_backends import absent

__all__ = ["GdsFile", "gds_deregister_buffer", "gds_register_buffer"]


def gds_register_buffer(s: Any) -> None:
    """Prepares a storage for transfers."""
    raise absent.cuda("tl.cuda.gds.gds_register_buffer")


def gds_deregister_buffer(s: Any) -> None:
    """Undoes `gds_register_buffer`."""
    raise absent.cuda("tl.cuda.gds.gds_deregister_buffer")


class GdsFile:
    """A file for transfers."""

    def __init__(self, filename: str, flags: int):
        raise absent.cuda(f"tl.cuda.gds.GdsFile({filename!r})")

    def register_handle(self) -> None:
        """Prepares the file for transfers."""
        raise absent.cuda("tl.cuda.gds.GdsFile.register_handle")

    def deregister_handle(self) -> None:
        """Undoes `register_handle`."""
        raise absent.cuda("tl.cuda.gds.GdsFile.deregister_handle")

    def load_storage(self, storage: Any, offset: int = 0) -> None:
        """Reads a storage from the file."""
        raise absent.cuda("tl.cuda.gds.GdsFile.load_storage")

    def save_storage(self, storage: Any, offset: int = 0) -> None:
        """Writes a storage to the file."""
        raise absent.cuda("tl.cuda.gds.GdsFile.save_storage")
