"""Frames of stacks as a reader of a report wants them: short paths, lines of the program, no runners.

>>> short_name("/usr/lib/python3.11/json/decoder.py(332): decode", ["/usr/lib/python3.11"])
'json/decoder.py(332): decode'
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence

__all__ = ["Frame", "file_of", "format_frames", "is_runner", "line_of", "roots", "short_name", "short_path"]

Frame = tuple[str, int, str]

_PACKAGES = ("core", "autograd", "nn", "amp", "data", "distributed", "distributions", "quantization", "checkpoint",
             "compiler", "profiler", "backends", "utils")  # fmt: skip
_OWN = tuple(f"{os.sep}tl_{name}{os.sep}" for name in _PACKAGES)

# Files that start a program or import a module. A report shows the code below them.
_RUNNERS = re.compile(
    r"<frozen (runpy|importlib\.[\w.]+|zipimport)>|(.*[\\/])?(runpy\.py|importlib[\\/]\w+\.py"
    r"|tl[\\/]torch\.py|tl[\\/]__main__\.py|tl_commands[\\/]\w+\.py|tl_profiler[\\/]__main__\.py"
    r"|tl_core[\\/]base[\\/]programs\.py|bin[\\/]tl(run)?)"
)
_CALL = re.compile(r"(?P<file>.*)\((?P<line>\d+)\): (?P<function>.*)", re.DOTALL)


def is_runner(file: str) -> bool:
    """Returns whether a file's code starts programs or imports modules.

    Example:
        >>> is_runner("<frozen runpy>"), is_runner("train.py")
        (True, False)
    """
    return _RUNNERS.fullmatch(file) is not None


def roots() -> list[str]:
    """Returns the folders that modules are imported from, the longest path first.

    Example:
        >>> any(os.path.isfile(os.path.join(root, "json", "__init__.py")) for root in roots())
        True
    """
    folders = {os.path.abspath(entry or os.curdir) for entry in sys.path}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and "." not in name and name != "__main__":
            folder = os.path.dirname(os.path.abspath(file))
            folders.add(os.path.dirname(folder) if hasattr(module, "__path__") else folder)
    return sorted((f for f in folders if f != os.sep), key=len, reverse=True)


def short_path(file: str, folders: Iterable[str]) -> str:
    """Returns a path relative to the first folder that contains the file.

    Args:
        file: the path of a file.
        folders: the folders, see `roots`.

    Example:
        >>> short_path("/home/a/train.py", ["/home/a"]), short_path("<string>", ["/home/a"])
        ('train.py', '<string>')
    """
    for folder in folders:
        if file.startswith(folder + os.sep):
            return file[len(folder) + 1 :]
    return file


def short_name(name: str, folders: Iterable[str]) -> str:
    """Returns the name of a call event, "file(line): function", with a short path. Other names are returned unchanged.

    Example:
        >>> short_name("/home/a/train.py(3): step", ["/home/a"]), short_name("aten::mm", ["/home/a"])
        ('train.py(3): step', 'aten::mm')
    """
    call = _CALL.fullmatch(name)
    return f"{short_path(call['file'], folders)}({call['line']}): {call['function']}" if call else name


def file_of(name: str) -> str:
    """Returns the file in the name of a call event, or an empty text.

    Example:
        >>> file_of("train.py(3): step"), file_of("<built-in function len>")
        ('train.py', '')
    """
    call = _CALL.fullmatch(name)
    return call["file"] if call else ""


def format_frames(frames: Iterable[Frame], folders: Sequence[str], most: int = 24) -> list[str]:
    """Returns the frames of a stack as texts with short paths, without runners.

    Args:
        frames: (file, line, function), the innermost first.
        folders: the folders that paths are relative to.
        most: the number of frames.

    Example:
        >>> format_frames([("/a/train.py", 3, "step"), ("<frozen runpy>", 88, "_run_code")], ["/a"])
        ['train.py:3 in step']
    """
    program = [frame for frame in frames if not is_runner(frame[0])]
    return [f"{short_path(file, folders)}:{line} in {function}" for file, line, function in program[:most]]


def line_of(frames: Sequence[Frame], folders: Sequence[str]) -> str:
    """Returns the innermost frame of the program itself: a frame of tl's packages counts for the line that called it.

    Example:
        >>> line_of([("/lib/tl_nn/linear.py", 9, "forward"), ("/a/train.py", 3, "step")], ["/a"])
        'train.py:3 in step'
    """
    program = [f for f in frames if not is_runner(f[0])] or list(frames)
    own = next((f for f in program if not any(part in f[0] for part in _OWN)), program[0])
    return format_frames([own], folders)[0] if not is_runner(own[0]) else f"{own[0]}:{own[1]} in {own[2]}"
