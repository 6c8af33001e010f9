"""Watches a call while it is captured: what runs must be code that the walk has seen, and functions without effects."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, Self

import tl_core
from tl_core.subclasses import FakeTensor
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from .break_errors import raises_on_break
from .purity import is_ours, is_pure, is_standard

__all__ = ["CaptureStopped", "Watch", "stop_here", "pause_watch", "user_location"]

# Modules of Python that only compute.
_STANDARD = frozenset(
    [
        "abc",
        "collections",
        "collections.abc",
        "_collections_abc",
        "contextlib",
        "copy",
        "copyreg",
        "dataclasses",
        "enum",
        "functools",
        "inspect",
        "keyword",
        "numbers",
        "operator",
        "reprlib",
        "string",
        "types",
        "typing",
        "weakref",
    ]
)
_GENERATED = "<eval_with_key>"  # code of graphs, which calls what its nodes say
_SYMBOLIC = (tl_core.Tensor, FakeTensor, SymInt, SymFloat, SymBool)
_TEXTS = ("__repr__", "__str__", "__format__")


class CaptureStopped(BaseException):
    """A call does what no graph can repeat; it is stopped before that. No `except Exception` of the program sees it.

    Args:
        reason: what it does.
        location: the file and the line.
    """

    def __init__(self, reason: str, location: tuple[str, int] | None) -> None:
        super().__init__(reason)
        self.reason, self.location, self.raises = reason, location, raises_on_break()


def user_location(frame: FrameType | None) -> tuple[str, int] | None:
    """The file and line of the innermost frame that isn't this library's.

    Args:
        frame: where to begin.
    """
    while frame is not None:
        if not is_ours(frame.f_globals.get("__name__")):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def _text_codes() -> frozenset[CodeType]:
    functions = (getattr(kind, name, None) for kind in _SYMBOLIC for name in _TEXTS)
    codes = (getattr(function, "__code__", None) for function in functions)
    return frozenset(code for code in codes if code is not None)


_thread = threading.local()


def stop_here(reason: str) -> None:
    """Ends the capture that is going on in this thread, if there is one.

    Args:
        reason: why.
    """
    watch = getattr(_thread, "watch", None)
    if watch is not None:
        watch.stop(reason, sys._getframe(1))


@contextlib.contextmanager
def pause_watch() -> Iterator[None]:
    """A region without the watch of this thread's capture.

    Example:
        >>> with pause_watch():
        ...     print("an effect")
        an effect
    """
    watch = getattr(_thread, "watch", None)
    if watch is None:
        yield
        return
    profile = sys.getprofile()
    sys.setprofile(None)
    _thread.watch = None
    try:
        yield
    finally:
        _thread.watch = watch
        sys.setprofile(profile)


def _loads_known_module(frame: FrameType) -> bool:
    """Whether a frame of the import machinery loads a module of this library or of Python."""
    name = frame.f_locals.get("name")
    if not isinstance(name, str):
        name = getattr(frame.f_locals.get("module"), "__name__", None)
    return isinstance(name, str) and (is_ours(name) or is_standard(name))


class Watch:
    """A region in which a call is watched.

    Garbage is not collected meanwhile: the finalizers of objects that the call never had would count as its own.

    Args:
        codes: the code that the walk has seen.
        refused: of code that no graph can repeat, why, and the line.
    """

    def __init__(self, codes: set[CodeType], refused: dict[CodeType, tuple[str, int]]) -> None:
        self.codes, self.refused = set(codes), refused
        self.stop_error: CaptureStopped | None = None
        self._texts = _text_codes()

    def __enter__(self) -> Self:
        self._before, self._outer = sys.getprofile(), getattr(_thread, "watch", None)
        _thread.watch = self
        self._collects = gc.isenabled()
        gc.disable()
        sys.setprofile(self._event)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(self._before)
        if self._collects:
            gc.enable()
        _thread.watch = self._outer

    def stop(self, reason: str, frame: FrameType | None = None) -> None:
        """Ends the capture.

        Args:
            reason: why.
            frame: where; the caller's by default.
        """
        self._stop_at(reason, user_location(frame or sys._getframe(1)))

    def _stop_at(self, reason: str, location: tuple[str, int] | None) -> None:
        stopped = CaptureStopped(reason, location)
        self.stop_error = self.stop_error or stopped
        raise stopped

    def _event(self, frame: FrameType, event: str, function: Any) -> None:
        if event == "call":
            self._check_call(frame)
        elif (
            event == "c_call"
            and not self._is_trusted(frame)
            and not is_pure(function)
            and not self._imports(frame)
        ):
            name = getattr(function, "__qualname__", function)
            self.stop(f"{name} is called, whose effect or value no graph has", frame)

    def _is_trusted(self, frame: FrameType) -> bool:
        """Whether a frame is this library's, or one of Python's own that this library called or that only computes."""
        name = frame.f_globals.get("__name__")
        if (
            is_ours(name) or name in _STANDARD or str(name).startswith("namedtuple_")
        ):  # what makes a named tuple
            return True
        caller = frame.f_back
        return (
            is_standard(name)
            and frame.f_code not in self.codes
            and caller is not None
            and self._is_ours(caller)
        )

    def _is_ours(self, frame: FrameType) -> bool:
        caller: FrameType | None = frame
        while caller is not None and is_standard(caller.f_globals.get("__name__")):
            caller = caller.f_back
        return caller is not None and is_ours(caller.f_globals.get("__name__"))

    def _imports(self, frame: FrameType) -> bool:
        """Whether a frame loads a module of this library or of Python, or one that this library needs.

        Finders of an environment run then.
        """
        caller: FrameType | None = frame
        while caller is not None and caller.f_code not in self.codes:
            if caller.f_globals.get("__name__") == "importlib._bootstrap" and (
                self._is_ours(caller) or _loads_known_module(caller)
            ):
                return True
            caller = caller.f_back
        return False

    def _check_call(self, frame: FrameType) -> None:
        code, module = frame.f_code, frame.f_globals.get("__name__")
        if is_ours(module):
            caller = frame.f_back
            if code in self._texts and caller is not None and not is_ours(caller.f_globals.get("__name__")):
                self.stop("the text of a tensor or of a size is made", frame)
            return
        if code in self.refused:
            reason, line = self.refused[code]
            self._stop_at(reason, (code.co_filename, line))
        if code in self.codes or code.co_filename.startswith(_GENERATED):
            return
        if self._is_trusted(frame) or self._imports(frame):
            return
        self.stop(f"{code.co_qualname} is called, which isn't reached by name", frame)
