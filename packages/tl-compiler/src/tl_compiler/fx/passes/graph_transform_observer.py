"""Watching which nodes a pass makes and removes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..graph_module import GraphModule
from ..node import Node
from ..traceback import NodeSource, NodeSourceAction

__all__ = ["GraphTransformObserver"]

_T = TypeVar("_T")


class GraphTransformObserver:
    """A context around a pass: notes the nodes that it makes and removes, and where new ones come from.

    Args:
        gm: the module.
        passname: the pass.
        subsystem: the part of a program that it belongs to.
        log_url: a folder for drawings of the graph before and after; needs pydot.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: x.neg())
        >>> with GraphTransformObserver(made, "drop") as seen:
        ...     node = made.graph.find_nodes(op="call_method")[0]
        ...     node.replace_all_uses_with(node.args[0]) and made.graph.erase_node(node)
        >>> seen.erased_nodes, seen.created_nodes
        ({'neg'}, set())
    """

    def __init__(
        self, gm: GraphModule, passname: str, subsystem: str | None = None, log_url: str | None = None
    ) -> None:
        self.gm = gm
        self.passname = passname
        self.subsystem = subsystem
        self.log_url = log_url
        self.erased_nodes: set[str] = set()
        self.created_nodes: set[str] = set()
        self.name_to_node: dict[str, Node] = {}
        self.copied_gms: list[GraphModule] = []
        self._before: Any = self._draw("input_graph") if log_url else None

    def apply_gm_pass(self, pass_fn: Callable[[GraphModule], _T]) -> _T | None:
        """Runs a pass over the module, watched.

        Args:
            pass_fn: the pass.

        Returns:
            What it returns.
        """
        with self:
            return pass_fn(self.gm)

    def apply_graph_pass(self, pass_fn: Callable[[Any], _T]) -> _T | None:
        """Runs a pass over the graph, watched.

        Args:
            pass_fn: the pass.

        Returns:
            What it returns.
        """
        with self:
            return pass_fn(self.gm.graph)

    def __enter__(self) -> GraphTransformObserver:
        self.gm._register_create_node_hook(self.on_node_creation)
        self.gm._register_erase_node_hook(self.on_node_erase)
        self.gm._register_replace_node_hook(self.on_node_replace)
        self.gm._register_deepcopy_hook(self.on_deepcopy)
        self.name_to_node = {node.name: node for node in self.gm.graph.nodes}
        return self

    def __exit__(self, *error: Any) -> None:
        for module in (self.gm, *self.copied_gms):
            module._unregister_create_node_hook(self.on_node_creation)
            module._unregister_erase_node_hook(self.on_node_erase)
            module._unregister_replace_node_hook(self.on_node_replace)
        self.gm._deepcopy_hooks.remove(self.on_deepcopy)
        if self.log_url and (self.created_nodes or self.erased_nodes):
            self._before.write(str(Path(self.log_url) / f"pass_{self.passname}_input_graph.dot"))
            after = self._draw("output_graph")
            after.write(str(Path(self.log_url) / f"pass_{self.passname}_output_graph.dot"))

    def _draw(self, what: str) -> Any:
        from .graph_drawer import FxGraphDrawer

        return FxGraphDrawer(self.gm, f"{self.passname}_{what}", ignore_getattr=True).get_dot_graph()

    def on_node_creation(self, node: Node) -> None:
        """Called with each new node.

        Args:
            node: the node.
        """
        self.created_nodes.add(node.name)
        self.name_to_node[node.name] = node
        source = NodeSource(None, self.passname, NodeSourceAction.CREATE)
        node.meta.setdefault("from_node", [source])

    def on_node_erase(self, node: Node) -> None:
        """Called with each node that is removed.

        Args:
            node: the node.
        """
        self.erased_nodes.add(node.name)
        self.name_to_node.pop(node.name, None)

    def on_node_replace(self, old: Node, new: str, user: Node) -> None:
        """Called where a user gets a new node in the place of an old one.

        Args:
            old: the node that goes.
            new: the name of the one that comes.
            user: the user.
        """
        replacement = self.name_to_node.get(new)
        if replacement is None:
            return
        action = [NodeSourceAction.REPLACE]
        if replacement.name in self.created_nodes:
            action.append(NodeSourceAction.CREATE)
        source = NodeSource(old, self.passname, action)
        sources = [s for s in replacement.meta.get("from_node", []) if s.name]
        if source not in sources:
            replacement.meta["from_node"] = [*sources, source]

    def on_deepcopy(self, gm: GraphModule) -> None:
        """Called with each deep copy of the module: it is watched, too.

        Args:
            gm: the copy.
        """
        self.copied_gms.append(gm)
        gm._register_create_node_hook(self.on_node_creation)
        gm._register_erase_node_hook(self.on_node_erase)
        gm._register_replace_node_hook(self.on_node_replace)
