"""NCCL by its shared library: where it is found, and the functions that the backend calls.

The declarations are those of NCCL's documentation. `ncclConfig_t` ends after `blocking`, its state in NCCL 2.14, whose
version it names; later libraries accept it.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..base.errors import DistBackendError

__all__ = ["NcclConfig", "NcclId", "NcclLibrary", "load_nccl", "open_library"]

IN_PROGRESS = 7
LEAST_VERSION = 21400  # which introduced communicators without blocking set-up
_PAUSE = 2e-4  # seconds
_MAGIC = 0xCAFEBEEF

_COMM, _STREAM, _MEMORY, _SIZE, _INT = (
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
)


class NcclId(ctypes.Structure):
    """What ranks of a communicator find each other by."""

    _fields_ = (("internal", ctypes.c_ubyte * 128),)


class NcclConfig(ctypes.Structure):
    """The options of a communicator."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("magic", ctypes.c_uint),
        ("version", ctypes.c_uint),
        ("blocking", ctypes.c_int),
    )

    @classmethod
    def without_blocking(cls) -> NcclConfig:
        """The options of a communicator whose functions return at once."""
        return cls(ctypes.sizeof(cls), _MAGIC, LEAST_VERSION, 0)


_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "ncclGetVersion": (ctypes.POINTER(_INT),),
    "ncclGetUniqueId": (ctypes.POINTER(NcclId),),
    "ncclCommInitRankConfig": (ctypes.POINTER(_COMM), _INT, NcclId, _INT, ctypes.POINTER(NcclConfig)),
    "ncclCommGetAsyncError": (_COMM, ctypes.POINTER(_INT)),
    "ncclCommFinalize": (_COMM,),
    "ncclCommDestroy": (_COMM,),
    "ncclCommAbort": (_COMM,),
    "ncclAllReduce": (_MEMORY, _MEMORY, _SIZE, _INT, _INT, _COMM, _STREAM),
    "ncclReduce": (_MEMORY, _MEMORY, _SIZE, _INT, _INT, _INT, _COMM, _STREAM),
    "ncclBroadcast": (_MEMORY, _MEMORY, _SIZE, _INT, _INT, _COMM, _STREAM),
    "ncclAllGather": (_MEMORY, _MEMORY, _SIZE, _INT, _COMM, _STREAM),
    "ncclReduceScatter": (_MEMORY, _MEMORY, _SIZE, _INT, _INT, _COMM, _STREAM),
    "ncclSend": (_MEMORY, _SIZE, _INT, _INT, _COMM, _STREAM),
    "ncclRecv": (_MEMORY, _SIZE, _INT, _INT, _COMM, _STREAM),
    "ncclGroupStart": (),
    "ncclGroupEnd": (),
}


def open_library(name: str, variable: str, files: list[Path], hint: str) -> ctypes.CDLL:
    """Opens a shared library: the file that a variable names, else the first that is there.

    Args:
        name: the library's name for the loader.
        variable: the environment variable that may name a file.
        files: paths to try before the loader's own path.
        hint: what to install, for the error.

    Raises:
        RuntimeError: no library can be opened.
    """
    chosen = os.environ.get(variable)
    paths = [chosen] if chosen else [*map(str, filter(Path.is_file, files)), name]
    reasons = []
    for each in paths:
        try:
            return ctypes.CDLL(each)
        except OSError as error:
            reasons.append(str(error))
    raise RuntimeError(
        f"the backend 'nccl' is not there: {'; '.join(reasons)}; {hint}, or name a file in {variable}"
    )


class NcclLibrary:
    """The functions of a library.

    Args:
        library: what the loader has opened.

    Raises:
        RuntimeError: it lacks a function, or is older than 2.14.
    """

    def __init__(self, library: ctypes.CDLL):
        self._library = library
        try:
            for name, arguments in _FUNCTIONS.items():
                getattr(library, name).argtypes = arguments
            library.ncclGetErrorString.argtypes, library.ncclGetErrorString.restype = (_INT,), ctypes.c_char_p
            library.ncclGetLastError.argtypes, library.ncclGetLastError.restype = (_COMM,), ctypes.c_char_p
        except AttributeError as error:
            raise RuntimeError(f"the backend 'nccl' needs NCCL 2.14 or later: {error}") from error
        version = _INT()
        library.ncclGetVersion(ctypes.byref(version))
        self.version = (version.value // 10000, version.value % 10000 // 100, version.value % 100)
        if version.value < LEAST_VERSION:
            raise RuntimeError(
                f"the backend 'nccl' needs NCCL 2.14 or later, got {'.'.join(map(str, self.version))}"
            )

    def call(
        self, name: str, *arguments: Any, comm: Any = None, check: Callable[[], None] = lambda: None
    ) -> None:
        """Calls a function, and waits until a communicator has accepted the call.

        Args:
            name: the function.
            arguments: its arguments.
            comm: the communicator whose state tells the outcome of a call that goes on.
            check: called in a wait; raises to end it.

        Raises:
            DistBackendError: the library reports an error.
        """
        result = getattr(self._library, name)(*arguments)
        while result == IN_PROGRESS and comm is not None:
            check()
            time.sleep(_PAUSE)
            result = self.state(comm)
        if result not in (0, IN_PROGRESS):
            raise DistBackendError(f"{name}: {self.text(result, comm)}")

    def state(self, comm: Any) -> int:
        """The error of a communicator: 0 without one, IN_PROGRESS while a call goes on."""
        state = _INT()
        result: int = self._library.ncclCommGetAsyncError(comm, ctypes.byref(state))
        return result or state.value

    def text(self, result: int, comm: Any = None) -> str:
        """An error of the library as a text.

        Args:
            result: its number.
            comm: the communicator; None without one.
        """
        text = self._library.ncclGetErrorString(result).decode()
        last = (self._library.ncclGetLastError(comm) or b"").decode().strip()
        return f"NCCL {'.'.join(map(str, self.version))}: {text}{f' ({last})' if last else ''}"


_loading = threading.Lock()


def load_nccl() -> NcclLibrary:
    """NCCL: the file of TL_NCCL_LIBRARY, the package nvidia-nccl, or the system's.

    Raises:
        RuntimeError: it isn't there, or is too old.
    """
    with _loading:
        return _load(os.environ.get("TL_NCCL_LIBRARY"))


@cache
def _load(_: str | None) -> NcclLibrary:
    spec = find_spec("nvidia.nccl") if find_spec("nvidia") else None
    folders = list(spec.submodule_search_locations or ()) if spec else []
    files = [Path(folder, "lib", "libnccl.so.2") for folder in folders]
    return NcclLibrary(
        open_library(
            "libnccl.so.2", "TL_NCCL_LIBRARY", files, "install nvidia-nccl-cu12 or the system's NCCL"
        )
    )
