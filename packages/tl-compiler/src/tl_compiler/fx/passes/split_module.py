"""Splitting a graph by a function of its nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import tl_nn

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """A part of a graph that becomes a submodule.

    Args:
        name: its name.

    Example:
        >>> Partition("encoder").name
        'encoder'
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n "
            f"partitions depended on: {self.dependencies},\n partition dependents: {self.dependents}"
        )


def split_module(
    m: GraphModule,
    root_m: tl_nn.Module,
    split_callback: Callable[[Node], int],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
) -> GraphModule:
    """Makes submodules `submod_0`, `submod_1`, … of the nodes that a function puts together.

    Args:
        m: the module.
        root_m: not used; the module that `m` was traced from.
        split_callback: the number of the part that a node belongs to.
        qualname_map: is filled with the old path of each attribute by the new one.
        keep_original_order: whether parts run in the order in which they begin, where they don't depend on each other.
        keep_original_node_name: whether nodes in parts keep their names.
        keep_original_input_name: whether inputs of parts have the names of what is passed; numbers otherwise.

    Returns:
        A module that calls the parts.

    Raises:
        RuntimeError: parts depend on each other in a circle.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: (x + 1).neg())
        >>> parts = split_module(made, made, lambda node: 0 if node.name == "add" else 1)
        >>> print(parts.code.strip())
        def forward(self, x):
            submod_0 = self.submod_0(x);  x = None
            submod_1 = self.submod_1(submod_0);  submod_0 = None
            return submod_1
    """
    parts, part_of = _assign(m, split_callback)
    for node in m.graph.nodes:
        for used in node.all_input_nodes:
            _note_use(used, part_of.get(node), part_of)
    ordered = _sort_parts(parts, bool(keep_original_order))
    originals = {node.name: node for node in m.graph.nodes}
    for part in ordered:
        for i, name in enumerate(part.inputs):
            label = name if keep_original_input_name else f"arg_{i}"
            placeholder = part.graph.placeholder(label, type_expr=originals[name].type)
            placeholder.meta = originals[name].meta.copy()
            part.environment[originals[name]] = placeholder
    for node in m.graph.nodes:
        if node in part_of:
            _copy_into(part_of[node], node, m, qualname_map, bool(keep_original_node_name))
    return _assemble(m, ordered, originals)


def _assign(
    m: GraphModule, split_callback: Callable[[Node], int]
) -> tuple[dict[str, Partition], dict[Node, Partition]]:
    parts: dict[str, Partition] = {}
    part_of: dict[Node, Partition] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        part = part_of[node] = parts.setdefault(name, Partition(name))
        part.node_names.append(node.name)
    return parts, part_of


def _note_use(used: Node, user: Partition | None, part_of: dict[Node, Partition]) -> None:
    source = part_of.get(used)
    if source is user:
        return
    if source is not None:
        source.outputs.setdefault(used.name)
        if user is not None:
            source.dependents.setdefault(user.name)
            user.dependencies.setdefault(source.name)
    if user is not None:
        user.inputs.setdefault(used.name)


def _sort_parts(parts: dict[str, Partition], keep: bool) -> list[Partition]:
    waiting = {name: len(part.dependencies) for name, part in parts.items()}
    ordered: list[Partition] = []
    ready = [name for name, count in waiting.items() if count == 0]
    while ready:
        name = min(ready, key=list(parts).index) if keep else ready[0]
        ready.remove(name)
        ordered.append(parts[name])
        for user in parts[name].dependents:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    if len(ordered) != len(parts):
        raise RuntimeError("cycle exists between partitions!")
    return ordered


def _copy_into(
    part: Partition, node: Node, m: GraphModule, qualname_map: dict[str, str] | None, keep_name: bool
) -> None:
    args, kwargs = map_arg((node.args, node.kwargs), lambda n: part.environment[n])
    target = node.target
    if node.op == "call_module":
        path = str(node.target)
        owner: Any = m
        for piece in path.split("."):
            if not hasattr(owner, piece):
                raise AttributeError(f"Operator target {path} not found!")
            owner = getattr(owner, piece)
        target = path.replace(".", "_")
        part.targets[target] = owner
        if qualname_map is not None:
            qualname_map[f"{part.submod_name}.{target}"] = path
    copied = part.graph.create_node(
        node.op, target, args, dict(kwargs), node.name if keep_name else None, node.type
    )
    copied.meta = node.meta.copy()
    part.environment[node] = copied


def _assemble(m: GraphModule, ordered: list[Partition], originals: dict[str, Node]) -> GraphModule:
    base = Graph()
    values: dict[str, Node] = {}
    attributes: dict[str, Any] = {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            values[node.name] = base.node_copy(node)
        elif node.op == "get_attr":
            values[node.name] = base.get_attr(str(node.target), node.type)
            values[node.name].meta = node.meta.copy()
            owner: Any = m
            for piece in str(node.target).split("."):
                if not hasattr(owner, piece):
                    raise AttributeError(f"Node target {node.target} not found!")
                owner = getattr(owner, piece)
            attributes[str(node.target)] = owner
    for part in ordered:
        outputs = tuple(part.environment[originals[name]] for name in part.outputs)
        if outputs:
            part.graph.output(outputs[0] if len(outputs) == 1 else outputs)
        else:
            part.graph.output(())
        attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        call = base.call_module(part.submod_name, tuple(values[name] for name in part.inputs))
        if len(part.outputs) == 1:
            values[next(iter(part.outputs))] = call
            continue
        for i, name in enumerate(part.outputs):
            values[name] = base.call_function(operator.getitem, (call, i))
    for node in m.graph.find_nodes(op="output"):
        base.output(map_arg(node.args[0], lambda n: values[n.name])).meta = node.meta.copy()
    base._codegen = m.graph._codegen
    module = GraphModule(attributes, base)
    module.meta.update(getattr(m, "meta", {}))
    return module
