"""The fusion of batch normalization with running statistics into the convolution before it."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_nn as nn
from tl_compiler.fx import GraphModule, Node
from tl_nn.utils.fusion import fuse_conv_bn_weights

from .constant_fold import drop_unread
from .graph_facts import argument, as_batch_norm, as_conv, as_conv_transpose, attribute, set_attribute

__all__ = ["fold_parameters", "fuse_conv_bn"]


def fuse_conv_bn(model: GraphModule) -> None:
    """Folds batch normalization behind convolutions into their weights, in place.

    Args:
        model: an exported model.
    """
    has_changed = False
    for node in list(model.graph.nodes):
        if not as_batch_norm(node):
            continue
        conv = node.args[0]
        if not (as_conv(conv) or as_conv_transpose(conv)) or len(conv.users) != 1:
            continue
        if attribute(model, conv.args[1]) is None:
            continue
        weight, bias = fold_parameters(model, conv, conv.args[1], argument(conv, 2, "bias"), node)
        conv.kwargs = {key: arg for key, arg in conv.kwargs.items() if key != "bias"}
        conv.args = (conv.args[0], weight, bias, *conv.args[3:])
        node.replace_all_uses_with(conv)
        model.graph.erase_node(node)
        has_changed = True
    if has_changed:
        model.graph.eliminate_dead_code()
        drop_unread(model)
        model.recompile()


def fold_parameters(model: GraphModule, conv: Node, weight: Node, bias: Any, norm: Node) -> tuple[Node, Node]:
    """The weight and bias of a convolution with the batch normalization behind it, as nodes that read them.

    Args:
        model: the model, which gets the new tensors.
        conv: the convolution.
        weight: the node that reads its weight.
        bias: the node that reads its bias, or None.
        norm: the batch normalization.
    """
    scale, shift, mean, variance = (attribute(model, argument(norm, i, _NORM[i])) for i in (1, 2, 3, 4))
    before = attribute(model, weight)
    with tl_core.no_grad():
        weights, shifts = fuse_conv_bn_weights(
            before, attribute(model, bias), mean, variance, argument(norm, 7, "eps", 1e-5), scale, shift,
            as_conv_transpose(conv),
        )  # fmt: skip
    name = _own_name(model, weight)
    is_own = bias is not None and _has_one_reader(model, bias)
    bias_name = str(bias.target) if is_own else f"{name}_bias"
    set_attribute(model, name, nn.Parameter(weights.detach(), before.requires_grad))
    set_attribute(model, bias_name, nn.Parameter(shifts.detach(), before.requires_grad))
    with model.graph.inserting_after(weight):
        new_weight = weight if name == weight.target else _read(model, name, weight)
        new_bias = bias if is_own else _read(model, bias_name, weight)
    return new_weight, new_bias


_NORM = ("input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps")


def _has_one_reader(model: GraphModule, node: Node) -> bool:
    readers = [other for other in model.graph.nodes if other.op == "get_attr" and other.target == node.target]
    return len(readers) == 1 and len([user for user in node.users if user.op != "output"]) == 1


def _own_name(model: GraphModule, weight: Node) -> str:
    """The name of the folded weight: that of the weight, or a new one if other calls read the weight."""
    if _has_one_reader(model, weight):
        return str(weight.target)
    number, prefix = 0, str(weight.target).replace(".", "_")
    while hasattr(model, f"{prefix}_folded{number}"):
        number += 1
    return f"{prefix}_folded{number}"


def _read(model: GraphModule, name: str, like: Node) -> Node:
    node = model.graph.create_node("get_attr", name)
    for key in ("nn_module_stack", "stack_trace"):
        if key in like.meta:
            node.meta[key] = like.meta[key]
    return node
