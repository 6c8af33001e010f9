"""The structure of values as a tape takes it: constants, slots, and containers of them."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["Kind", "Node", "slots_in"]

Node = tuple[Any, ...]
"""A kind and its parts."""


class Kind(enum.IntEnum):
    """The kinds of nodes, in the order of `Node::Kind` in `csrc/replay/node.h`."""

    CONSTANT = 0
    SLOT = 1
    TUPLE = 2
    LIST = 3
    DICT = 4
    SLICE = 5
    OBJECT = 6
    SHARED = 7


def slots_in(node: Node) -> list[int]:
    """The slots that a node reads.

    Args:
        node: the node.

    Example:
        >>> slots_in((Kind.LIST, ((Kind.SLOT, 3), (Kind.CONSTANT, "a"))))
        [3]
    """
    if node[0] == Kind.SLOT:
        return [node[1]]
    return [] if node[0] == Kind.CONSTANT else [slot for item in node[1] for slot in slots_in(item)]
