"""The name and the number of a worker."""

from __future__ import annotations

import re

_LONGEST_NAME = 128
_NAME = re.compile(r"[A-Za-z0-9_\-:]+")


class WorkerInfo:
    """The name and the number of a worker, by which calls find it.

    Args:
        name: letters, digits, `_`, `-` and `:`, shorter than 128.
        id: the number of the worker in its job.

    Raises:
        RuntimeError: the name isn't one.

    Example:
        >>> WorkerInfo("trainer", 3)
        WorkerInfo(id=3, name=trainer)
    """

    __slots__ = ("_id", "_name")

    def __init__(self, name: str, id: int):
        if not isinstance(name, str) or not isinstance(id, int):
            raise TypeError(f"WorkerInfo: expected a name and an int, got {name!r} and {id!r}")
        if not name:
            raise RuntimeError("Worker name must be non-empty.")
        if len(name) >= _LONGEST_NAME:
            raise RuntimeError(
                f"Worker name must be shorter than {_LONGEST_NAME} characters, got {len(name)}."
            )
        if not _NAME.fullmatch(name):
            raise RuntimeError(f"Worker name must match {_NAME.pattern}, got {name!r}.")
        self._name, self._id = name, id

    @property
    def name(self) -> str:
        """The name of the worker."""
        return self._name

    @property
    def id(self) -> int:
        """The number of the worker in its job."""
        return self._id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorkerInfo) and (self._name, self._id) == (other._name, other._id)

    def __hash__(self) -> int:
        return hash((self._name, self._id))

    def __reduce__(self) -> tuple[type[WorkerInfo], tuple[str, int]]:
        return WorkerInfo, (self._name, self._id)

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self._id}, name={self._name})"
