"""The folder in which the reference's code generator keeps its files: programs put theirs there, too."""

from __future__ import annotations

import getpass
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["cache_dir", "default_cache_dir", "temporary_cache_dir"]

_VARIABLE = "TORCHINDUCTOR_CACHE_DIR"


def default_cache_dir() -> str:
    """The folder of this user among the temporary files.

    Example:
        >>> os.path.basename(default_cache_dir()).startswith("torchinductor_")
        True
    """
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a process whose user has no name
        user = f"uid_{os.getuid()}"
    return os.path.join(tempfile.gettempdir(), "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", user))


def cache_dir() -> str:
    """The folder, which is there afterwards: that of the variable TORCHINDUCTOR_CACHE_DIR, or the default.

    Example:
        >>> with temporary_cache_dir(tempfile.mkdtemp()):
        ...     os.path.isdir(cache_dir())
        True
    """
    folder = os.path.abspath(os.environ.get(_VARIABLE) or default_cache_dir())
    os.environ[_VARIABLE] = folder  # processes that this one starts use the same
    os.makedirs(folder, exist_ok=True)
    return folder


@contextmanager
def temporary_cache_dir(directory: str) -> Iterator[None]:
    """A region with another folder.

    Args:
        directory: the folder.

    Example:
        >>> with temporary_cache_dir("/tmp/other"):
        ...     os.environ["TORCHINDUCTOR_CACHE_DIR"]
        '/tmp/other'
    """
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = directory
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = before
