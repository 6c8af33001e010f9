"""Binaries that are built for PyTorch and use its stable C interface only.

Their files name PyTorch's libraries as needed. tl has libraries with these names, whose functions are tl's own
(`libtl_stable_abi.so`), in a folder that is on no search path. They are loaded with the first such file.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

from tl_core import _C
from tl_core.extensions import shared_objects

__all__ = ["folder", "is_built_for_torch", "load", "prepare", "raise_errors"]

# Names that PyTorch's libraries have, and nobody else's.
_NAMES = ("libtorch", "libc10")
# The libraries of the folder, in the order in which they are loaded: the first has all functions.
_LIBRARIES = (
    "libtl_stable_abi.so",
    "libtorch.so",
    "libtorch_cpu.so",
    "libtorch_python.so",
    "libtorch_cuda.so",
    "libc10.so",
    "libc10_cuda.so",
)
# CUDA's own, under the names that its versions have, for files that need one or PyTorch's libraries for CUDA.
_CUDA_LIBRARIES = ("libcudart.so.12", "libcudart.so.13", "libnvrtc.so.12", "libnvrtc.so.13")
_CUDA_NAMES = ("libcudart.", "libnvrtc.", "libtorch_cuda.", "libc10_cuda.")
_NAMESPACES = ("2at", "3c10", "5torch", "6caffe2", "7c10_cuda")  # of PyTorch's C++, as symbols spell them

_functions: ctypes.PyDLL | None = None
_open_libraries: list[Any] = []  # the libraries, which are never unloaded
# A library registers while it is loaded, by constructors that may not raise: its errors wait here.
errors: list[BaseException] = []


def is_built_for_torch(path: str | Path) -> bool:
    """Whether a shared object names a library of PyTorch as needed.

    Args:
        path: the file.

    Example:
        >>> from tl_core import _C
        >>> is_built_for_torch(_C.__file__)
        False
    """
    return shared_objects.needs(path, _NAMES)


def prepare(path: str | Path) -> bool:
    """Loads the libraries that a shared object built for PyTorch needs.

    Args:
        path: the file.

    Returns:
        Whether the file is one.

    Raises:
        ImportError: PyTorch's own libraries are in the process, or the file needs functions that tl lacks.
    """
    if not is_built_for_torch(path):
        return False
    file = shared_objects.read(path)
    assert file is not None
    functions = _start()
    if any(name.startswith(_CUDA_NAMES) for name in file.needed):
        _start_cuda()
    _check_symbols(path, file, functions)
    return True


def load(path: str | Path) -> bool:
    """Loads a shared object that is built for PyTorch, with all that it registers.

    Args:
        path: the file.

    Returns:
        Whether the file is one; another is not loaded.

    Raises:
        ImportError: see `prepare`.
        OSError: the file cannot be loaded.
    """
    if not prepare(path):
        return False
    assert _functions is not None
    text = _functions.tl_stable_abi_open(str(path).encode())
    if text is not None:
        raise OSError(text.decode("utf-8", "replace"))
    raise_errors()
    return True


def raise_errors() -> None:
    """Raises the first error of the registrations since the last call."""
    if errors:
        first = errors[0]
        errors.clear()
        raise first


# ---- the libraries --------------------------------------------------------------------------------------------------
def folder() -> Path:
    """Returns the folder of the libraries, which bear the names of PyTorch's.

    Example:
        >>> (folder() / "libtorch.so").exists()
        True
    """
    beside = Path(__file__).resolve().parents[1] / "stable_abi"
    return beside if beside.exists() else Path(str(_C.__file__)).resolve().parent / "stable_abi"


def _open(path: Path) -> ctypes.PyDLL:
    try:
        library = ctypes.PyDLL(str(path))
    except OSError as error:
        raise ImportError(f"tl-core's library {path.name} cannot be loaded: {error}") from error
    _open_libraries.append(library)
    return library


def _start() -> ctypes.PyDLL:
    global _functions
    if _functions is not None:
        return _functions
    real = _foreign_library()
    if real is not None:
        raise ImportError(
            f"PyTorch's own library {real} is loaded in this process: a binary for PyTorch would use it, and not tl"
        )
    functions = None
    for name in _LIBRARIES:
        library = _open(folder() / name)
        functions = functions or library
    assert functions is not None
    functions.tl_stable_abi_open.restype = ctypes.c_char_p
    functions.tl_stable_abi_open.argtypes = [ctypes.c_char_p]
    if functions.tl_stable_abi_start() != 0:
        raise ImportError("the functions of PyTorch's stable interface cannot start")
    _functions = functions
    return functions


@functools.cache
def _start_cuda() -> None:
    for name in _CUDA_LIBRARIES:
        _open(folder() / name)


def _foreign_library() -> str | None:
    """A library of PyTorch that is in the process and is not tl's."""
    own = str(folder())
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            name = path.rpartition("/")[2]
            if name.startswith(("libtorch_cpu.", "libtorch.", "libc10.")) and not f"/{path}".startswith(own):
                return f"/{path}"
    return None


# ---- symbols --------------------------------------------------------------------------------------------------------
def _check_symbols(path: str | Path, file: shared_objects.SharedObject, functions: ctypes.PyDLL) -> None:
    name = Path(path).name
    for symbol in file.undefined:
        if _is_of_torch(symbol):
            raise ImportError(
                f"{name} is built for torch itself, needs its C++ ABI: {_readable(symbol)}. tl runs binaries that use "
                f"PyTorch's stable C interface only",
                path=str(path),
            )
    missing = [s for s in file.undefined if s.startswith(("aoti_", "torch_")) and not hasattr(functions, s)]
    if missing:
        raise ImportError(
            f"{name} is built for a newer stable interface of PyTorch than tl has (2.13): it needs "
            f"{', '.join(missing)}",
            path=str(path),
        )


def _is_of_torch(symbol: str) -> bool:
    if not symbol.startswith("_Z"):
        return False
    rest = symbol[2:].lstrip("TVISGZ")  # tables of classes, guards, functions within functions
    return rest.startswith("N") and rest[1:].lstrip("KRVO").startswith(_NAMESPACES)


def _readable(symbol: str) -> str:
    """The name as C++ writes it, where the system's library can say."""
    try:
        demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    except (OSError, AttributeError):
        return symbol
    demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    text = demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not text:
        return symbol
    shown = ctypes.string_at(text).decode("utf-8", "replace")
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    free(text)
    return shown
