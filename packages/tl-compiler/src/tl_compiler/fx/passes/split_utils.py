"""Splitting a graph by tags of its nodes."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from .tools_common import NodeList, NodeSet, is_node_output_tensor

__all__ = [
    "Component",
    "getattr_recursive",
    "move_non_tensor_nodes_on_boundary",
    "setattr_recursive",
    "split_by_tags",
]


def getattr_recursive(obj: Any, name: str) -> Any:
    """An attribute by its dotted path.

    Args:
        obj: where the path begins.
        name: the path.

    Returns:
        The value, or None if there is none.

    Example:
        >>> import tl_nn
        >>> getattr_recursive(tl_nn.Sequential(tl_nn.Linear(3, 2)), "0.weight").shape
        torch.Size([2, 3])
    """
    for part in name.split("."):
        if not hasattr(obj, part):
            return None
        obj = getattr(obj, part)
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Sets an attribute by its dotted path.

    Args:
        obj: where the path begins.
        attr: the path.
        value: the value.

    Example:
        >>> import tl_nn
        >>> model = tl_nn.Sequential(tl_nn.ReLU())
        >>> setattr_recursive(model, "0.inplace", True)
        >>> model[0].inplace
        True
    """
    *path, last = attr.split(".")
    for part in path:
        obj = getattr(obj, part)
    setattr(obj, last, value)


@dataclass
class Component:
    """A part of a graph that becomes a submodule.

    Args:
        graph: its graph.
        order: its place among the parts.
        name: the name of the submodule.
        input_placeholders: its inputs.
        orig_inputs: the nodes of the whole graph that they stand for.
        orig_outputs: the nodes of the whole graph that it gives.
        getattr_maps: its attributes, by node of the whole graph.
        constructor_args: what the module is made with.
        gm: the module, once it is made.

    Example:
        >>> from tl_compiler.fx import Graph
        >>> Component(Graph(), 0, "first").name
        'first'
    """

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None


def split_by_tags(
    gm: GraphModule,
    tags: list[str],
    return_fqn_mapping: bool = False,
    return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> Any:
    """Makes submodules of the nodes that have the same tag, called in the order of the tags.

    Args:
        gm: the module; each of its nodes that computes something has an attribute `tag`.
        tags: the tags in the order in which the parts run.
        return_fqn_mapping: whether the new paths of attributes are returned too.
        return_tuple: whether parts return a tuple even of one value.
        GraphModuleCls: the class of the results.

    Returns:
        The module that calls the parts; with `return_fqn_mapping` a pair with the new path of each attribute.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: (x + 1).neg())
        >>> for node, tag in zip(list(made.graph.nodes)[1:3], ["first", "second"]):
        ...     node.tag = tag
        >>> parts = split_by_tags(made, ["first", "second"])
        >>> [name for name, _ in parts.named_children()]
        ['first', 'second']
    """
    order = {tag: i for i, tag in enumerate(tags)}
    parts = [Component(Graph(), i, tag) for i, tag in enumerate(tags)]
    main = Graph()
    part_of: dict[Node, Component] = {}
    in_main: dict[Node, Node] = {}
    in_part: dict[Node, Node] = {}
    paths: dict[str, str] = {}
    results: list[Node] = []
    for node in gm.graph.nodes:
        if node.op == "output":
            results = node.all_input_nodes
            continue
        if node.op == "placeholder":
            in_main[node] = main.node_copy(node)
            continue
        if node.op == "get_attr":
            continue  # copied where it is used
        tag = getattr(node, "tag", None)
        if tag not in order:
            raise AssertionError(f"Node {node}: the tag {tag!r} is none of {tags}")
        part = part_of[node] = parts[order[tag]]
        _check_order(node, part, part_of)
        if node.op == "call_module":
            paths[str(node.target)] = f"{part.name}.{node.target}"
        in_part[node] = part.graph.node_copy(
            node,
            lambda n, part=part: _input_of(n, part, part_of, in_part, paths),  # type: ignore[misc]
        )
        in_part[node].meta = node.meta.copy()
    for node in results:
        if node in part_of and node not in part_of[node].orig_outputs:
            part_of[node].orig_outputs.append(node)
    _call_parts(gm, main, parts, part_of, in_main, in_part, return_tuple, GraphModuleCls)
    for output in gm.graph.find_nodes(op="output"):
        for node in output.all_input_nodes:
            if node.op == "get_attr" and node not in in_main:
                in_main[node] = main.node_copy(node)
        main.output(map_arg(output.args[0], lambda n: in_main[n])).meta = output.meta.copy()
    root = {part.name: part.gm for part in parts if part.gm is not None}
    for node in main.nodes:
        if node.op == "get_attr":
            root[str(node.target)] = getattr_recursive(gm, str(node.target))
    module = GraphModuleCls(root, main)
    return (module, paths) if return_fqn_mapping else module


def _check_order(node: Node, part: Component, part_of: dict[Node, Component]) -> None:
    for used in node.all_input_nodes:
        if used in part_of and part_of[used].order > part.order:
            raise AssertionError(
                f"Component order must be by order: {node} in {part.name} uses {used} in {part_of[used].name}"
            )


def _input_of(
    node: Node,
    part: Component,
    part_of: dict[Node, Component],
    in_part: dict[Node, Node],
    paths: dict[str, str],
) -> Node:
    """A node that a part uses: its own, an attribute, or an input that it gets."""
    if node.op == "get_attr":
        if node not in part.getattr_maps:
            part.getattr_maps[node] = part.graph.get_attr(str(node.target), node.type)
            part.getattr_maps[node].meta = node.meta.copy()
            paths[str(node.target)] = f"{part.name}.{node.target}"
        return part.getattr_maps[node]
    if part_of.get(node) is part:
        return in_part[node]
    if node not in part.orig_inputs:
        part.orig_inputs.append(node)
        placeholder = part.graph.placeholder(node.name, type_expr=node.type)
        placeholder.meta = copy.copy(node.meta)
        part.input_placeholders.append(placeholder)
        if node in part_of and node not in part_of[node].orig_outputs:
            part_of[node].orig_outputs.append(node)
    return part.input_placeholders[part.orig_inputs.index(node)]


def _call_parts(
    gm: GraphModule,
    main: Graph,
    parts: list[Component],
    part_of: dict[Node, Component],
    in_main: dict[Node, Node],
    in_part: dict[Node, Node],
    return_tuple: bool,
    kind: type[GraphModule],
) -> None:
    import operator

    for part in parts:
        if not part.orig_outputs and not any(owner is part for owner in part_of.values()):
            continue
        outputs = tuple(in_part[n] for n in part.orig_outputs)
        single = len(outputs) == 1 and not return_tuple
        part.graph.output(outputs[0] if single else outputs)
        part.gm = kind(gm, part.graph, part.name)
        call = main.call_module(part.name, tuple(in_main[n] for n in part.orig_inputs))
        if single:
            in_main[part.orig_outputs[0]] = call
            call.meta = part.orig_outputs[0].meta.copy()
            continue
        for i, node in enumerate(part.orig_outputs):
            in_main[node] = main.call_function(operator.getitem, (call, i))
            in_main[node].meta = node.meta.copy()


def move_non_tensor_nodes_on_boundary(subgraphs: list[Any]) -> None:
    """Moves nodes that give no tensors to the part that uses them, as far as that is one part.

    Args:
        subgraphs: parts with `nodes`, in the order in which they run; changed in place.
    """
    where: dict[Node, Any] = {node: part for part in subgraphs for node in part.nodes}
    for part in subgraphs:
        pending: NodeList = [node for node in part.nodes if not is_node_output_tensor(node)]
        moved: NodeSet = set()
        while pending:
            node = pending.pop()
            users = {id(where.get(user)): where.get(user) for user in node.users}
            if len(users) != 1 or node in moved:
                continue
            (target,) = users.values()
            if target is None or target is part or target.is_acc == part.is_acc:
                continue
            part.nodes.remove(node)
            target.nodes.insert(0, node)
            where[node] = target
            moved.add(node)
            pending += [
                n for n in node.all_input_nodes if where.get(n) is part and not is_node_output_tensor(n)
            ]
