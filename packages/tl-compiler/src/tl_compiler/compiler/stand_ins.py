"""The containers of tensors without memory that stand for a call's arguments."""

from __future__ import annotations

import collections
from typing import Any

import tl_core
from tl_core import pytree

from .breaks import Break
from .state import State

__all__ = ["StandIns"]

_LISTS = (list, tuple, collections.deque)


class StandIns:
    """Which container stands for which of the arguments, and what it held before the trace.

    Args:
        state: that of the call.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.numbers: dict[int, int] = {}  # of the arguments in the state, by the id of what stands for them
        self.unknown: set[int] = set()
        self.contents: list[tuple[Any, Any, int]] = []
        self._nodes: list[tuple[Any, list[Any], Any]] = []  # of other kinds, with their parts

    def pair(self, original: Any, stand: Any) -> None:
        """Pairs containers.

        Args:
            original: an argument, or arguments.
            stand: what stands for them.
        """
        if original is stand or isinstance(stand, tl_core.Tensor):
            return
        if isinstance(original, _LISTS) and type(original) is type(stand):
            self._pair_container(original, stand)
            for a, b in zip(original, stand, strict=True):
                self.pair(a, b)
        elif isinstance(original, dict) and type(original) is type(stand):
            self._pair_container(original, stand)
            for key, value in original.items():
                self.pair(value, stand[key])
        elif pytree.node_type(stand) in pytree.SUPPORTED_NODES:
            self.unknown.add(id(stand))
            self._nodes.append((stand, *_parts(stand)))

    def _pair_container(self, original: Any, stand: Any) -> None:
        number = self.state.ids.get(id(original))
        if number is None:  # the tuple and the dictionary of all arguments
            return
        self.numbers[id(stand)] = number
        if isinstance(stand, dict):
            self.contents.append((stand, list(stand.items()), number))
        elif not isinstance(stand, tuple):
            self.contents.append((stand, list(stand), number))

    def check(self) -> None:
        """Raises where a container of another kind has other parts than before.

        Raises:
            Break: it has.
        """
        for node, before, spec in self._nodes:
            now, now_spec = _parts(node)
            if now_spec != spec or any(a is not b for a, b in zip(now, before, strict=True)):
                raise Break("a container among the arguments is changed")


def _parts(node: Any) -> tuple[list[Any], Any]:
    return pytree.tree_flatten(node, is_leaf=lambda each: each is not node)
