"""Where LAPACK comes from: the shared library that functions of matrices load when they first need it.

In this order: the file that the environment variable TL_LAPACK names, the wheel `scipy-openblas32`, which the extra
`lapack` of this package installs, and the OpenBLAS that the wheels of numpy and scipy carry.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from tl_core import _C

__all__ = ["library", "load"]


def candidates() -> Iterator[Path]:
    """The files that may hold LAPACK, the preferred ones first."""
    wheel = find_spec("scipy_openblas32")
    if wheel and wheel.submodule_search_locations:
        for folder in wheel.submodule_search_locations:
            yield from sorted(Path(folder, "lib").glob("libscipy_openblas*.so*"))
    for package in ("numpy", "scipy"):
        spec = find_spec(package)
        if spec and spec.submodule_search_locations:
            for folder in spec.submodule_search_locations:
                yield from sorted(Path(folder).parent.joinpath(f"{package}.libs").glob("*openblas*.so*"))


def load(path: str | os.PathLike[str]) -> None:
    """Uses the LAPACK of a shared library from now on.

    Args:
        path: the file: an OpenBLAS, or any library with LAPACK's routines under their Fortran names.

    Raises:
        RuntimeError: it can't be opened, or lacks a routine.
    """
    _C._load_lapack(os.fspath(path))


def library() -> str | None:
    """The file whose LAPACK is in use; None if none is to be had.

    Example:
        >>> name = library()
        >>> name is None or name.endswith(".so") or ".so." in name
        True
    """
    if _C._lapack_path() is None:
        find()
    return _C._lapack_path()


def find() -> None:
    """Loads the first library that is found; the core calls it when LAPACK is first needed.

    Raises:
        RuntimeError: the file that TL_LAPACK names cannot be used.
    """
    named = os.environ.get("TL_LAPACK")
    if named:
        return load(named)
    for path in candidates():
        try:
            return load(path)
        except RuntimeError:
            continue  # a broken wheel: the next may do
    return None
