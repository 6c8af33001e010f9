"""Calls of an autograd.Function while a call is captured: one node of the graph, which keeps the derivative."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any

from tl_autograd import Function
from tl_core import Tensor
from tl_core.pytree import tree_leaves

from ..tracer.whole_calls import recorded_whole

__all__ = ["functions_are_nodes"]

_plain_apply: Any = Function.apply.__func__  # type: ignore[attr-defined]
_thread = threading.local()
_lock = threading.Lock()
_captures = 0  # how many there are, in all threads


@contextmanager
def functions_are_nodes(mode: Any) -> Iterator[None]:
    """A region in which the thread's trace has one node for each call of an autograd.Function.

    Args:
        mode: the trace.
    """
    outer = getattr(_thread, "mode", None)
    _thread.mode = mode
    _count(1)
    try:
        yield
    finally:
        _count(-1)
        _thread.mode = outer


def _count(step: int) -> None:
    global _captures
    with _lock:
        _captures += step
        Function.apply = classmethod(_apply if _captures else _plain_apply)  # type: ignore[method-assign, assignment]


def _apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
    mode = getattr(_thread, "mode", None)
    if mode is None:
        return _plain_apply(cls, *args, **kwargs)
    if kwargs:
        raise mode.failed(f"{cls.__name__}.apply has arguments by keyword")

    def run(*values: Any) -> Any:
        _thread.mode = None  # functions that it applies are its own
        try:
            return _without_writes(mode, cls, values)
        finally:
            _thread.mode = mode

    return recorded_whole(MethodType(_plain_apply, cls), args, cls.__name__.lower(), run)


def _without_writes(mode: Any, cls: Any, values: tuple[Any, ...]) -> Any:
    tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor)]
    before = [t._version for t in tensors]
    out = _plain_apply(cls, *values)
    if [t._version for t in tensors] != before:
        raise mode.failed(f"{cls.__name__}, an autograd.Function, writes to its arguments")
    if any(t is given for t in tree_leaves(out) for given in tensors):
        raise mode.failed(f"{cls.__name__}, an autograd.Function, returns an argument as it is")
    return out
