"""Calls of an autograd.Function while a call is captured: one node of the graph, which keeps the derivative."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from types import MethodType
from typing import Any

from tl_core import Tensor
from tl_core.pytree import tree_leaves

from ..fx.method_hook import FUNCTION_CALLS
from ..tracer.whole_calls import recorded_whole
from .recipes import NODE_ARGUMENTS

__all__ = ["functions_are_nodes"]


def functions_are_nodes(mode: Any) -> AbstractContextManager[None]:
    """A region in which the thread's trace has one node for each call of an autograd.Function.

    Args:
        mode: the trace.
    """
    return FUNCTION_CALLS.handle(partial(_record, mode))


def _record(mode: Any, apply: Any, cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    if kwargs:
        raise mode.fail(f"{cls.__name__}.apply has arguments by keyword")
    for leaf in tree_leaves(args):
        if not isinstance(leaf, NODE_ARGUMENTS):
            raise mode.fail(f"{cls.__name__}, an autograd.Function, gets a {type(leaf).__name__}")

    def run(*values: Any) -> Any:
        with FUNCTION_CALLS.handle(None):  # functions that it applies are its own
            return _run_without_writes(mode, apply, cls, values)

    return recorded_whole(MethodType(apply, cls), args, cls.__name__.lower(), run)


def _run_without_writes(mode: Any, apply: Any, cls: Any, values: tuple[Any, ...]) -> Any:
    tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor)]
    before = [t._version for t in tensors]
    out = apply(cls, *values)
    if [t._version for t in tensors] != before:
        raise mode.fail(f"{cls.__name__}, an autograd.Function, writes to its arguments")
    if any(t is argument for t in tree_leaves(out) for argument in tensors):
        raise mode.fail(f"{cls.__name__}, an autograd.Function, returns an argument as it is")
    return out
