"""Batch normalization of a trained model, folded into the convolution that training has rounded with it."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import GraphModule, Node
from tl_core.operators import packets

from .constant_fold import drop_unread
from .fuse_conv_bn import fold_parameters
from .graph_facts import as_batch_norm, as_conv, as_conv_transpose, dequantize_ops, is_call, quantize_ops

__all__ = ["fold_conv_bn_qat"]

aten = packets.aten


def fold_conv_bn_qat(model: GraphModule) -> GraphModule:
    """Undoes `fuse_conv_bn_qat` and folds batch normalization into weights, in place.

    Args:
        model: a model with quantize and dequantize.
    """
    has_changed = False
    for norm in list(model.graph.nodes):
        conv = _conv_of(norm)
        if conv is not None:
            _fold(model, conv, norm)
            has_changed = True
    if not has_changed:
        return model
    for node in list(model.graph.nodes):
        is_count = is_call(node, (aten.add_.Tensor,)) and not node.users
        if is_count and str(getattr(node.args[0], "target", "")).endswith("num_batches_tracked"):
            model.graph.erase_node(node)
    model.graph.eliminate_dead_code()
    drop_unread(model)
    model.recompile()
    return model


def _conv_of(norm: Node) -> Any:
    """The convolution in front of a batch normalization, behind which training divides by the scale; else None."""
    if not as_batch_norm(norm):
        return None
    node: Any = norm.args[0]
    if is_call(node, (aten.add.Tensor,)) and is_call(node.args[1], (aten.reshape.default,)):
        node = node.args[0]
    if not is_call(node, (aten.div.Tensor,)) or not is_call(node.args[1], (aten.reshape.default,)):
        return None
    conv = node.args[0]
    if not (as_conv(conv) or as_conv_transpose(conv)):
        return None
    return conv if is_call(_chain(conv.args[1])[-1], (aten.mul.Tensor,)) else None


def _chain(node: Any) -> list[Any]:
    """A dequantize and its quantize, as far as they are there, and the number in front of them."""
    chain = [node]
    if is_call(node, dequantize_ops()):
        chain.append(node.args[0])
    if is_call(chain[-1], quantize_ops()):
        chain.append(chain[-1].args[0])
    return chain


def _fold(model: GraphModule, conv: Node, norm: Node) -> None:
    product = _chain(conv.args[1])[-1]
    weight = product.args[0]
    zeros = _chain(conv.args[2])[-1] if len(conv.args) > 2 and conv.args[2] is not None else None
    bias = zeros.args[0] if zeros is not None else None
    norm.replace_all_uses_with(conv)
    product.replace_all_uses_with(weight)
    if zeros is not None:
        zeros.replace_all_uses_with(bias)
    _drop_scale(model, norm, [node for node in (product, zeros) if node is not None])
    new_weight, new_bias = fold_parameters(model, conv, weight, bias, norm)
    _exchange(conv, 1, weight, new_weight)
    if bias is None:
        conv.args = (*conv.args[:2], new_bias, *conv.args[3:])
    else:
        _exchange(conv, 2, bias, new_bias)
    model.graph.erase_node(norm)


def _exchange(conv: Node, index: int, former: Node, value: Node) -> None:
    """Replaces a parameter in front of the quantize of an argument."""
    chain = _chain(conv.args[index])
    (chain[-2] if len(chain) > 1 else conv).replace_input_with(former, value)


def _drop_scale(model: GraphModule, norm: Node, pending: list[Node]) -> None:
    """Erases the nodes of the scale, so that each parameter has one reader again."""
    source: Any = norm.args[0]
    norm.args = (norm.args[1], *norm.args[1:])
    pending.append(source)
    former: set[Node] = set()
    while pending:
        node = pending.pop()
        if node.op == "call_function" and not node.users and node not in former:
            pending.extend(node.all_input_nodes)
            model.graph.erase_node(node)
            former.add(node)
