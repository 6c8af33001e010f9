"""The result of a recorded call as a description, from which each replay builds a new one."""

from __future__ import annotations

from typing import Any, Protocol

import tl_core

from ..object_parts import ObjectParts, dissect
from .refusal import Refusal
from .structures import Kind, Node
from .world import World, is_plain, is_result

__all__ = ["ResultWriter", "Values"]


class Values(Protocol):
    """The tensors and numbers of a call, as a recorder has them."""

    world: World
    numbers: dict[int, Any]

    @property
    def n_slots(self) -> int:
        """How many of them have a slot."""

    def value_node(self, value: Any) -> Node:
        """The description of one."""

    def holds_number(self, value: Any) -> bool:
        """Whether a value is a number of a tensor, or a tuple with one."""


class ResultWriter:
    """Describes the result of a call: tensors and numbers by their slots, new containers and objects by their parts.

    Objects that were there before the call are described by themselves, since the call has read where they are.

    Args:
        recorder: the tensors and numbers of the call.
    """

    def __init__(self, recorder: Values) -> None:
        self._recorder = recorder
        self._world = recorder.world
        self._open: set[int] = set()  # the objects that are described now
        self._described: set[int] = set()
        self._slots: dict[int, int] = {}  # of objects that the result holds several times

    @property
    def n_slots(self) -> int:
        """How many slots the description takes beside those of the recorder."""
        return len(self._slots)

    def describe(self, result: Any) -> Node:
        """The description of a result.

        Args:
            result: the result.

        Raises:
            Refusal: a replay can't build it.
        """
        node = self._node(result)
        if not self._slots:
            return node
        self._described.clear()  # now it is known which objects have a slot
        return self._node(result)

    def _node(self, x: Any) -> Node:
        recorder, kind = self._recorder, type(x)
        if id(x) in recorder.numbers or isinstance(x, tl_core.Tensor):
            return recorder.value_node(x)
        if is_plain(x) and not recorder.holds_number(x):
            return Kind.CONSTANT, x
        if self._was_there(x):
            return Kind.CONSTANT, x
        if id(x) in self._open:
            raise Refusal(f"the result holds an object of the type {kind.__qualname__} that holds itself")
        if id(x) in self._described:
            return Kind.SLOT, self._slots.setdefault(id(x), recorder.n_slots + len(self._slots))
        self._described.add(id(x))
        self._open.add(id(x))
        node = self._new_object(x)
        self._open.discard(id(x))
        slot = self._slots.get(id(x))
        return node if slot is None else (Kind.SHARED, (node,), slot)

    def _was_there(self, x: Any) -> bool:
        if isinstance(x, tuple) or self._world.is_argument(x):
            return False  # a later call has others
        return self._world.was_there(x) or any(value is x for value in self._world.values())

    def _new_object(self, x: Any) -> Node:
        kind = type(x)
        if not isinstance(x, tuple) and not self._world.is_fresh(x):
            raise Refusal(f"the result holds an object of the type {kind.__qualname__}, which may not be new")
        if kind is tuple or kind is list:
            return (Kind.TUPLE if kind is tuple else Kind.LIST), tuple(map(self._node, x))
        if isinstance(x, dict) and any(map(self._recorder.holds_number, x)):
            raise Refusal(
                "the value of a tensor is a key of the result"
            )  # two may be equal in one call alone
        if kind is dict and all(map(is_plain, x)):
            return Kind.DICT, tuple(map(self._node, x.values())), tuple(x)
        parts = ObjectParts(kind, tuple, list(x), (), []) if is_result(kind) else dissect(x)
        if parts is None or issubclass(parts.base, (set, frozenset)):
            raise Refusal(f"the result holds an object of the type {kind.__qualname__}")
        self._world.read_type(parts.cls)
        children = tuple(map(self._node, (*parts.items, *parts.values)))
        return Kind.OBJECT, children, (parts.cls, parts.base, parts.names)
