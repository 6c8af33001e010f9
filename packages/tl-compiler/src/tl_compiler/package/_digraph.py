"""Directed graphs: which module depends on which."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

__all__ = ["DiGraph"]


def _neighbours(edges: dict[Any, dict[Any, None]], n: Any) -> Iterator[Any]:
    if n not in edges:
        raise ValueError(f"The node {n} is not in the digraph.")
    return iter(edges[n])


class DiGraph:
    """Nodes with attributes, and edges between them."""

    def __init__(self) -> None:
        self._node: dict[Any, dict[str, Any]] = {}
        self._succ: dict[Any, dict[Any, None]] = {}
        self._pred: dict[Any, dict[Any, None]] = {}

    def add_node(self, n: Any, **kwargs: Any) -> None:
        """Adds a node, or attributes to one.

        Args:
            n: the node.
            kwargs: its attributes.
        """
        if n not in self._node:
            self._node[n], self._succ[n], self._pred[n] = {}, {}, {}
        self._node[n].update(kwargs)

    def add_edge(self, u: Any, v: Any) -> None:
        """Adds an edge, and its nodes.

        Args:
            u, v: from where to where.
        """
        self.add_node(u)
        self.add_node(v)
        self._succ[u][v] = None
        self._pred[v][u] = None

    def successors(self, n: Any) -> Iterator[Any]:
        """The nodes to which edges lead from a node.

        Args:
            n: the node.

        Returns:
            They.

        Raises:
            ValueError: there is no such node.
        """
        return _neighbours(self._succ, n)

    def predecessors(self, n: Any) -> Iterator[Any]:
        """The nodes from which edges lead to a node.

        Args:
            n: the node.

        Returns:
            They.

        Raises:
            ValueError: there is no such node.
        """
        return _neighbours(self._pred, n)

    @property
    def edges(self) -> Iterator[tuple[Any, Any]]:
        """All edges, each from where to where."""
        return ((u, v) for u, following in self._succ.items() for v in following)

    @property
    def nodes(self) -> dict[Any, dict[str, Any]]:
        """The attributes of each node."""
        return self._node

    def __iter__(self) -> Iterator[Any]:
        return iter(self._node)

    def __contains__(self, n: object) -> bool:
        try:
            return n in self._node
        except TypeError:
            return False

    def forward_transitive_closure(self, src: Any) -> set[Any]:
        """A node, and all that ways lead to from it.

        Args:
            src: the node.

        Returns:
            They.
        """
        return self._reachable(src, self._succ)

    def backward_transitive_closure(self, src: Any) -> set[Any]:
        """A node, and all from which ways lead to it.

        Args:
            src: the node.

        Returns:
            They.
        """
        return self._reachable(src, self._pred)

    @staticmethod
    def _reachable(src: Any, edges: dict[Any, dict[Any, None]]) -> set[Any]:
        reachable, pending = {src}, deque([src])
        while pending:
            for n in edges.get(pending.popleft(), ()):
                if n not in reachable:
                    reachable.add(n)
                    pending.append(n)
        return reachable

    def all_paths(self, src: Any, dst: Any) -> str:
        """The edges on all ways between two nodes, in the language of Graphviz.

        Args:
            src, dst: from where to where.

        Returns:
            The text.
        """
        between = self.forward_transitive_closure(src) & self.backward_transitive_closure(dst)
        edges = [(u, v) for u, v in self.edges if u in between and v in between]
        return _dot(edges)

    def first_path(self, dst: Any) -> list[Any]:
        """A way that leads to a node from one to which none leads.

        Args:
            dst: the node.

        Returns:
            The nodes on it.
        """
        path = [dst]
        while previous := next((n for n in self._pred.get(path[-1], ()) if n not in path), None):
            path.append(previous)
        return list(reversed(path))

    def to_dot(self) -> str:
        """The graph in the language of Graphviz.

        Returns:
            The text.
        """
        return _dot(list(self.edges))


def _dot(edges: list[tuple[Any, Any]]) -> str:
    lines = "\n".join(f'"{u}" -> "{v}";' for u, v in edges)
    return f"digraph G {{\nrankdir = LR;\nnode [shape=box];\n{lines}\n}}\n"
