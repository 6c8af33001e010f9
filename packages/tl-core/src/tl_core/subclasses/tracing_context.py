"""What a trace that runs has in common for all that takes part in it: its mode of fakes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from tl_core.pytree import tree_leaves
from tl_core.subclasses.fake_mode import FakeTensorMode
from tl_core.subclasses.fake_tensor import FakeTensor
from tl_core.subclasses.python_dispatch import _get_current_dispatch_mode_stack

__all__ = [
    "CompileContext",
    "CompileId",
    "TracingContext",
    "active_fake_mode",
    "compile_context",
    "detect_fake_mode",
    "tracing",
]


class TracingContext:
    """The facts of a trace.

    Args:
        fake_mode: its mode of fakes, or None.

    Example:
        >>> with tracing(TracingContext(None)) as context:
        ...     TracingContext.get() is context
        True
    """

    def __init__(self, fake_mode: Any) -> None:
        self.fake_mode = fake_mode

    @staticmethod
    def try_get() -> TracingContext | None:
        """The context of the trace that runs; None outside of traces."""
        return _current.get()

    @staticmethod
    def get() -> TracingContext:
        """The context of the trace that runs.

        Raises:
            RuntimeError: none does.
        """
        context = _current.get()
        if context is None:
            raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")
        return context


_current: ContextVar[TracingContext | None] = ContextVar("tracing", default=None)


@contextmanager
def tracing(context: TracingContext | None) -> Iterator[TracingContext | None]:
    """A region in which a trace runs.

    Args:
        context: its context; None: no trace.
    """
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)


def active_fake_mode() -> Any:
    """The innermost mode of fakes that is on; None without one."""
    for mode in reversed(_get_current_dispatch_mode_stack()):
        if isinstance(mode, FakeTensorMode):
            return mode
    return None


def detect_fake_mode(inputs: Any = None) -> Any:
    """The mode of fakes of a trace, of the modes that are on, and of fakes among some inputs: they must be the same.

    Args:
        inputs: tensors, in any containers.

    Returns:
        The mode; None if there is none.

    Raises:
        AssertionError: there are several.

    Example:
        >>> with FakeTensorMode() as mode:
        ...     detect_fake_mode() is mode
        True
    """
    context = _current.get()
    modes = [] if context is None or context.fake_mode is None else [context.fake_mode]
    modes += [m for m in reversed(_get_current_dispatch_mode_stack()) if isinstance(m, FakeTensorMode)]
    modes += [x.fake_mode for x in tree_leaves(inputs) if isinstance(x, FakeTensor)]
    for mode in modes[1:]:
        if mode is not modes[0]:
            raise AssertionError(
                "there are several FakeTensorModes: of the trace, of those that are on, of the inputs"
            )
    return modes[0] if modes else None


class CompileId(NamedTuple):
    """The number of a compiled function, and that of its graph.

    Args:
        frame_id: that of the function.
        frame_compile_id: that of the graph.
    """

    frame_id: int
    frame_compile_id: int

    def __str__(self) -> str:
        return f"{self.frame_id}/{self.frame_compile_id}"


class CompileContext:
    """The facts of a compilation.

    Args:
        compile_id: its number, or None.

    Example:
        >>> CompileContext.current_compile_id() is None
        True
    """

    def __init__(self, compile_id: CompileId | None) -> None:
        if compile_id is not None and not isinstance(compile_id, CompileId):
            raise AssertionError(f"compile_id must be a CompileId or None, got {type(compile_id).__name__}")
        self.compile_id = compile_id
        self.attempt = 0

    @staticmethod
    def try_get() -> CompileContext | None:
        """The context of the compilation that runs; None outside of one."""
        return _compilation.get()

    @staticmethod
    def get() -> CompileContext:
        """The context of the compilation that runs.

        Raises:
            AssertionError: none does.
        """
        context = _compilation.get()
        if context is None:
            raise AssertionError("CompileContext.get() must be called within a compilation")
        return context

    @staticmethod
    def current_compile_id() -> CompileId | None:
        """The number of the compilation that runs; None outside of one."""
        context = _compilation.get()
        return None if context is None else context.compile_id


_compilation: ContextVar[CompileContext | None] = ContextVar("compilation", default=None)


@contextmanager
def compile_context(context: CompileContext | None) -> Iterator[CompileContext | None]:
    """A region in which a compilation runs.

    Args:
        context: its context; None: no compilation.
    """
    token = _compilation.set(context)
    try:
        yield context
    finally:
        _compilation.reset(token)
