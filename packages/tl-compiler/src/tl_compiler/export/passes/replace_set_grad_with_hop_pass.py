"""Regions without derivatives as calls of `wrap_with_set_grad_enabled`, in place of the switches around them."""

from __future__ import annotations

import operator
from typing import Any

import tl_core
from tl_core.dispatch import grad_mode

from ...fx.graph_module import GraphModule
from ...fx.node import Node
from ...higher_order.wrap import wrap_with_set_grad_enabled
from ..graph_parts import node_inline_, sequential_split
from ..naming import name_outputs
from ..node_lists import nodes_filter, nodes_first

__all__ = ["replace_set_grad_with_hop_pass"]


def _is_set_grad_enabled_node(node: Node) -> bool:
    """Whether a node switches the recording of derivatives."""
    return node.op == "call_function" and node.target is grad_mode.switch


def _is_set_grad_enabled_sub_mod(node: Node, omit_if_same_with_ambient: bool = False) -> bool:
    """Whether a node calls a submodule that begins with a switch: to another setting than now, if that is asked."""
    switch = _switch_of(node)
    return switch is not None and not (
        omit_if_same_with_ambient and switch.args[0] == tl_core.is_grad_enabled()
    )


def _switch_of(node: Node) -> Node | None:
    """The switch with which a submodule begins; None without one."""
    part = _part_of(node)
    first = None if part is None else nodes_first(part.graph.nodes, lambda n: n.op != "placeholder")
    return first if first is not None and _is_set_grad_enabled_node(first) else None


def _part_of(node: Node) -> GraphModule | None:
    owner = node.graph.owning_module
    if node.op != "call_module" or owner is None:
        return None
    part = owner.get_submodule(str(node.target))
    return part if isinstance(part, GraphModule) else None


def replace_set_grad_with_hop_pass(gm: GraphModule, graph_signature: Any = None) -> tuple[GraphModule, Any]:
    """Makes submodules of the regions in which derivatives are recorded otherwise than now, and calls those in them.

    Args:
        gm: the module; nodes in its graph switch the recording of derivatives on and off.
        graph_signature: what its inputs and outputs are; the names of its outputs are kept up.

    Returns:
        A module without switches, and the signature.

    Example:
        >>> from tl_compiler.fx import Graph
        >>> graph = Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.call_function(grad_mode.switch, (False,))
        >>> y = graph.call_function(tl_core.ops.aten.neg.default, (x,))
        >>> _ = graph.call_function(grad_mode.switch, (True,))
        >>> _ = graph.output((y,))
        >>> made, _ = replace_set_grad_with_hop_pass(GraphModule({}, graph))
        >>> [n.name for n in made.graph.nodes]
        ['x', 'submod_3', 'neg_default', 'getitem', 'output']
    """
    _in_subgraphs(gm)
    if not any(map(_is_set_grad_enabled_node, gm.graph.nodes)):
        return gm, graph_signature
    result = sequential_split(gm, _is_set_grad_enabled_node)
    for call in nodes_filter(result.graph.nodes, lambda n: _part_of(n) is not None):
        differs = _is_set_grad_enabled_sub_mod(call, omit_if_same_with_ambient=True)
        on = bool(_without_switch(call))
        if differs and nodes_first(_part_of(call).graph.nodes, _computes):  # type: ignore[union-attr]
            _wrap(call, on)
        else:
            node_inline_(call)
    result.graph.lint()
    result.recompile()
    if graph_signature is not None:
        name_outputs(graph_signature, result.graph)
    return result, graph_signature


def _computes(node: Node) -> bool:
    return node.op not in ("placeholder", "output")


def _in_subgraphs(gm: GraphModule) -> None:
    """Does the same in the functions that higher-order operators of a graph take, each in the setting of its call."""
    on = tl_core.is_grad_enabled()
    for node in gm.graph.nodes:
        if _is_set_grad_enabled_node(node):
            on = node.args[0]
        for attribute in nodes_filter(node.all_input_nodes, lambda n: n.op == "get_attr"):
            owner, _, name = str(attribute.target).rpartition(".")
            module: Any = gm.get_submodule(owner)
            if isinstance(getattr(module, name), GraphModule):
                with tl_core.set_grad_enabled(on):
                    setattr(module, name, replace_set_grad_with_hop_pass(getattr(module, name))[0])


def _without_switch(call: Node) -> Any:
    """Removes the switch with which a submodule begins; what it was set to."""
    switch, part = _switch_of(call), _part_of(call)
    if switch is None or part is None:
        return None
    on = switch.args[0]
    part.graph.erase_node(switch)
    part.recompile()
    return on


def _wrap(call: Node, on: bool) -> None:
    """Calls a submodule through the operator, which returns a tuple; one result gives it its name."""
    graph, part = call.graph, _part_of(call)
    output = part.graph.output_node()  # type: ignore[union-attr]
    single = output.args[0] if isinstance(output.args[0], Node) else None
    if single is not None:
        output.args = ((single,),)
        part.recompile()  # type: ignore[union-attr]
    with graph.inserting_before(call):
        args = (on, graph.get_attr(str(call.target)), *call.args)
        name = "wrap_with_set_grad_enabled" if single is None else single.name
        wrapper = graph.create_node("call_function", wrap_with_set_grad_enabled, args, {}, name)
        wrapper.meta = _common_meta(part)  # type: ignore[arg-type]
        item = wrapper if single is None else graph.call_function(operator.getitem, (wrapper, 0))
    if single is not None:
        item.meta = dict(single.meta)
    call.replace_all_uses_with(item)
    graph.erase_node(call)
    for i, user in enumerate(wrapper.users if single is None else ()):
        user.meta = dict(output.args[0][i].meta)


def _common_meta(part: GraphModule) -> dict[str, Any]:
    """What a call says of the nodes in it: the values that they give, and the modules that all of them ran in."""
    results: Any = part.graph.output_node().args[0]
    meta: dict[str, Any] = {"val": tuple(r.meta.get("val") for r in results)}
    stacks = [list(n.meta.get("nn_module_stack", {}).items()) for n in part.graph.nodes if _computes(n)]
    shared = stacks[0]
    for stack in stacks[1:]:
        same = [a == b for a, b in zip(shared, stack, strict=False)]
        shared = shared[: same.index(False) if False in same else len(same)]
    meta["nn_module_stack"] = dict(shared)
    return meta
