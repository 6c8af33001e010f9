"""Calls that can't become one graph: they run eagerly, and the modules that they call become graphs of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any, Protocol

import tl_nn

from ..dynamo import config
from .capture import Break

__all__ = ["PartialCalls"]

_plain_call = tl_nn.Module.__call__
_thread = threading.local()
_lock = threading.Lock()
_regions = 0  # how many are in force, in all threads


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A module's call while a region is in force."""
    region = getattr(_thread, "region", None)
    return _plain_call(self, *args, **kwargs) if region is None else region.call(self, args, kwargs)


def _count(step: int) -> None:
    global _regions
    with _lock:
        _regions += step
        tl_nn.Module.__call__ = _call if _regions else _plain_call  # type: ignore[method-assign]


class _Compiled(Protocol):
    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any: ...

    def breaks(self) -> Iterator[Break]: ...


class PartialCalls:
    """Regions in which each outermost module that is called becomes a graph, or, if it can't, runs in such a region.

    Args:
        compiled: makes a compiled function of a function.
    """

    def __init__(self, compiled: Callable[[Any], _Compiled]) -> None:
        self.compiled = compiled
        self.modules: dict[int, _Compiled] = {}

    @contextmanager
    def region(self) -> Iterator[None]:
        """The region, for this thread."""
        outer = getattr(_thread, "region", None)
        _thread.region = self
        _count(1)
        try:
            yield
        finally:
            _count(-1)
            _thread.region = outer

    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A module's result, by a graph if its call can become one.

        Args:
            module: the module.
            args, kwargs: the arguments.
        """
        _thread.region = None
        try:
            compiled = self._compiled(module)
            return _plain_call(module, *args, **kwargs) if compiled is None else compiled(args, kwargs)
        finally:
            _thread.region = self

    def _compiled(self, module: Any) -> _Compiled | None:
        found = self.modules.get(id(module))  # which the compiled function holds
        if found is None and len(self.modules) < config.accumulated_recompile_limit:
            found = self.modules[id(module)] = self.compiled(MethodType(_plain_call, module))
        return found

    def breaks(self) -> Iterator[Break]:
        """Why calls of modules became no graph."""
        for compiled in self.modules.values():
            yield from compiled.breaks()

    def reset(self) -> None:
        """Forgets all graphs."""
        self.modules.clear()
