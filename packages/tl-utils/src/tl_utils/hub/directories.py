"""The folder of downloads."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["get_dir", "set_dir", "writable"]

_hub_dir: str | None = None


def _get_torch_home() -> str:
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of downloads.

    It is what `set_dir` chose, else `$TORCH_HOME/hub`, else `$XDG_CACHE_HOME/torch/hub`, else `~/.cache/torch/hub`.

    Returns:
        str

    Example:
        >>> get_dir().endswith("hub")
        True
    """
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Chooses the folder of downloads for this process.

    Args:
        d: the folder, in which `~` is the user's home.

    Example:
        >>> set_dir("models")  # doctest: +SKIP
    """
    global _hub_dir
    _hub_dir = os.path.expanduser(os.fspath(d))


def writable(folder: str | Path) -> Path:
    """The folder, made if it isn't there.

    Raises:
        OSError: it can't be made or written to.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            error.errno,
            f"hub: can't make the folder ({error.strerror}); choose another with hub.set_dir",
            str(folder),
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(
            13, "hub: the folder can't be written to; choose another with hub.set_dir", str(folder)
        )
    return folder
