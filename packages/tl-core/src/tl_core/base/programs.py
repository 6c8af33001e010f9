"""Programs that a command runs as `__main__`: their exit status, and tracebacks that begin with their own frames."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from types import TracebackType

__all__ = ["frames_of_program", "refusal", "run_program", "status_of"]

_RUNNERS = frozenset({"runpy", "importlib._bootstrap", "importlib._bootstrap_external", __name__})
_INTERRUPTED = 130  # 128 and the number of SIGINT, as a shell says it


def run_program(command: str, program: str, arguments: Sequence[str], is_module: bool = False) -> int:
    """Runs a program as `__main__`, and prints the error that ends it as Python does.

    Args:
        command: the name of the command, for messages.
        program: the file of the program, or the name of a module.
        arguments: the words after the program.
        is_module: whether `program` names a module.

    Returns:
        The exit status of the program: 1 after an error, 130 after an interrupt, 2 for a program that cannot be read.

    Example:
        >>> run_program("tl profile", "no such file.py", [])
        2
    """
    if reason := refusal(program, is_module):
        print(f"{command}: {reason}", file=sys.stderr)
        return 2
    sys.argv = [program, *arguments]
    try:
        if is_module:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
            runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        return status_of(end)
    except BaseException as error:
        return _report(command, error)
    return 0


def refusal(program: str, is_module: bool = False) -> str:
    """The reason why a program cannot begin, or an empty text.

    Args:
        program: the file of the program, or the name of a module.
        is_module: whether `program` names a module, which its import checks.

    Returns:
        The reason, as a sentence of a message.

    Example:
        >>> refusal("no such file.py"), refusal("package.train", is_module=True)
        ("there is no file 'no such file.py' to run", '')
    """
    if is_module:
        return ""
    if not os.path.exists(program):
        return f"there is no file {program!r} to run"
    if os.path.isdir(program) and not os.path.exists(os.path.join(program, "__main__.py")):
        return f"there is no file {program!r} to run, but a folder without __main__.py"
    if not os.access(program, os.R_OK):
        return f"{program!r} cannot be read: permission denied"
    return ""


def status_of(end: SystemExit) -> int:
    """The exit status of a `SystemExit`, whose text goes to the console as Python prints it.

    Args:
        end: the exception.

    Returns:
        Its code, 0 without a code, and 1 for a code that is no number.

    Example:
        >>> status_of(SystemExit(3)), status_of(SystemExit())
        (3, 0)
    """
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


def frames_of_program(traceback: TracebackType | None) -> TracebackType | None:
    """The part of a traceback below the frames that load and start a program.

    Args:
        traceback: the traceback of an error of the program.

    Returns:
        The traceback from the first frame of the program, or None if the program had not begun.

    Example:
        >>> frames_of_program(None) is None
        True
    """
    while traceback is not None and traceback.tb_frame.f_globals.get("__name__") in _RUNNERS:
        traceback = traceback.tb_next
    return traceback


def _report(command: str, error: BaseException) -> int:
    own = frames_of_program(error.__traceback__)
    if own is None and isinstance(error, (ImportError, OSError)):
        print(f"{command}: {error}", file=sys.stderr)
    else:
        sys.excepthook(type(error), error.with_traceback(own), own)
    return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
