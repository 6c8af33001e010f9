"""Downloads: checked, resumed, never half written."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import tempfile
from collections.abc import Iterator
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from tl_utils.hub.directories import writable

__all__ = ["download_url_to_file", "read_url"]

_PART = 1 << 20
_ATTEMPTS = 4  # in a row without progress
_SCHEMES = ("http", "https", "file")
_AGENT = "tl.hub"


def _bar(total: int | None, progress: bool) -> Any:
    from tl_utils.hub.progress import tqdm  # tqdm is imported where something is downloaded

    return tqdm(total=total, disable=not progress, unit="B", unit_scale=True, unit_divisor=1024)


def _open(url: str, headers: dict[str, str]) -> Any:
    if urlparse(url).scheme not in _SCHEMES:
        raise ValueError(f"hub: a URL must begin with {', '.join(f'{s}:' for s in _SCHEMES)}, got {url!r}")
    return urlopen(Request(url, headers={"User-Agent": _AGENT, **headers}))


def read_url(url: str, headers: dict[str, str] | None = None) -> str:
    """The text at a URL."""
    with _open(url, headers or {}) as response:
        return str(response.read().decode(response.headers.get_content_charset("utf-8")))


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Downloads a file.

    It is written beside `dst` and takes that name when all of it is there and checked; whatever goes wrong, nothing
    stays. Where the connection breaks, the rest is asked for.

    Args:
        url: of the file: http, https or file.
        dst: the path it gets.
        hash_prefix: the prefix of its SHA-256, in hexadecimal. None means no check.
        progress: whether a progress bar is shown on stderr, by tqdm if that is installed.

    Raises:
        OSError: it can't be had or written: no connection, no such file, no permission, a full disk.
        RuntimeError: its hash is another.
        ValueError: another kind of URL.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a").write_text("text")
        >>> download_url_to_file((folder / "a").as_uri(), str(folder / "b"), progress=False)
        >>> (folder / "b").read_text()
        'text'
    """
    target = Path(os.path.expanduser(dst))
    with _partial(target) as file:
        digest = _fetch(url, file, progress)
        if hash_prefix is not None and digest[: len(hash_prefix)] != hash_prefix.lower():
            raise RuntimeError(
                f'{url}: invalid hash value (expected "{hash_prefix}", got "{digest}"): the file was damaged on its '
                "way or is another one; nothing was kept"
            )


@contextlib.contextmanager
def _partial(target: Path) -> Iterator[IO[bytes]]:
    """A file beside the target that replaces it at the end, or goes."""
    folder = writable(target.parent)
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:64]}.", suffix=".partial", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())  # mkstemp's are the owner's alone
        os.replace(name, target)
    except BaseException as error:
        os.unlink(name)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise OSError(
                error.errno, f"hub: no room for the download ({error.strerror}); free some, or choose another folder",
                str(target),
            ) from error  # fmt: skip
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


class _Transfer:
    """The state of a download."""

    def __init__(self) -> None:
        self.done = 0
        self.digest = hashlib.sha256()
        self.total: int | None = None
        self.tag: str | None = None

    def headers(self) -> dict[str, str]:
        """The request headers for the missing part, if the file is unchanged."""
        if not self.done:
            return {}
        return {"Range": f"bytes={self.done}-", **({"If-Range": self.tag} if self.tag else {})}

    def begins(self, response: Any) -> bool:
        """Records the headers and returns whether the response continues the last one."""
        headers: Message = response.headers
        resumed = self.done > 0 and getattr(response, "status", None) == 206
        length = headers.get("Content-Length")
        self.total = int(length) + (self.done if resumed else 0) if length else None
        tag = headers.get("ETag") or headers.get("Last-Modified")
        self.tag = None if tag is None or tag.startswith("W/") else tag
        return resumed

    @property
    def complete(self) -> bool:
        return self.total is None or self.done >= self.total


def _fetch(url: str, file: IO[bytes], progress: bool) -> str:
    """Downloads everything into a file and returns the SHA-256."""
    state, failures = _Transfer(), 0
    with contextlib.ExitStack() as stack:
        bar: Any = None
        while True:
            before = state.done
            try:
                with _open(url, state.headers()) as response:
                    if not state.begins(response) and state.done:
                        _restart(state, file)
                    if bar is None:
                        bar = stack.enter_context(contextlib.closing(_bar(state.total, progress)))
                    _copy(response, file, state, bar)
                if state.complete:
                    return state.digest.hexdigest()
                problem = "the connection was closed early"
            except HTTPError as error:
                raise OSError(f"hub: {url}: the server answers {error.code} {error.reason}") from error
            except URLError as error:
                problem = str(error.reason)
            except (ConnectionError, TimeoutError, HTTPException) as error:
                problem = str(error) or type(error).__name__
            failures = failures + 1 if state.done == before else 0
            if failures >= _ATTEMPTS or not state.done:
                of = f" of {state.total}" if state.total is not None else ""
                raise OSError(
                    f"hub: {url}: {problem} after {state.done}{of} bytes; nothing was kept, try again"
                )


def _restart(state: _Transfer, file: IO[bytes]) -> None:
    """The server sends everything from the beginning again."""
    file.seek(0)
    file.truncate()
    state.done, state.digest = 0, hashlib.sha256()


def _copy(response: Any, file: IO[bytes], state: _Transfer, bar: Any) -> None:
    while part := response.read(_PART):
        file.write(part)
        state.digest.update(part)
        state.done += len(part)
        bar.update(len(part))
