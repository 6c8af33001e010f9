"""Values of a graph that are constant: computed once, stored as buffers."""

from __future__ import annotations

from collections.abc import Callable

import tl_core
from tl_compiler.fx import GraphModule, Node

from ..graph.attributes import evaluate, is_constant

__all__ = ["constant_fold"]


def constant_fold(model: GraphModule, is_wanted: Callable[[Node], bool]) -> None:
    """Replaces constant nodes by buffers with their values, in place.

    Args:
        model: the model.
        is_wanted: whether a constant node is replaced.
    """
    constants: dict[Node, bool] = {}
    for node in model.graph.nodes:
        constants[node] = _is_constant(node, constants)
    number = 0
    for node in list(model.graph.nodes):
        if node.op == "get_attr" or not constants[node] or not is_wanted(node):
            continue
        value = evaluate(model, node)
        if not isinstance(value, tl_core.Tensor):
            continue
        while hasattr(model, f"_frozen_param{number}"):
            number += 1
        name = f"_frozen_param{number}"
        model.register_buffer(name, value.detach())
        with model.graph.inserting_before(node):
            read = model.graph.create_node("get_attr", name)
        read.meta.update(node.meta)
        node.replace_all_uses_with(read)
        model.graph.erase_node(node)
        constants[read] = True
    model.graph.eliminate_dead_code()
    drop_unread(model)
    model.graph.lint()
    model.recompile()


def _is_constant(node: Node, constants: dict[Node, bool]) -> bool:
    """Whether a node reads attributes alone. Functions that draw numbers or change their arguments don't count."""
    if node.op == "get_attr":
        return True
    if node.op != "call_function" or not node.all_input_nodes:
        return False
    return not node.is_impure() and all(constants[arg] for arg in node.all_input_nodes) and is_constant(node)


def drop_unread(model: GraphModule) -> None:
    """Deletes parameters and buffers that the graph no longer reads.

    Args:
        model: the model.
    """
    read = {str(node.target) for node in model.graph.nodes if node.op == "get_attr"}
    called = tuple(f"{node.target}." for node in model.graph.nodes if node.op == "call_module")
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    names += [name for name, _ in model.named_buffers(remove_duplicate=False)]
    for name in names:
        if name in read or (called and name.startswith(called)) or _is_in_subgraph(model, name, read):
            continue
        parent, _, last = name.rpartition(".")
        delattr(model.get_submodule(parent), last)


def _is_in_subgraph(model: GraphModule, name: str, read: set[str]) -> bool:
    """Whether a tensor belongs to a graph module that the graph reads, such as a branch of `cond`."""
    parts = name.split(".")
    return any(".".join(parts[:i]) in read for i in range(1, len(parts)))
