"""A pass that gives each user of a dequantized value a dequantize of its own, so that patterns don't overlap."""

from __future__ import annotations

import operator
from typing import Any

from tl_compiler.fx import GraphModule, Node, map_arg
from tl_compiler.fx.passes.infra.pass_base import PassBase, PassResult
from tl_core.operators import packets

from .graph_facts import dequantize_ops, has_annotation, is_call, quantize_ops, tensor_users

__all__ = ["DuplicateDQPass"]


class DuplicateDQPass(PassBase):
    """Copies a dequantize for each annotated user of it. A dequantize with a scale of each call stays alone."""

    def call(self, graph_module: GraphModule) -> PassResult:
        """Applies the pass.

        Args:
            graph_module: the model, which changes.
        """
        for node in list(graph_module.graph.nodes):
            if not is_call(node, dequantize_ops()) or _is_dynamic(node):
                continue
            users = tensor_users(node)
            for user in users if len(users) > 1 else ():
                if has_annotation(user):
                    _copy_for(graph_module, node, user)
        graph_module.graph.eliminate_dead_code()
        graph_module.recompile()
        return PassResult(graph_module, True)


def _is_dynamic(node: Node) -> bool:
    """Whether a dequantize has the scale of `choose_qparams`."""
    quantize: Any = node.args[0]
    if not is_call(quantize, quantize_ops()):
        return False
    scale = quantize.args[1]
    ops = packets.quantized_decomposed
    return is_call(scale, (operator.getitem,)) and is_call(
        scale.args[0], (ops.choose_qparams.tensor, ops.choose_qparams_symmetric.tensor)
    )


def _copy_for(model: GraphModule, node: Node, user: Node) -> None:
    with model.graph.inserting_after(node):
        own = model.graph.node_copy(node)

    def exchange(arg: Node) -> Node:
        return own if arg is node else arg

    user.args = map_arg(user.args, exchange)
    user.kwargs = map_arg(user.kwargs, exchange)
