"""The nodes of the tensors of a trace, by identity, and the fakes of tensors that the program holds."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import tl_core
import tl_core.tensors.parameter
from tl_core.dispatch.modes import no_modes
from tl_core.subclasses import FakeTensor

from ..fx.node import Node
from .quantized_nodes import conversion_node, forget_conversions

__all__ = ["ValueNodes", "attribute_node"]

Tensor = tl_core.Tensor
_PLAIN = (Tensor, tl_core.tensors.parameter.Parameter)


def attribute_node(tracer: Any, t: Any) -> Node:
    """The node of a tensor that becomes an attribute of the root.

    Args:
        tracer: the tracer of the graph.
        t: the tensor.
    """
    root, number = tracer.root, 0
    prefix = "_param_constant" if isinstance(t, tl_core.tensors.parameter.Parameter) else "_tensor_constant"
    while hasattr(root, f"{prefix}{number}"):
        number += 1
    name = f"{prefix}{number}"
    setattr(root, name, t)
    node: Node = tracer.create_node("get_attr", name, (), {}, name)
    return node


class ValueNodes:
    """A map from the tensors of a trace to their nodes.

    Args:
        constant: creates the node of a tensor that no operator of the graph returned.
        fake_mode: the mode of the fakes; None in a trace of real tensors.
        real: whether operators run on real tensors, which autograd replaces by other objects with the same elements.
        create: creates the node of an operator and its arguments.
    """

    def __init__(
        self, constant: Callable[[Any], Node], fake_mode: Any, real: bool, create: Callable[..., Node]
    ) -> None:
        self._constant, self._fake_mode, self._real, self._create = constant, fake_mode, real, create
        self._nodes: dict[int, tuple[Any, Node]] = {}
        self._in_memory: dict[Any, tuple[Any, Node]] = {}  # real tensors by the place of their elements
        self._constants: dict[int, tuple[Any, Node]] = {}
        self.fakes: dict[int, tuple[Any, Any]] = {}  # by the id of the tensor; a subgraph shares them

    def track(self, t: Any, node: Node) -> None:
        """Stores the node of a tensor.

        Args:
            t: the tensor.
            node: the node.
        """
        key = id(t)
        owner: Any = t
        if not isinstance(t, FakeTensor):
            owner = weakref.ref(t, lambda _: self._nodes.pop(key, None))
        self._nodes[key] = (owner, node)
        if self._real:
            location = _location(t)
            forget_conversions(location, self._in_memory)
            self._in_memory[location] = t, node

    def track_write(self, t: Any, result: Any, node: Node) -> None:
        """Stores the node of an operator as the value of a real tensor whose fake the operator wrote to.

        Args:
            t: an argument of the operator.
            result: the result, which is the fake.
            node: the node.
        """
        entry = self.fakes.get(id(t))
        if entry is not None and entry[0] is t and entry[1] is result:
            self._constants[id(t)] = (t, node)

    def node_of(self, t: Any) -> Node:
        """The node of a tensor; a tensor that no operator returned becomes a constant.

        Args:
            t: the tensor.
        """
        node = self.node_of_object(t)
        if node is not None:
            return node
        entry = self._constants.get(id(t))
        if entry is not None and entry[0] is t:
            return entry[1]
        node = self.node_or_none(t) or self._constant(t)
        self._constants[id(t)] = (t, node)
        return node

    def node_of_object(self, t: Any) -> Node | None:
        """The node of this object; None for an object that no operator returned.

        Args:
            t: the tensor.
        """
        entry = self._nodes.get(id(t))
        if entry is None:
            return None
        owner = entry[0]() if isinstance(entry[0], weakref.ref) else entry[0]
        return entry[1] if owner is t else None

    def node_or_none(self, t: Any) -> Node | None:
        """The node of a tensor or of a tensor with the same elements; None without such a node.

        Autograd saves results as objects of its own, so that the elements identify them.

        Args:
            t: the tensor.
        """
        node = self.node_of_object(t)
        if node is None and self._real:
            location = _location(t)
            _, node = self._in_memory.get(location, (None, None))
            if node is None:
                node = conversion_node(t, location, self._in_memory, self._convert)
        return node

    def _convert(self, operator: Any, quantizer: tuple[Any, ...], node: Node) -> Node:
        arguments = (self.node_of(a) if isinstance(a, Tensor) else a for a in quantizer)
        return self._create(operator, (node, *arguments), {})

    def fake_of(self, t: Any) -> Any:
        """The fake of a tensor.

        Args:
            t: the tensor; a fake is its own fake.
        """
        if isinstance(t, FakeTensor):
            return t
        entry = self.fakes.get(id(t))
        if entry is None or entry[0] is not t:
            with no_modes():
                entry = self.fakes[id(t)] = (t, self._fake_mode.from_tensor(t, static_shapes=True))
        return entry[1]


def _location(t: Any) -> Any:
    """The place and the type of a tensor's elements; the id of a tensor without memory of its own."""
    if type(t) not in _PLAIN or t.layout is not tl_core.strided or t.is_meta or not t.numel():
        return id(t)
    return t.data_ptr(), t.dtype, t.shape, t.stride(), t.is_conj(), t.is_neg()
