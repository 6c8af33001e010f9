"""Calls of marked functions while a call is captured."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

import tl_core
from tl_core import pytree
from tl_core.subclasses.python_dispatch import disable_current_modes
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from .breaks import ForbiddenCall
from .function_annotations import ALLOW, CONSTANT, FORBID, NONSTRICT, SUBSTITUTE, Mark
from .function_hooks import plain_copy
from .recipes import NODE_ARGUMENTS
from .watch import pause_watch, stop_here

__all__ = ["handlers_of"]

_VALUES = (tl_core.Tensor, SymInt, SymFloat, SymBool)


def handlers_of(mode: Any, marked: dict[FunctionType, Mark]) -> dict[FunctionType, Callable[..., Any]]:
    """What handles the calls of functions.

    Args:
        mode: the trace.
        marked: the functions and their marks.
    """
    return {
        function: partial(_HANDLERS.get(each.kind, _refuse), mode, function, plain_copy(function), each)
        for function, each in marked.items()
    }


def _allow(mode: Any, function: Any, plain: Any, mark: Mark, /, *args: Any, **kwargs: Any) -> Any:
    for leaf in pytree.tree_leaves((args, kwargs)):
        if not isinstance(leaf, NODE_ARGUMENTS):
            raise mode.fail(f"{function.__qualname__}, a node of graphs, gets a {type(leaf).__name__}")
    values, keywords = pytree.tree_map_only(tl_core.Tensor, mode.values.fake_of, (args, kwargs))
    with pause_watch(), disable_current_modes(), mode.fake_mode or contextlib.nullcontext():
        out = plain(*values, **keywords)
    if out is not None and not isinstance(out, _VALUES) and not _is_flat(out):
        raise mode.fail(
            f"{function.__qualname__}, a node of graphs, returns a {type(out).__name__}; "
            "a tensor or a tuple of tensors can be a value of a graph"
        )
    mode.record_call(function, args, kwargs, out, function.__name__)
    return out


def _is_flat(out: Any) -> bool:
    return type(out) in (tuple, list) and all(isinstance(x, _VALUES) for x in out)


def _constant(mode: Any, function: Any, plain: Any, mark: Mark, /, *args: Any, **kwargs: Any) -> Any:
    if any(isinstance(leaf, _VALUES) for leaf in pytree.tree_leaves((args, kwargs))):
        raise mode.fail(f"{function.__qualname__}, whose result is a constant, gets a tensor")
    with pause_watch(), disable_current_modes():
        return plain(*args, **kwargs)


def _forbid(mode: Any, function: Any, plain: Any, mark: Mark, /, *args: Any, **kwargs: Any) -> Any:
    raise ForbiddenCall(f"Attempt to trace forbidden callable {function.__qualname__}")


def _nonstrict(mode: Any, function: Any, plain: Any, mark: Mark, /, *args: Any, **kwargs: Any) -> Any:
    with pause_watch():
        return plain(*args, **kwargs)


def _refuse(mode: Any, function: Any, plain: Any, mark: Mark, /, *args: Any, **kwargs: Any) -> Any:
    stop_here(f"{function.__qualname__} is called, which disallow_in_graph marks")
    return plain(*args, **kwargs)


class _Substitution:
    """A call of a substitute, in which calls of the function go to the function."""

    def __init__(self) -> None:
        self.running: set[Any] = set()

    def __call__(self, mode: Any, function: Any, plain: Any, mark: Mark, /, *args: Any, **kwargs: Any) -> Any:
        if function in self.running:
            return plain(*args, **kwargs)
        self.running.add(function)
        try:
            assert mark.substitute is not None
            return mark.substitute(*args, **kwargs)
        finally:
            self.running.discard(function)


_HANDLERS: dict[str, Callable[..., Any]] = {
    ALLOW: _allow,
    CONSTANT: _constant,
    FORBID: _forbid,
    NONSTRICT: _nonstrict,
    SUBSTITUTE: _Substitution(),
}
