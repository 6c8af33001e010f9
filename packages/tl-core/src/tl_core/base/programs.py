"""Programs that a command runs as `__main__`: their exit status, and tracebacks that begin with their own frames."""

from __future__ import annotations

import os
import re
import runpy
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from types import TracebackType

__all__ = ["AS_TORCH_HINT", "frames_of_program", "lacks_torch", "refusal", "run_program", "status_of"]

_RUNNERS = frozenset({"runpy", "importlib._bootstrap", "importlib._bootstrap_external", __name__})
_INTERRUPTED = 130  # 128 and the number of SIGINT, as a shell says it
_IMPORT_OF_TORCH = re.compile(r"^\s*(?:import|from) +torch\b", re.MULTILINE)

AS_TORCH_HINT = (
    "torch is not installed; with TL_AS_TORCH=1 in the environment, tl-all serves tl under this name"
)


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


def lacks_torch(program: str) -> bool:
    """Whether a program imports torch, and this environment has no module of this name.

    Args:
        program: the file of the program.

    Example:
        >>> lacks_torch("no such file.py")
        False
    """
    if "torch" in sys.modules or find_spec("torch") is not None:
        return False
    try:
        with open(program, encoding="utf-8", errors="replace") as file:
            return _IMPORT_OF_TORCH.search(file.read()) is not None
    except OSError:
        return False


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
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            print(f"{command}: {AS_TORCH_HINT}", file=sys.stderr)
    return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
