"""Observers of columns in a graph, and the scaled inputs and weights that follow from them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import tl_core
import tl_nn as nn
from tl_compiler.fx import GraphModule, Node
from tl_core import Tensor
from tl_nn import functional as F

from ..nn import intrinsic
from ..observer_base import ObserverBase
from .attributes import evaluate
from .equalize import (
    _InputEqualizationObserver,
    _WeightEqualizationObserver,
    calculate_equalization_scale,
    reshape_scale,
)
from .observers import observer_at

__all__ = ["convert_equalization", "insert_equalization_observers", "node_supports_equalization"]

_LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_FUSED = (intrinsic.LinearReLU, intrinsic.ConvReLU1d, intrinsic.ConvReLU2d, intrinsic.ConvReLU3d)
_FUNCTIONS = (F.linear, F.conv1d, F.conv2d, F.conv3d)
#: Classes of a program's own with `weight` and `bias` of a linear layer or convolution.
CUSTOM_MODULE_SUPP_LIST: list[Any] = []


def node_supports_equalization(node: Node, modules: dict[str, Any]) -> bool:
    """Whether a node is a linear layer or a convolution, with or without ReLU.

    Args:
        node: the node.
        modules: the modules by name.
    """
    if node.op == "call_module":
        return type(modules[str(node.target)]) in (*_LAYERS, *_FUSED, *CUSTOM_MODULE_SUPP_LIST)
    return node.op == "call_function" and node.target in _FUNCTIONS


def insert_equalization_observers(
    model: GraphModule, modules: dict[str, Any], node: Node, config: Any, has_quantized_siblings: bool
) -> None:
    """Inserts observers of columns between a layer and the observers of its input and weight.

    Args:
        model: the graph module, which gets them as parts.
        modules: the modules by name, which get them, too.
        node: the call of the layer.
        config: its configuration of equalization.
        has_quantized_siblings: whether another quantized layer has the same input. Then the layer stays as it is, with
            a warning.
    """
    if not node_supports_equalization(node, modules):
        return
    if has_quantized_siblings:
        warnings.warn(
            f"{node.name} isn't equalized: another quantized layer has the same input", stacklevel=2
        )
        return
    makers = {0: config.input_activation}
    if node.op == "call_function":
        makers[1] = config.weight
    if any(observer_at(node.args[i], modules) is None for i in makers):
        warnings.warn(f"{node.name} isn't equalized: its input and weight have no observers", stacklevel=2)
        return
    args = list(node.args)
    for i, make in makers.items():
        source: Any = args[i]
        number = 0
        while hasattr(model, f"{source.name}_equalization_process_{number}"):
            number += 1
        name = f"{source.name}_equalization_process_{number}"
        modules[name] = make()
        setattr(model, name, modules[name])
        with model.graph.inserting_after(source):
            args[i] = model.graph.create_node("call_module", name, (source,), {})
    node.args = tuple(args)


@dataclass
class _Layer:
    """A layer that is equalized: the observer of its input, its call, and the observer of a function's weight."""

    input_call: Node
    columns: _InputEqualizationObserver
    call: Node
    weight_call: Node | None
    scale: Tensor


def convert_equalization(model: GraphModule, modules: dict[str, Any], configs: dict[str, Any]) -> None:
    """Scales inputs and weights of equalized layers and removes the observers of columns.

    Columns of an input are multiplied in the layer before, if that is equalized too, or else by a product. The columns
    of the weight are divided.

    Args:
        model: the graph module, which is changed.
        modules: its modules by name.
        configs: the configuration of equalization by the name of a node.
    """
    layers = []
    for node in list(model.graph.nodes):
        module = modules.get(str(node.target)) if node.op == "call_module" else None
        if isinstance(module, _InputEqualizationObserver):
            layers.append(_layer(model, modules, node, module, configs))
    equalized = {layer.call for layer in layers}
    for layer in layers:
        source: Any = layer.input_call.args[0]
        _remove(model, layer.input_call)
        if layer.weight_call is not None:
            _remove(model, layer.weight_call)
        if len(source.users) > 1:
            warnings.warn(
                f"{layer.call.name} isn't equalized: other nodes use its quantized input", stacklevel=2
            )
            continue
        _scale_input(model, modules, source, layer, equalized)
        _scale_tensor(model, modules, layer.call, "weight", 1 / layer.scale, 1)
        if layer.weight_call is not None:
            observer_at(layer.call.args[1], modules).reset_min_max_vals()
    model.recompile()


def _layer(
    model: Any, modules: Any, node: Node, observer: _InputEqualizationObserver, configs: Any
) -> _Layer:
    call = next(user for user in node.users if node_supports_equalization(user, modules))
    weight_call: Any = None
    if call.op == "call_function":
        weight_call = call.args[1]
        columns = modules[str(weight_call.target)]
    else:
        columns = configs[call.name].weight()
    if not isinstance(columns, _WeightEqualizationObserver):
        raise ValueError(
            f"the weight of {call.name}'s EqualizationQConfig must make a _WeightEqualizationObserver, but got "
            f"{type(columns).__name__}"
        )
    if weight_call is None:
        columns(_inner(modules[str(call.target)]).weight.detach())
    elif not columns.get_weight_col_minmax()[0].numel():
        columns(evaluate(model, weight_call.args[0].args[0]).detach())
    scale = calculate_equalization_scale(observer, columns)
    observer.set_equalization_scale(scale)
    columns.set_equalization_scale(scale)
    return _Layer(node, observer, call, weight_call, scale)


def _inner(module: Any) -> Any:
    """The layer with the weight."""
    return module[0] if type(module) in _FUSED else module


def _remove(model: GraphModule, node: Node) -> None:
    source: Any = node.args[0]
    node.replace_all_uses_with(source)
    model.graph.erase_node(node)


def _scale_input(model: Any, modules: Any, source: Node, layer: _Layer, equalized: set[Node]) -> None:
    """Multiplies the columns of an input: in the layer before, or by a product."""
    observer, value = observer_at(source, modules), source.args[0]
    assert isinstance(value, Node)
    before = _layer_before(value, modules, equalized)
    if isinstance(observer, ObserverBase) and layer.columns.is_scaled():
        low, high = layer.columns.calculate_scaled_minmax()
        observer.min_val, observer.max_val = low, high
    if before is not None:
        _scale_tensor(model, modules, before, "weight", layer.scale, 0)
        _scale_tensor(model, modules, before, "bias", layer.scale, 0)
        return
    number = 0
    while hasattr(model, f"{value.name}_equalization_scale_{number}"):
        number += 1
    name = f"{value.name}_equalization_scale_{number}"
    model.register_buffer(name, layer.columns.equalization_scale)
    with model.graph.inserting_before(source):
        factor = model.graph.create_node("get_attr", name)
        product = model.graph.create_node("call_function", tl_core.mul, (value, factor))
    source.replace_input_with(value, product)


def _layer_before(value: Node, modules: dict[str, Any], equalized: set[Node]) -> Node | None:
    """The equalized layer whose result, perhaps through ReLU, is the value and has no other use."""
    is_relu = value.target in (F.relu, tl_core.relu) if value.op == "call_function" else False
    is_relu = is_relu or (value.op == "call_module" and type(modules[str(value.target)]) is nn.ReLU)
    if len(value.users) > 1:
        return None
    source = value.args[0] if is_relu and value.args else value
    return source if isinstance(source, Node) and source in equalized and len(source.users) == 1 else None


def _scale_tensor(model: Any, modules: Any, call: Node, name: str, scale: Tensor, axis: int) -> None:
    """Multiplies a dimension of a layer's weight or bias."""
    if call.op == "call_module":
        owner, attribute = _inner(modules[str(call.target)]), name
    else:
        node: Any = call.args[1] if name == "weight" else _bias_of(call)
        while isinstance(node, Node) and node.op == "call_module":  # its observers
            node = node.args[0]
        if not isinstance(node, Node) or node.op != "get_attr":
            if node is None:
                return
            raise ValueError(f"the {name} of {call.name} must be an attribute of the model to be equalized")
        parent, _, attribute = str(node.target).rpartition(".")
        owner = model.get_submodule(parent)
    value = getattr(owner, attribute)
    if value is None or (scale.numel() == 1 and bool(scale == 1)):  # without data, the scale is 1
        return
    scaled = value.detach() * reshape_scale(scale, axis, value)
    setattr(owner, attribute, nn.Parameter(scaled) if isinstance(value, nn.Parameter) else scaled)


def _bias_of(call: Node) -> Any:
    return call.args[2] if len(call.args) > 2 else call.kwargs.get("bias")
