"""Tracebacks, kept cheaply or shown in short."""

from __future__ import annotations

import inspect
import linecache
import os
import traceback
from types import CodeType, TracebackType
from typing import Any

__all__ = ["CapturedTraceback", "format_frame", "format_traceback_short", "report_compile_source_on_error",
           "shorten_filename"]  # fmt: skip


class report_compile_source_on_error:
    """Inside, an error in code that was made at run time shows its lines.

    Such code has its text in its global `__compile_source__`.

    Example:
        >>> source = "def f():\\n    raise KeyError  # here\\n"
        >>> exec(source, names := {"__compile_source__": source})
        >>> try:
        ...     with report_compile_source_on_error():
        ...         names["f"]()
        ... except KeyError as error:
        ...     print(traceback.extract_tb(error.__traceback__)[-1].line)
        raise KeyError  # here
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, tb: TracebackType | None) -> None:
        if isinstance(error, Exception):
            error.__traceback__ = _rebuilt(tb)


def _rebuilt(tb: TracebackType | None) -> TracebackType | None:
    if tb is None:
        return None
    source = tb.tb_frame.f_globals.get("__compile_source__")
    with_source = _with_lines(tb, source) if source and tb.tb_frame.f_code.co_filename == "<string>" else tb
    return TracebackType(
        _rebuilt(tb.tb_next), with_source.tb_frame, with_source.tb_lasti, with_source.tb_lineno
    )


def _with_lines(tb: TracebackType, source: str) -> TracebackType:
    """The traceback of an error at this line of a file in `linecache`."""
    name = f"<source {hash(source):x}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    code: CodeType = compile("__inspect_currentframe()", name, "eval")
    frame_code = code.replace(co_name=tb.tb_frame.f_code.co_name, co_firstlineno=tb.tb_lineno)
    frame = eval(frame_code, {**tb.tb_frame.f_globals, "__inspect_currentframe": _caller})
    return TracebackType(None, frame, frame.f_lasti, tb.tb_lineno)


def _caller() -> Any:
    frame = inspect.currentframe()
    return frame.f_back if frame is not None else None


def shorten_filename(fn: str, *, base: str | None = None) -> str:
    """A file's name without the folder of this package, or another.

    Args:
        fn: the name.
        base: the folder, by default the parent of this package.
    """
    base = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) if base is None else base
    try:
        prefix = os.path.commonpath([fn, base])
    except ValueError:
        return fn
    return fn[len(prefix) + 1 :] if prefix == base else fn


def format_frame(frame: traceback.FrameSummary, *, base: str | None = None, line: bool = False) -> str:
    """One frame in a line.

    Args:
        frame: the frame.
        base: the prefix that is removed from the file's name.
        line: whether its source is shown.
    """
    source = f"{frame.line}  # " if line and frame.line else ""
    return f"{source}{shorten_filename(frame.filename, base=base)}:{frame.lineno} in {frame.name}"


def format_traceback_short(tb: TracebackType | None) -> str:
    """The last frame of a traceback in a line.

    Args:
        tb: the traceback.
    """
    return format_frame(traceback.extract_tb(tb)[-1])


class CapturedTraceback:
    """The position of a program, to be formatted later.

    Example:
        >>> "in <module>" in "".join(CapturedTraceback.extract().format())
        True
    """

    def __init__(self, frames: traceback.StackSummary) -> None:
        self._frames: traceback.StackSummary | None = frames

    @staticmethod
    def extract(*, script: bool = False, cpp: bool = False, skip: int = 0) -> CapturedTraceback:
        """Notes where the caller is.

        Args:
            script: not used: there is no TorchScript.
            cpp: not used: native frames aren't noted.
            skip: how many of the innermost frames are left out.
        """
        frame = inspect.currentframe()
        for _ in range(1 + skip):
            frame = frame.f_back if frame is not None else None
        walked = list(traceback.walk_stack(frame))[::-1]
        return CapturedTraceback(traceback.StackSummary.extract(iter(walked), lookup_lines=False))

    def cleanup(self) -> None:
        """Forgets it."""
        self._frames = None

    def summary(self) -> traceback.StackSummary:
        """The frames, the outermost first. Empty after `cleanup`."""
        return traceback.StackSummary() if self._frames is None else self._frames

    def format(self) -> list[str]:
        """Its lines, as `traceback` formats them."""
        return self.summary().format()

    @staticmethod
    def format_all(tbs: list[CapturedTraceback | None]) -> list[list[str]]:
        """The lines of several.

        Args:
            tbs: the tracebacks. None has no lines.
        """
        return [[] if tb is None else tb.format() for tb in tbs]
