"""Graph modules that write their code only when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .code_generation import PythonCode
from .graph_module import GraphModule, restored

__all__ = [
    "_LazyGraphModule",
    "_force_skip_lazy_graph_module",
    "_make_graph_module",
    "_use_lazy_graph_module",
]

_force_skip = False
_use_lazy = False


@contextmanager
def _force_skip_lazy_graph_module() -> Iterator[None]:
    """Inside, `_make_graph_module` makes ordinary modules, whatever else is set."""
    global _force_skip
    before, _force_skip = _force_skip, True
    try:
        yield
    finally:
        _force_skip = before


@contextmanager
def _use_lazy_graph_module(should_use: bool) -> Iterator[None]:
    """Inside, `_make_graph_module` makes lazy modules, or ordinary ones.

    Args:
        should_use: whether they are lazy.
    """
    global _use_lazy
    before, _use_lazy = _use_lazy, should_use and not _force_skip
    try:
        yield
    finally:
        _use_lazy = before


def _get_graph_module_cls() -> type[GraphModule]:
    """The class of modules that is made at present."""
    return _LazyGraphModule if _use_lazy else GraphModule


def _make_graph_module(
    *args: Any, graph_module_cls: type[GraphModule] | None = None, **kwargs: Any
) -> GraphModule:
    """Makes a module of a graph.

    Args:
        args, kwargs: as for `GraphModule`.
        graph_module_cls: its class; by default the one that is set.

    Returns:
        The module.
    """
    return (graph_module_cls or _get_graph_module_cls())(*args, **kwargs)


class _LazyGraphModule(GraphModule):
    """A graph module whose code is written at its first call, or when it is asked for.

    Many passes change a graph and throw the module away; its code is then never written.
    """

    @classmethod
    def from_graphmodule(cls, gm: GraphModule) -> GraphModule:
        """A lazy module with the graph of another one.

        Args:
            gm: the module.

        Returns:
            The module itself if it is lazy.
        """
        return gm if isinstance(gm, _LazyGraphModule) else _LazyGraphModule(gm, gm.graph)

    @staticmethod
    def force_recompile(gm: GraphModule) -> None:
        """Writes the code of a module now, if it is lazy.

        Args:
            gm: the module.
        """
        if isinstance(gm, _LazyGraphModule):
            gm.real_recompile()

    def real_recompile(self) -> None:
        """Writes the code if the graph was changed since."""
        if self._needs_recompile():
            self._real_recompile()

    def _real_recompile(self) -> PythonCode:
        return super().recompile()

    @classmethod
    def _needs_recompile(cls) -> bool:
        return cls.forward is cls._lazy_forward

    def _lazy_forward(self, *args: Any, **kwargs: Any) -> Any:
        self.real_recompile()
        if self._needs_recompile():
            raise AssertionError("the code of a lazy graph module was not written")
        return type(self).forward(self, *args, **kwargs)

    forward = _lazy_forward

    def __reduce_package__(self, exporter: Any) -> Any:
        self.real_recompile()
        return super().__reduce_package__(exporter)

    def __reduce__(self) -> Any:
        self.real_recompile()
        return _restored_lazy, super().__reduce__()[1]

    def recompile(self) -> Any:
        """Notes that the code is to be written."""
        type(self).forward = type(self)._lazy_forward
        return None

    @property
    def code(self) -> str:
        """The text of the generated function, written now if need be."""
        self.real_recompile()
        return super().code

    def __str__(self) -> str:
        self.real_recompile()
        return super().__str__()


def _restored_lazy(*recorded: Any) -> GraphModule:
    module = restored(*recorded)
    return _LazyGraphModule(module, module.graph)
