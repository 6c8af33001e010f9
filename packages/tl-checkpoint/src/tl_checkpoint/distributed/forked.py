"""Work in a copy of this process, made with fork: the system copies memory when one of the two changes it.

So a snapshot of any size takes no longer than copying page tables. What is written to afterwards costs a page fault the
first time, while the copy lives.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
from collections.abc import Callable
from typing import Any

__all__ = ["Forked"]


class Forked:
    """A copy of this process that waits to be told to begin, does some work, and ends.

    Parameters:
        work : callable
            What it does; the result, or the exception, must be something that pickle takes.
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        begin, self._begin = os.pipe()
        self._result, result = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._begin)
            os.close(self._result)
            _child(work, begin, result)
        os.close(begin)
        os.close(result)

    def run(self) -> Any:
        """Lets it begin, and waits for the result.

        Raises:
            ChildProcessError
                If it was killed. What the work raises is raised here.
        """
        with contextlib.suppress(BrokenPipeError):  # it has been killed: waitpid says how
            os.write(self._begin, b"!")
        os.close(self._begin)
        with open(self._result, "rb") as file:
            data = file.read()
        _, status = os.waitpid(self._pid, 0)
        if status or not data:
            code = os.waitstatus_to_exitcode(status)
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"
            raise ChildProcessError(f"the process that wrote the checkpoint ended with {how}")
        good, value = pickle.loads(data)
        if not good:
            raise value
        return value


def _child(work: Callable[[], Any], begin: int, result: int) -> None:
    """Never returns: neither handlers nor destructors of the copied program may run."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C means the program, which then waits for this
        if os.read(begin, 1):  # else the program has ended before its turn came
            with open(result, "wb") as file:
                file.write(_outcome(work))
        status = 0
    finally:
        os._exit(status)


def _outcome(work: Callable[[], Any]) -> bytes:
    try:
        return pickle.dumps((True, work()))
    except Exception as error:
        return _pickled_error(error)


def _pickled_error(error: Exception) -> bytes:
    try:
        data = pickle.dumps((False, error))
        pickle.loads(data)
    except Exception:  # exceptions of any make: their text is what counts
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
    return data
