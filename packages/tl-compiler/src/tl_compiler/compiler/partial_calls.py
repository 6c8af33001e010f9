"""Calls that can't become one graph: they run eagerly, and the modules that they call become graphs of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import MethodType
from typing import Any, Protocol

from ..fx.method_hook import MODULE_CALLS
from . import dynamo_config as config
from .breaks import Break

__all__ = ["PartialCalls"]


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

    def region(self) -> AbstractContextManager[None]:
        """The region, for this thread."""
        return MODULE_CALLS.handle(self._call)

    def _call(self, method: Any, module: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A module's result, by a graph if its call can become one."""
        with MODULE_CALLS.handle(None):
            compiled = self._compile(method, module)
            return method(module, *args, **kwargs) if compiled is None else compiled(args, kwargs)

    def _compile(self, method: Any, module: Any) -> _Compiled | None:
        compiled = self.modules.get(id(module))  # which the compiled function holds
        if compiled is None and len(self.modules) < config.accumulated_recompile_limit:
            compiled = self.modules[id(module)] = self.compiled(MethodType(method, module))
        return compiled

    def breaks(self) -> Iterator[Break]:
        """Why calls of modules became no graph."""
        for compiled in self.modules.values():
            yield from compiled.breaks()

    def reset(self) -> None:
        """Forgets all graphs."""
        self.modules.clear()
