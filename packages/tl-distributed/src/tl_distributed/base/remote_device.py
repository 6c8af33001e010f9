"""A device on one of several processes."""

from __future__ import annotations

import tl_core

__all__: list[str] = []


class _remote_device:
    """A device, and the process that it belongs to.

    Args:
        remote_device: `<worker>/<device>`, `rank:<rank>/<device>`, a worker's name (for its CPU), or a device of this
            process.

    Example:
        >>> there = _remote_device("rank:3/cpu")
        >>> there.rank(), there.worker_name(), there.device()
        (3, None, device(type='cpu'))
        >>> _remote_device("trainer")
        trainer/cpu
    """

    def __init__(self, remote_device: str | tl_core.device):
        self._worker_name: str | None = None
        self._rank: int | None = None
        if isinstance(remote_device, tl_core.device):
            self._device = remote_device
            return
        if not isinstance(remote_device, str):
            raise TypeError(
                f"_remote_device: expected a str or a device, got {type(remote_device).__name__}: {remote_device!r}"
            )
        self._device = self._read(remote_device)

    def _read(self, text: str) -> tl_core.device:
        where, slash, device = text.partition("/")
        if not slash:
            if _is_device(where):
                return tl_core.device(where)
            device = "cpu"
        if not where or not device or "/" in device or not _is_device(device):
            raise ValueError(
                f"Could not parse remote_device: {text}. The valid format is '<worker>/<device>'"
            )
        if where.startswith("rank:"):
            number = where.removeprefix("rank:")
            if not number.isdigit():
                raise ValueError(f"Could not parse remote_device: {text}: {number!r} is no rank")
            self._rank = int(number)
        elif ":" in where:
            raise ValueError(
                f"Could not parse remote_device: {text}: {where!r} is neither a device nor a worker's name"
            )
        else:
            self._worker_name = where
        return tl_core.device(device)

    def worker_name(self) -> str | None:
        """The process's name; None for this process, or one that is named by its rank."""
        return self._worker_name

    def rank(self) -> int | None:
        """The process's rank, if it is named by it."""
        return self._rank

    def device(self) -> tl_core.device:
        """The device there."""
        return self._device

    def __repr__(self) -> str:
        if self._rank is not None:
            return f"rank:{self._rank}/{self._device}"
        return str(self._device) if self._worker_name is None else f"{self._worker_name}/{self._device}"

    def _key(self) -> tuple[str | None, int | None, tl_core.device]:
        return self._worker_name, self._rank, self._device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _remote_device) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _is_device(text: str) -> bool:
    try:
        tl_core.device(text)
    except RuntimeError:
        return False
    return True
