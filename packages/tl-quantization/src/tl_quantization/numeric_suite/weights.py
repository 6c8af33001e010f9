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

__all__ = ["extract_weight_from_node", "get_op_to_type_to_weight_extraction_fn"]

Extractors = dict[str, dict[Callable[..., Any], Callable[..., Any]]]


def _own(module: Any) -> Tensor:
    return module.weight.detach()


def _of_first(module: Any) -> Tensor:
    return module[0].weight.detach()


def _integers(module: Any) -> Tensor:
    return module.weight()


def _lstm(module: Any) -> list[Tensor]:
    names = module._flat_weights_names
    return [
        value.detach()
        for name, value in zip(names, module._flat_weights, strict=True)
        if name.startswith(("weight_ih_l", "weight_hh_l"))
    ]


def _integer_lstm(module: Any) -> list[Tensor]:
    cells = [f"l{layer}{suffix}" for layer, suffix in module._cells()]
    return [getattr(module, f"weight_{part}_{cell}") for cell in cells for part in ("ih", "hh")]


def _conv_function(node: Node, gm: GraphModule) -> Tensor:
    source = return_first_non_observer_node(node.args[1], gm)
    return _attribute(source, gm).detach()


def _attribute(node: Any, gm: GraphModule) -> Any:
    if not isinstance(node, Node) or node.op != "get_attr":
        raise AssertionError(f"the weight must be read from an attribute, but got {node!r}")
    return read_attribute(gm, node)


def _linear_function(node: Node, gm: GraphModule) -> Tensor:
    source: Any = node.args[1]
    if source.op == "call_method":  # to(float16), then dequantize
        half = source.args[0]
        return _attribute(half.args[0], gm).detach().to(half.args[1])
    return _attribute(return_first_non_observer_node(source, gm), gm).detach()


def _packed(node: Node, gm: GraphModule) -> Tensor:
    return _attribute(node.args[1], gm).weight()


def get_op_to_type_to_weight_extraction_fn() -> Extractors:
    """The functions that return the weight, by the kind of a node and by the class or function that it calls.

    Example:
        >>> import tl_nn as nn
        >>> tuple(get_op_to_type_to_weight_extraction_fn()["call_module"][nn.Linear](nn.Linear(3, 2)).shape)
        (2, 3)
    """
    modules: dict[Callable[..., Any], Callable[..., Any]] = {
        nn.Linear: _own,
        nn.modules.linear.NonDynamicallyQuantizableLinear: _own,
        nnqat.Linear: _own,
        nniqat.LinearReLU: _own,
        nniqat.LinearBn1d: _own,
        nni.LinearReLU: _of_first,
        nnq.Linear: _integers,
        nnqd.Linear: _integers,
        nniq.LinearReLU: _integers,
        nn.LSTM: _lstm,
        nnqd.LSTM: _integer_lstm,
    }
    for axes in "123":
        modules.update(
            {
                getattr(nn, f"Conv{axes}d"): _own,
                getattr(nnqat, f"Conv{axes}d"): _own,
                getattr(nniqat, f"ConvBn{axes}d"): _own,
                getattr(nniqat, f"ConvBnReLU{axes}d"): _own,
                getattr(nniqat, f"ConvReLU{axes}d"): _own,
                getattr(nni, f"ConvReLU{axes}d"): _of_first,
                getattr(nnq, f"Conv{axes}d"): _integers,
                getattr(nniq, f"ConvReLU{axes}d"): _integers,
            }
        )
    ops = packets.quantized
    functions: dict[Callable[..., Any], Callable[..., Any]] = {
        F.linear: _linear_function,
        ops.linear: _packed,
        ops.linear_relu: _packed,
    }
    conv: Any
    for axes, conv in zip("123", (F.conv1d, F.conv2d, F.conv3d), strict=True):
        functions[conv] = _conv_function
        functions[getattr(ops, f"conv{axes}d")] = functions[getattr(ops, f"conv{axes}d_relu")] = _packed
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
    kind = get_target_type_str(node, gm)
    return {
        "type": NSSingleResultValuesType.WEIGHT.value,
        "values": [weight],
        "prev_node_name": node.name,
        "prev_node_target_type": kind,
        "ref_node_name": node.name,
        "ref_node_target_type": kind,
        "index_within_arg": 0,
        "index_of_arg": 0,
        "fqn": scoped_name(node, gm),
    }
