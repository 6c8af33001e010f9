"""Errors of workers, raised in the program."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
from typing import Any, NamedTuple, NoReturn

__all__ = ["Failure", "how_it_ended"]


class Failure(NamedTuple):
    """An exception of a worker that the program raises again.

    Args:
        kind: the class of the exception.
        name: its dotted name.
        text: its message with the traceback.
        where: name of the worker.
    """

    kind: bytes
    name: str
    text: str
    where: str

    @classmethod
    def caught(cls, error: BaseException, where: str) -> Failure:
        """The failure of the exception in handling."""
        import traceback  # few workers ever fail, and each start would wait for it

        kind = b""
        with contextlib.suppress(Exception):
            kind = pickle.dumps(type(error))
        text = "".join(traceback.format_exception(error))
        return cls(kind, type(error).__name__, text, f"{where} (pid {os.getpid()})")

    def throw(self) -> NoReturn:
        """Raises an exception of the same type, or RuntimeError if that type takes no single text."""
        message = f"Caught {self.name} in {self.where}.\nOriginal {self.text}"
        raise _error(self._type(), message)

    def last_line(self) -> str:
        """The exception without its traceback."""
        return self.text.strip().splitlines()[-1]

    def _type(self) -> Any:
        try:
            return pickle.loads(self.kind)
        except Exception:  # a class that the program can't import
            return RuntimeError


class _KeyErrorText(str):
    """Text whose repr keeps its lines: a KeyError shows the repr of its argument."""

    def __repr__(self) -> str:
        return str(self)


def _error(kind: Any, message: str) -> BaseException:
    if issubclass(kind, StopIteration):  # it would end the program's loop as if all were well
        return RuntimeError(message)
    if issubclass(kind, KeyError):
        message = _KeyErrorText(message)
    try:
        error: BaseException = kind(message)
    except Exception:  # one that takes other arguments
        return RuntimeError(message)
    return error


def how_it_ended(status: int | None) -> str:
    """Description of an exit status: `is killed by signal: SIGKILL`."""
    if status is None:
        return "does not answer"
    if status >= 0:
        return f"exited unexpectedly with status {status}"
    return f"is killed by signal: {signal.Signals(-status).name}"
