"""A pass that copies metadata of nodes to the quantize and dequantize beside them."""

from __future__ import annotations

import logging
import operator
from typing import Any

from tl_compiler.fx import GraphModule, Node
from tl_compiler.fx.passes.infra.pass_base import PassBase, PassResult
from tl_core.operators import packets

from .graph_facts import annotation_of, dequantize_ops, has_annotation, is_call, quantize_ops, tensor_users

__all__ = ["PortNodeMetaForQDQ"]

_LOGGER = logging.getLogger(__name__)
_PORTED = ("stack_trace", "quantization_tag")
# Views of a weight between the attribute and its quantize.
_VIEWS = frozenset(
    {
        packets.aten.permute.default,
        packets.aten.transpose.int,
        packets.aten.t.default,
        packets.aten.view.default,
    }
)


class PortNodeMetaForQDQ(PassBase):
    """Copies stack traces and quantization tags.

    A dequantize in front of an annotated node, and the nodes of a scale of each call, get those of the node. A quantize
    behind a node with a specification of its result gets those of the node, the quantize of a weight those of the
    attribute.
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        """Applies the pass.

        Args:
            graph_module: the model, whose nodes change.

        Raises:
            ValueError: If a scale of each call has other users than one quantize.
        """
        for node in graph_module.graph.nodes:
            annotation: Any = annotation_of(node)
            if not has_annotation(node):
                continue
            for source, spec in annotation.input_qspec_map.items():
                _port_to_input(source, node, spec)
            _port_to_output(node, annotation.output_qspec)
        return PassResult(graph_module, True)


def _copy(target: Node, source: Node) -> None:
    for name in _PORTED:
        if name in source.meta:
            target.meta[name] = source.meta[name]


def _port_to_input(source: Node, node: Node, spec: Any) -> None:
    if spec is None:
        return
    if getattr(spec, "is_dynamic", False):
        _port_to_dynamic(source, node)
        return
    pair = _quantize_pair(source, node)
    if pair is None:
        return
    quantize, dequantize = pair
    _copy(dequantize, node)
    chain, start = [quantize], quantize.args[0]
    while is_call(start, _VIEWS):
        chain.append(start)
        start = start.args[0]
    if isinstance(start, Node) and start.op == "get_attr":
        for part in chain:
            _copy(part, start)


def _port_to_dynamic(source: Node, node: Node) -> None:
    ops = packets.quantized_decomposed
    choices = (ops.choose_qparams.tensor, ops.choose_qparams_symmetric.tensor)
    starts = [
        source,
        *(user for pair in source.users if is_call(pair, quantize_ops()) for user in pair.users),
    ]
    choose = next((user for start in starts for user in start.users if is_call(user, choices)), None)
    if choose is None:
        raise ValueError(f"{node} has no choose_qparams for its argument {source}")
    users = tensor_users(choose)
    if len(users) != 2:
        raise ValueError(f"choose_qparams of {node} must have two users, but has {len(users)}")
    quantize = next(iter(users[0].users))
    behind = tensor_users(quantize)
    if len(behind) != 1:
        raise ValueError(f"{quantize} must have one user, but has {len(behind)}")
    for part in (choose, *users, quantize, behind[0]):
        if part.target is not operator.getitem:
            _copy(part, node)


def _quantize_pair(source: Node, node: Node) -> tuple[Node, Node] | None:
    """The quantize and dequantize between a node and its user, or None."""
    for dequantize in node.all_input_nodes:
        if not is_call(dequantize, dequantize_ops()):
            continue
        quantize: Any = dequantize.args[0]
        if is_call(quantize, quantize_ops()) and _leads_to(quantize.args[0], source):
            return quantize, dequantize
    return None


def _leads_to(node: Any, source: Node) -> bool:
    return node is source or (is_call(node, dequantize_ops()) and _leads_to(node.args[0].args[0], source))


def _port_to_output(node: Node, spec: Any) -> None:
    users = tensor_users(node)
    if spec is None or not users:
        return
    if len(users) != 1:
        _LOGGER.warning("%s should have one user, but has %s", node, users)
    if not is_call(users[0], quantize_ops()):
        _LOGGER.warning("the user of %s should be a quantize, but is %s", node, users[0])
        return
    _copy(users[0], node)
