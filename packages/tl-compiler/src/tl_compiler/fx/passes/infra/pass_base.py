"""A pass as a class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """What a pass gives: the module, and whether it changed it.

    Example:
        >>> PassResult(None, True).modified
        True
    """

    graph_module: GraphModule
    modified: bool


class PassBase(ABC):
    """A pass over a graph module; subclasses write `call`, and may check what they need and what they promise.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> class Nothing(PassBase):
        ...     def call(self, graph_module):
        ...         return PassResult(graph_module, False)
        >>> Nothing()(symbolic_trace(lambda x: x)).modified
        False
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """What the pass does.

        Args:
            graph_module: the module.

        Returns:
            The module and whether it was changed.
        """

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Called before: raises if the pass can't be run.

        Args:
            graph_module: the module.
        """

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Called after: raises if the pass did not do what it promises.

        Args:
            graph_module: the module.
        """
