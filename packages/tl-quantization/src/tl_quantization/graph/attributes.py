"""Tensors and packed weights of a graph module that the graph reads by name."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_compiler.fx import GraphModule, Node

__all__ = ["evaluate", "is_constant", "new_attribute", "read_attribute"]


def new_attribute(model: GraphModule, prefix: str, value: Any) -> Node:
    """Stores a value under a new name and inserts a node that reads it.

    Args:
        model: the graph module.
        prefix: the beginning of the name: a number follows.
        value: a number or a tensor becomes a buffer, another object an attribute.
    """
    prefix = prefix.replace(".", "_")
    number = 0
    while hasattr(model, f"{prefix}{number}"):
        number += 1
    name = f"{prefix}{number}"
    if isinstance(value, (int, float, tl_core.Tensor)):
        tensor = value.detach().clone() if isinstance(value, tl_core.Tensor) else tl_core.tensor(value)
        model.register_buffer(name, tensor)
    else:
        setattr(model, name, value)
    return model.graph.create_node("get_attr", name)


def read_attribute(model: Any, node: Node) -> Any:
    """The value that a node reads.

    Args:
        model: the graph module.
        node: a node `get_attr`.
    """
    value = model
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value


def is_constant(node: Any) -> bool:
    """Whether a value is computed from attributes of the graph module alone.

    Args:
        node: the node, or an argument.
    """
    if isinstance(node, (list, tuple)):
        return all(map(is_constant, node))
    if not isinstance(node, Node) or node.op == "get_attr":
        return True
    return node.op in ("call_function", "call_method") and all(map(is_constant, node.args))


def evaluate(model: Any, node: Any) -> Any:
    """The value of a node that `is_constant`, detached.

    Args:
        model: the graph module.
        node: the node, or an argument.
    """
    if isinstance(node, (list, tuple)):
        return type(node)(evaluate(model, part) for part in node)
    if not isinstance(node, Node):
        return node
    if node.op == "get_attr":
        value = read_attribute(model, node)
        return value.detach() if isinstance(value, tl_core.Tensor) else value
    args = [evaluate(model, arg) for arg in node.args]
    if isinstance(node.target, str):
        return getattr(args[0], node.target)(*args[1:])
    return node.target(*args)
