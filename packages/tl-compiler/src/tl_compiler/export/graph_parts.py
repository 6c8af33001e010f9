"""Parts of a graph as submodules: cutting it where a condition says, and putting a part back."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..fx.graph_module import GraphModule
from ..fx.node import Node, map_arg
from ..fx.passes.split_module import split_module

__all__ = ["node_inline_", "node_replace_", "sequential_split"]


def sequential_split(gm: GraphModule, node_call_back: Callable[[Node], bool]) -> GraphModule:
    """Cuts a graph before each node for which a condition holds.

    Args:
        gm: the module, which is not changed.
        node_call_back: the condition.

    Returns:
        A module that calls the parts `submod_0`, `submod_1`, ... in the order of the graph, and is called as the other.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: (x + 1).neg())
        >>> [name for name, _ in sequential_split(made, lambda n: n.name == "neg").named_children()]
        ['submod_0', 'submod_1']
    """
    part, part_of = 0, {}
    for node in gm.graph.nodes:
        part += node_call_back(node)
        part_of[node] = part
    return split_module(gm, gm, part_of.__getitem__, keep_original_order=True, keep_original_node_name=True)


def node_replace_(old_node: Node, new_node: Node) -> None:
    """Lets a node take another's place.

    Args:
        old_node: the node, which is erased.
        new_node: what takes its place.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> graph = symbolic_trace(lambda x: x.neg()).graph
        >>> _, old, output = graph.nodes
        >>> with graph.inserting_before(old):
        ...     new = graph.call_method("abs", old.args)
        >>> node_replace_(old, new)
        >>> output.args
        (abs_1,)
    """
    old_node.replace_all_uses_with(new_node)
    old_node.graph.erase_node(old_node)


def node_inline_(call_mod_node: Node) -> GraphModule | None:
    """Puts the nodes of a submodule in the place of its call.

    Args:
        call_mod_node: the call; what is called is a graph module with one output, or a tuple whose elements are read.

    Returns:
        The module that called it, changed.

    Raises:
        AssertionError: the node calls no graph module.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: (x + 1).neg())
        >>> parts = sequential_split(made, lambda n: n.name == "neg")
        >>> for node in [n for n in parts.graph.nodes if n.op == "call_module"]:
        ...     _ = node_inline_(node)
        >>> [n.name for n in parts.graph.nodes]
        ['x', 'add', 'neg', 'output']
    """
    graph = call_mod_node.graph
    owner: Any = graph.owning_module
    part = owner.get_submodule(str(call_mod_node.target)) if call_mod_node.op == "call_module" else None
    if not isinstance(part, GraphModule):
        raise AssertionError(f"node_inline_(): {call_mod_node} calls no graph module")
    result = _copy_part(call_mod_node, part)
    if isinstance(result, (tuple, list)):
        _read_from(call_mod_node, result)
    elif isinstance(result, Node):
        call_mod_node.replace_all_uses_with(result)
    graph.erase_node(call_mod_node)
    owner.delete_all_unused_submodules()
    owner.recompile()
    return owner


def _copy_part(call: Node, part: GraphModule) -> Any:
    """Copies the nodes of a part before its call; what the part returns, by those nodes."""
    graph = call.graph
    inputs = part.graph.find_nodes(op="placeholder")
    values: dict[Node, Any] = dict(zip(inputs, call.args, strict=True))
    result: Any = None
    for node in part.graph.nodes:
        if node.op == "output":
            result = map_arg(node.args[0], values.__getitem__)
        elif node.op != "placeholder":
            with graph.inserting_before(call):
                values[node] = graph.node_copy(node, values.__getitem__)
            if node.op in ("get_attr", "call_module"):
                values[node].target = f"{call.target}.{node.target}"
    return result


def _read_from(call: Node, results: Any) -> None:
    """Gives those who read elements of a call's result the elements."""
    for user in list(call.users):
        if user.target is not operator.getitem:
            raise AssertionError(f"node_inline_(): {user} takes the results of {call} together")
        user.replace_all_uses_with(results[user.args[1]])
        call.graph.erase_node(user)
