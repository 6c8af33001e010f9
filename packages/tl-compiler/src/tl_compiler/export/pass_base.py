"""Passes that rebuild a graph by running it."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.interpreter import Transformer
from tl_compiler.fx.node import Node

__all__ = ["ExportPassBase"]


class ExportPassBase:
    """A pass over a graph module: each operator goes through `call_operator`, which subclasses change."""

    def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
        """Records a call of an operator.

        Args:
            op: the operator.
            args, kwargs: its arguments.
            meta: what is noted of the node.

        Returns:
            What stands for the result.
        """
        return self._transformer.record(op, args, kwargs, meta)

    def call(self, graph_module: GraphModule) -> Any:
        """The graph rebuilt.

        Args:
            graph_module: the module.

        Returns:
            A result with the new module.
        """
        from tl_compiler.fx.passes.infra.pass_base import PassResult

        self._transformer = _Rebuild(graph_module, self)
        return PassResult(self._transformer.transform(), True)

    def __call__(self, graph_module: GraphModule) -> Any:
        return self.call(graph_module)


_ExportPassBaseDeprecatedDoNotUse = ExportPassBase


class _Rebuild(Transformer):
    """Records what a pass makes of each node; what the pass leaves as it was keeps its name."""

    def __init__(self, module: GraphModule, owner: ExportPassBase) -> None:
        super().__init__(module)
        self.owner = owner
        self._node: Any = None

    def record(self, target: Any, args: Any, kwargs: Any, meta: dict[str, Any]) -> Any:
        """Records a call.

        Args:
            target: what is called.
            args, kwargs: its arguments.
            meta: what is noted of the node.
        """
        proxy = super().call_function(target, args, kwargs)
        proxy.node.meta.update(meta)
        if self._node is not None and self._node.target is target:
            proxy.node._rename(self._node.name)
            self._node = None  # a pass may record it several times
        return proxy

    def run_node(self, n: Node) -> Any:
        """Runs a node.

        Args:
            n: the node.
        """
        self._node = n
        return super().run_node(n)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Asks the pass."""
        return self.owner.call_operator(target, args, kwargs, dict(self._node.meta))
