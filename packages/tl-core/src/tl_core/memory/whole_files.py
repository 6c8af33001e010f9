"""Files that are there whole or not at all: what is written takes its name, and an older file's place, at the end.

Devices, pipes and sockets have no older file: they are written to as they stand.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import stat
from collections.abc import Callable, Iterator

__all__ = ["replacing", "write_whole"]


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """A name to write to; the file of that name takes the place of `path` when the block has ended well.

    The name of a device, pipe or socket is `path` itself. A link stays a link: what it leads to is replaced.

    Raises:
        OSError: what the system says of `path`; nothing stays of what was written.

    Example:
        >>> import tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.txt")
        >>> with replacing(path) as unfinished, open(unfinished, "w") as file:
        ...     file.write("whole")
        5
        >>> os.listdir(os.path.dirname(path))
        ['a.txt']
    """
    path = os.fspath(path)
    if _is_stream(path):
        yield path
        return
    path = os.path.realpath(path) if os.path.islink(path) else path
    unfinished = f"{path}.{os.getpid()}.unfinished"
    try:
        yield unfinished
        os.replace(unfinished, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
        if isinstance(error, OSError) and error.filename == unfinished:
            error.filename, error.filename2 = path, None  # what the caller knows
        raise


def _is_stream(path: str) -> bool:
    """Whether a path is there and is neither a file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except OSError:  # whatever is wrong with it, opening it will say so
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def write_whole(path: str | os.PathLike[str], write: Callable[[str], object]) -> None:
    """Lets `write` write a file, which is then compressed if the name ends with ".gz", and put where it belongs.

    Args:
        path: the file's name.
        write: gets the name to write to.

    Raises:
        OSError: it cannot be written; nothing stays of it.
    """
    with replacing(path) as unfinished:
        if not os.fspath(path).endswith(".gz") or _is_stream(unfinished):
            write(unfinished)
            return
        plain = unfinished + ".plain"
        try:
            write(plain)
            with open(plain, "rb") as source, gzip.open(unfinished, "wb", compresslevel=4) as target:
                shutil.copyfileobj(source, target, 1 << 20)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(plain)
