"""The weights of nodes: of layers, functions and their integer forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_nn as nn
from tl_compiler.fx import GraphModule, Node
from tl_core import Tensor
from tl_core.operators import packets
from tl_nn import functional as F

from ..graph.attributes import read_attribute
from ..nn import intrinsic as nni
from ..nn import qat as nnqat
from ..nn import quantized as nnq
from ..nn.intrinsic import qat as nniqat
from ..nn.intrinsic import quantized as nniq
from ..nn.quantized import dynamic as nnqd
from .node_facts import get_target_type_str, return_first_non_observer_node, scoped_name
from .results import NSSingleResultType, NSSingleResultValuesType

__all__ = [
    "extract_weight_from_node",
    "get_conv_fun_weight",
    "get_linear_fun_weight",
    "get_lstm_weight",
    "get_op_to_type_to_weight_extraction_fn",
    "get_qlinear_fun_weight",
    "get_qlstm_weight",
    "mod_0_weight_detach",
    "mod_weight_bias_0",
    "mod_weight_detach",
]

Extractors = dict[str, dict[Callable[..., Any], Callable[..., Any]]]


def mod_weight_detach(module: Any) -> Tensor:
    """The weight of a float layer.

    Args:
        module: the layer.
    """
    return module.weight.detach()


def mod_0_weight_detach(module: Any) -> Tensor:
    """The weight of the first layer of a fused one.

    Args:
        module: the fused layer.
    """
    return module[0].weight.detach()


def mod_weight_bias_0(module: Any) -> Tensor:
    """The weight of an integer layer.

    Args:
        module: the layer.
    """
    return module.weight()


def get_lstm_weight(module: Any) -> list[Tensor]:
    """The weights of an LSTM, cell by cell.

    Args:
        module: the LSTM.
    """
    names = module._flat_weights_names
    return [
        value.detach()
        for name, value in zip(names, module._flat_weights, strict=True)
        if name.startswith(("weight_ih_l", "weight_hh_l"))
    ]


def get_qlstm_weight(module: Any) -> list[Tensor]:
    """The weights of a dynamic LSTM, cell by cell.

    Args:
        module: the LSTM.
    """
    return list(module.get_weight().values())


def get_conv_fun_weight(node: Node, gm: GraphModule) -> Tensor:
    """The weight that a convolution reads.

    Args:
        node: the convolution.
        gm: the graph module.
    """
    source = return_first_non_observer_node(node.args[1], gm)
    return _attribute(source, gm).detach()


def _attribute(node: Any, gm: GraphModule) -> Any:
    if not isinstance(node, Node) or node.op != "get_attr":
        raise AssertionError(f"the weight must be read from an attribute, but got {node!r}")
    return read_attribute(gm, node)


def get_linear_fun_weight(node: Node, gm: GraphModule) -> Tensor:
    """The weight that a linear function reads, in float16 if it is converted.

    Args:
        node: the function.
        gm: the graph module.
    """
    source: Any = node.args[1]
    if source.op == "call_method":  # to(float16), then dequantize
        half = source.args[0]
        return _attribute(half.args[0], gm).detach().to(half.args[1])
    return _attribute(return_first_non_observer_node(source, gm), gm).detach()


def get_qlinear_fun_weight(node: Node, gm: GraphModule) -> Tensor:
    """The weight that an integer function reads, packed.

    Args:
        node: the function.
        gm: the graph module.
    """
    return _attribute(node.args[1], gm).weight()


def get_op_to_type_to_weight_extraction_fn() -> Extractors:
    """The functions that return the weight, by the kind of a node and by the class or function that it calls.

    Example:
        >>> import tl_nn as nn
        >>> tuple(get_op_to_type_to_weight_extraction_fn()["call_module"][nn.Linear](nn.Linear(3, 2)).shape)
        (2, 3)
    """
    modules: dict[Callable[..., Any], Callable[..., Any]] = {
        nn.Linear: mod_weight_detach,
        nn.modules.linear.NonDynamicallyQuantizableLinear: mod_weight_detach,
        nnqat.Linear: mod_weight_detach,
        nniqat.LinearReLU: mod_weight_detach,
        nniqat.LinearBn1d: mod_weight_detach,
        nni.LinearReLU: mod_0_weight_detach,
        nnq.Linear: mod_weight_bias_0,
        nnqd.Linear: mod_weight_bias_0,
        nniq.LinearReLU: mod_weight_bias_0,
        nn.LSTM: get_lstm_weight,
        nnqd.LSTM: get_qlstm_weight,
    }
    for axes in "123":
        modules.update(
            {
                getattr(nn, f"Conv{axes}d"): mod_weight_detach,
                getattr(nnqat, f"Conv{axes}d"): mod_weight_detach,
                getattr(nniqat, f"ConvBn{axes}d"): mod_weight_detach,
                getattr(nniqat, f"ConvBnReLU{axes}d"): mod_weight_detach,
                getattr(nniqat, f"ConvReLU{axes}d"): mod_weight_detach,
                getattr(nni, f"ConvReLU{axes}d"): mod_0_weight_detach,
                getattr(nnq, f"Conv{axes}d"): mod_weight_bias_0,
                getattr(nniq, f"ConvReLU{axes}d"): mod_weight_bias_0,
            }
        )
    ops = packets.quantized
    functions: dict[Callable[..., Any], Callable[..., Any]] = {
        F.linear: get_linear_fun_weight,
        ops.linear: get_qlinear_fun_weight,
        ops.linear_relu: get_qlinear_fun_weight,
    }
    conv: Any
    for axes, conv in zip("123", (F.conv1d, F.conv2d, F.conv3d), strict=True):
        functions[conv] = get_conv_fun_weight
        functions[getattr(ops, f"conv{axes}d")] = functions[getattr(ops, f"conv{axes}d_relu")] = (
            get_qlinear_fun_weight
        )
    return {"call_module": modules, "call_function": functions}


def extract_weight_from_node(
    node: Node, gm: GraphModule, op_to_type_to_weight_extraction_fn: Extractors | None = None
) -> NSSingleResultType | None:
    """The entry with the weight of a node, or None for a node without one.

    Args:
        node: the node.
        gm: the graph module.
        op_to_type_to_weight_extraction_fn: the functions that return weights.
    """
    table = op_to_type_to_weight_extraction_fn
    table = get_op_to_type_to_weight_extraction_fn() if table is None else table
    if node.op == "call_function":
        extract = table["call_function"].get(node.target)  # type: ignore[arg-type]  # a function
        weight = None if extract is None else extract(node, gm)
    elif node.op == "call_module":
        module = gm.get_submodule(str(node.target))
        extract = table["call_module"].get(type(module))
        weight = None if extract is None else extract(module)
    else:
        return None
    if extract is None:
        return None
    return {"type": NSSingleResultValuesType.WEIGHT.value, **weight_entry(node, gm, weight)}


def weight_entry(node: Node, gm: GraphModule, weight: Any) -> dict[str, Any]:
    """A weight with the names of its node, as all entries of weights have them.

    Args:
        node: the node.
        gm: the graph module.
        weight: the weight.
    """
    kind = get_target_type_str(node, gm)
    return {
        "values": [weight],
        "prev_node_name": node.name,
        "prev_node_target_type": kind,
        "ref_node_name": node.name,
        "ref_node_target_type": kind,
        "index_within_arg": 0,
        "index_of_arg": 0,
        "fqn": scoped_name(node, gm),
    }
