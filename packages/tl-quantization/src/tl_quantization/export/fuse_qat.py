"""Convolution and batch normalization of training, with the weight scaled as it will be after folding.

The weight is rounded after it is multiplied by the scale of the running statistics. The result is divided by the same
scale, so that batch normalization sees the result of the plain convolution.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tl_compiler.fx import GraphModule, Node
from tl_core.operators import packets

from ..quantizer.quantizer import DerivedQuantizationSpec, SharedQuantizationSpec
from .graph_facts import annotation_of, argument, as_batch_norm, as_conv, as_conv_transpose

__all__ = ["fuse_conv_bn_qat"]

aten = packets.aten


def fuse_conv_bn_qat(model: GraphModule) -> None:
    """Scales weights in front of batch normalization, in place. Annotations follow.

    Args:
        model: an exported model with annotations.
    """
    edges: dict[Any, Any] = {}
    for norm in list(model.graph.nodes):
        conv = norm.args[0] if as_batch_norm(norm) else None
        if not (as_conv(conv) or as_conv_transpose(conv)) or len(conv.users) != 1:  # type: ignore[union-attr]  # a node
            continue
        if argument(norm, 1, "weight") is not None:
            edges |= _fuse(model, conv, norm)  # type: ignore[arg-type]  # a node
    if not edges:
        return
    for node in model.graph.nodes:
        _follow(node, edges)
    model.graph.eliminate_dead_code()
    model.recompile()


def _fuse(model: GraphModule, conv: Node, norm: Node) -> dict[Any, Any]:
    """Fuses one pair, and returns the new edge for each former one."""
    graph, weight, bias = model.graph, conv.args[1], argument(conv, 2, "bias")
    axes = len(weight.meta["val"].shape)
    of_weight, of_result = [1] * axes, [1] * axes
    of_weight[1 if as_conv_transpose(conv) else 0] = of_result[1] = -1
    stack = conv.meta.get("nn_module_stack")

    def call(target: Any, *args: Any) -> Node:
        node = graph.call_function(target, args)
        if stack is not None:
            node.meta["nn_module_stack"] = stack
        return node

    with graph.inserting_before(conv):
        variance = call(aten.add.Tensor, argument(norm, 4, "running_var"), argument(norm, 7, "eps", 1e-5))
        scale = call(aten.div.Tensor, argument(norm, 1, "weight"), call(aten.sqrt.default, variance))
        product = call(aten.mul.Tensor, weight, call(aten.reshape.default, scale, of_weight))
        zeros = None if bias is None else call(aten.zeros_like.default, bias)
    product.meta["val"] = weight.meta["val"]
    conv.kwargs = {key: arg for key, arg in conv.kwargs.items() if key != "bias"}
    conv.args = (conv.args[0], product, zeros, *conv.args[3:])
    with graph.inserting_before(norm):
        result = call(aten.div.Tensor, conv, call(aten.reshape.default, scale, of_result))
        if bias is not None:
            zeros.meta["val"] = bias.meta["val"]  # type: ignore[union-attr]  # a node
            result = call(aten.add.Tensor, result, call(aten.reshape.default, bias, of_result))
    norm.replace_input_with(conv, result)
    return {(weight, conv): (product, conv), (bias, conv): (zeros, conv)}


def _follow(node: Node, edges: dict[Any, Any]) -> None:
    """Lets an annotation name the new arguments."""
    annotation = annotation_of(node)
    if annotation is None:
        return
    annotation.input_qspec_map = {
        edges.get((source, node), (source, node))[0]: _spec(spec, edges)
        for source, spec in annotation.input_qspec_map.items()
    }
    annotation.output_qspec = _spec(annotation.output_qspec, edges)


def _spec(spec: Any, edges: dict[Any, Any]) -> Any:
    if isinstance(spec, SharedQuantizationSpec):
        return SharedQuantizationSpec(edges.get(spec.edge_or_node, spec.edge_or_node))
    if isinstance(spec, DerivedQuantizationSpec):
        return replace(spec, derived_from=[edges.get(value, value) for value in spec.derived_from])
    return spec
