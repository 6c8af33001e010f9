"""The order of a graph's nodes: a list of them, and the place of new nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from .node import Node

__all__ = ["InsertPoint", "NodeList", "table"]


class NodeList:
    """The nodes of a graph in order. A loop over the list may erase and insert nodes.

    Args:
        graph: the graph.
        forwards: whether iteration begins with the first node.
    """

    def __init__(self, graph: Any, forwards: bool = True) -> None:
        self._graph = graph
        self._forwards = forwards

    def __len__(self) -> int:
        length: int = self._graph._len
        return length

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        node = root._next if self._forwards else root._prev
        while node is not root:
            if not node._erased:
                yield node
            node = node._next if self._forwards else node._prev

    def __reversed__(self) -> NodeList:
        return NodeList(self._graph, not self._forwards)


class InsertPoint(AbstractContextManager[None]):
    """The place of new nodes. As a context, the place holds until its end.

    Args:
        graph: the graph.
        insert: adds a node at the place.
    """

    def __init__(self, graph: Any, insert: Callable[[Node], None]) -> None:
        self._graph, self._before = graph, graph._insert
        graph._insert = insert

    def __exit__(self, *error: Any) -> None:
        self._graph._insert = self._before


def table(nodes: NodeList) -> str:
    """The nodes as a table: a header, a rule and a line for each node.

    A column is two characters wider than its heading, as in the tables that PyTorch prints.

    Args:
        nodes: the nodes.
    """
    head = ["opcode", "name", "target", "args", "kwargs"]
    rows = [[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in nodes]
    widths = [max(len(title) + 2, *(len(row[i]) for row in rows)) for i, title in enumerate(head)]
    lines = (head, ["-" * width for width in widths], *rows)
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
