"""Annotations of layers and functions as the kernels of XNNPACK compute them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_compiler.fx import GraphModule, Node
from tl_core.operators import packets

from .configurations import OperatorConfig as OperatorConfig
from .configurations import QuantizationConfig as QuantizationConfig
from .configurations import bias_spec as get_bias_qspec
from .configurations import input_spec as get_input_act_qspec
from .configurations import output_spec as get_output_act_qspec
from .configurations import weight_spec as get_weight_qspec
from .quantizer import QuantizationAnnotation, SharedQuantizationSpec

__all__ = [
    "OP_TO_ANNOTATOR",
    "OperatorConfig",
    "QuantizationConfig",
    "convert_scalars_to_attrs",
    "get_bias_qspec",
    "get_input_act_qspec",
    "get_output_act_qspec",
    "get_weight_qspec",
    "propagate_annotation",
]

aten = packets.aten
_KEY = "quantization_annotation"
_CONVS = (aten.conv1d.default, aten.conv2d.default)
_TRANSPOSED = (aten.conv_transpose1d.default, aten.conv_transpose2d.input)
_RELUS = (aten.relu.default, aten.relu_.default)
_NORMS = (aten.batch_norm.default,)
_ADDS = (aten.add.Tensor, aten.add_.Tensor)
_MULS = (aten.mul.Tensor, aten.mul_.Tensor)
# Larger constants, such as masks of attention, don't fit a scale of 8 bits beside other numbers.
_LARGE = 3.4028235e34

Filter = Callable[[Node], bool] | None
Annotator = Callable[[GraphModule, QuantizationConfig | None, Filter], "list[list[Node]] | None"]


def _is_call(node: Any, targets: Any) -> bool:
    return isinstance(node, Node) and node.op == "call_function" and node.target in targets


def _is_annotated(nodes: Any) -> bool:
    return any(_KEY in node.meta and node.meta[_KEY]._annotated for node in nodes)


def _mark(nodes: Any) -> None:
    for node in nodes:
        node.meta.setdefault(_KEY, QuantizationAnnotation())._annotated = True


def _is_refused(nodes: Any, wanted: Filter) -> bool:
    # Nodes that read weights belong to no module.
    calls = [node for node in nodes if node.op == "call_function"]
    return _is_annotated(nodes) or (wanted is not None and not all(map(wanted, calls)))


def _chains(model: GraphModule, *targets: Any) -> list[list[Node]]:
    """Nodes that take each other's results, the first ones with one user, the last node first."""
    chains = []
    for node in model.graph.nodes:
        chain, current = [], node
        for i, kind in enumerate(reversed(targets)):
            if not _is_call(current, kind) or (i and len(current.users) > 1):
                break
            chain.append(current)
            current = current.args[0]
        else:
            chains.append(chain)
    return chains


def _annotate_layer(chain: list[Node], config: Any, wanted: Filter, annotates_chain: bool = True) -> Any:
    """Annotates a layer with a weight: the arguments at the last node of a chain, the result at the first one."""
    last, layer = chain[0], chain[-1]
    weight, bias = layer.args[1], layer.args[2] if len(layer.args) > 2 else None
    parts = [*(chain if annotates_chain else [layer]), weight]
    specs: dict[Any, Any] = {layer.args[0]: get_input_act_qspec(config), weight: get_weight_qspec(config)}
    if isinstance(bias, Node):
        specs[bias] = get_bias_qspec(config)
        parts.append(bias)
    if _is_refused(parts, wanted):
        return None
    layer.meta[_KEY] = QuantizationAnnotation(input_qspec_map=specs, _annotated=True)
    if last is layer:
        layer.meta[_KEY].output_qspec = get_output_act_qspec(config)
    else:
        last.meta[_KEY] = QuantizationAnnotation(output_qspec=get_output_act_qspec(config), _annotated=True)
    _mark(parts)
    return parts


def _layers(*targets: Any, annotates_chain: bool = True) -> Annotator:
    """The annotator of chains that begin with a layer that has a weight."""

    def annotate(model: GraphModule, config: Any, wanted: Filter = None) -> Any:
        parts_of_matches = [
            _annotate_layer(chain, config, wanted, annotates_chain) for chain in _chains(model, *targets)
        ]
        return [parts for parts in parts_of_matches if parts is not None]

    return annotate


def _is_number(node: Node, model: GraphModule) -> bool:
    """Whether an argument is a floating tensor that isn't a large constant."""
    value = node.meta.get("val")
    if node.op == "get_attr":
        constant: Any = model
        for part in str(node.target).split("."):
            constant = getattr(constant, part)
        is_scalar = isinstance(constant, tl_core.Tensor) and constant.numel() == 1
        if is_scalar and constant.is_floating_point() and abs(float(constant)) > _LARGE:
            return False
    return isinstance(value, tl_core.Tensor) and value.dtype is tl_core.float32


def _pairs(targets: Any, relus: Any = None) -> Annotator:
    """The annotator of functions of two tensors, with a ReLU behind them if one is named."""

    def annotate(model: GraphModule, config: Any, wanted: Filter = None) -> Any:
        parts_of_matches = []
        for chain in _chains(model, targets, relus) if relus else _chains(model, targets):
            last, node = chain[0], chain[-1]
            tensors = [arg for arg in node.args if isinstance(arg, Node)]
            if _is_refused(chain, wanted) or not all(_is_number(arg, model) for arg in tensors):
                continue
            specs: dict[Any, Any] = {arg: get_input_act_qspec(config) for arg in tensors}
            node.meta[_KEY] = QuantizationAnnotation(input_qspec_map=specs, _annotated=True)
            if last is not node:
                last.meta[_KEY] = QuantizationAnnotation(_annotated=True)
            last.meta[_KEY].output_qspec = get_output_act_qspec(config)
            parts_of_matches.append([*chain, *tensors])
        return parts_of_matches

    return annotate


def _annotate_adaptive_avg_pool2d(model: GraphModule, config: Any, wanted: Filter = None) -> Any:
    parts_of_matches = []
    for node in model.graph.nodes:
        if not _is_call(node, (aten.adaptive_avg_pool2d.default,)) or _is_refused([node], wanted):
            continue
        source = node.args[0]
        before = source.meta.get(_KEY)
        is_quantized = before is not None and before._annotated and before.output_qspec is not None
        own: Any = SharedQuantizationSpec(source) if is_quantized else get_input_act_qspec(config)
        node.meta[_KEY] = QuantizationAnnotation(
            input_qspec_map={source: own},
            output_qspec=SharedQuantizationSpec((source, node)),
            _annotated=True,
        )
        parts_of_matches.append([node])
    return parts_of_matches


def _annotate_cat(model: GraphModule, config: Any, wanted: Filter = None) -> Any:
    parts_of_matches = []
    for node in model.graph.nodes:
        if not _is_call(node, (aten.cat.default,)) or _is_refused([node], wanted):
            continue
        sources = list(node.args[0])
        shared = SharedQuantizationSpec((sources[0], node))
        specs: dict[Any, Any] = dict.fromkeys(sources, shared)
        specs[sources[0]] = get_input_act_qspec(config)
        node.meta[_KEY] = QuantizationAnnotation(input_qspec_map=specs, output_qspec=shared, _annotated=True)
        parts_of_matches.append([node])
    return parts_of_matches


def _annotate_gru_io_only(model: GraphModule, config: Any, wanted: Filter = None) -> Any:
    """Annotates the input, the first state and both results of a GRU. Its inside stays in floating numbers."""
    import tl_nn as nn
    from tl_compiler.fx.passes.utils.source_matcher_utils import get_source_partitions

    parts_of_matches = []
    for part in [p for parts in get_source_partitions(model.graph, [nn.GRU], wanted).values() for p in parts]:
        sources, results = part.input_nodes, part.output_nodes
        if _is_annotated([*sources, *results]) or len(sources) < 2:
            continue
        for source in sources[:2]:
            user = next(user for user in source.users if user in part.nodes)
            annotation = user.meta.setdefault(_KEY, QuantizationAnnotation())
            annotation.input_qspec_map[source] = get_input_act_qspec(config)
        for result in results:
            annotation = result.meta.setdefault(_KEY, QuantizationAnnotation())
            annotation.output_qspec = get_output_act_qspec(config)
        _mark(part.nodes)
        parts_of_matches.append(part.nodes)
    return parts_of_matches


#: The annotator of each kind of operators. It takes the model, the configuration and a filter of nodes.
OP_TO_ANNOTATOR: dict[str, Annotator] = {
    "linear": _layers((aten.linear.default,)),
    "linear_relu": _layers((aten.linear.default,), _RELUS),
    "conv": _layers(_CONVS),
    "conv_relu": _layers(_CONVS, _RELUS),
    "conv_transpose_relu": _layers(_TRANSPOSED, _RELUS),
    "conv_bn": _layers(_CONVS, _NORMS, annotates_chain=False),
    "conv_bn_relu": _layers(_CONVS, _NORMS, _RELUS, annotates_chain=False),
    "conv_transpose_bn": _layers(_TRANSPOSED, _NORMS, annotates_chain=False),
    "conv_transpose_bn_relu": _layers(_TRANSPOSED, _NORMS, _RELUS, annotates_chain=False),
    "gru_io_only": _annotate_gru_io_only,
    "adaptive_avg_pool2d": _annotate_adaptive_avg_pool2d,
    "add_relu": _pairs(_ADDS, _RELUS),
    "add": _pairs(_ADDS),
    "mul_relu": _pairs(_MULS, _RELUS),
    "mul": _pairs(_MULS),
    "cat": _annotate_cat,
}

# Operators whose result has the scale of their input.
_KEEPS_SCALE = (
    aten.relu.default, aten.hardtanh.default, aten.hardtanh_.default, aten.max_pool2d.default, aten.mean.default,
    aten.mean.dim, aten.permute.default, aten.permute_copy.default, aten.squeeze.dim, aten.squeeze.default,
    aten.squeeze_copy.dim, aten.adaptive_avg_pool2d.default, aten.view_copy.default, aten.view.default,
    aten.slice_copy.Tensor, aten.flatten.using_ints,
)  # fmt: skip


def propagate_annotation(model: GraphModule) -> None:
    """Lets operators that keep the scale share the observer of an annotated node before them.

    Args:
        model: a model with annotations.
    """
    for node in model.graph.nodes:
        if not _is_call(node, _KEEPS_SCALE) or _is_annotated([node]):
            continue
        source = node.args[0]
        before = source.meta.get(_KEY) if isinstance(source, Node) else None
        if before is None or before.output_qspec is None:
            continue
        shared = SharedQuantizationSpec(source)
        node.meta[_KEY] = QuantizationAnnotation(
            input_qspec_map={source: shared}, output_qspec=shared, _annotated=True
        )


def convert_scalars_to_attrs(model: GraphModule) -> GraphModule:
    """Replaces numbers in sums and products by tensors, so that they can have a specification. In place.

    Args:
        model: the model.
    """
    for node in list(model.graph.nodes):
        if not _is_call(node, (aten.add.Tensor, aten.mul.Tensor)):
            continue
        node.args = tuple(
            arg if isinstance(arg, Node) else _constant(model, node, float(arg)) for arg in node.args
        )
    model.recompile()
    return model


def _constant(model: GraphModule, node: Node, value: float) -> Node:
    number = 0
    while hasattr(model, f"_tensor_constant_{number}"):
        number += 1
    name = f"_tensor_constant_{number}"
    tensor = tl_core.tensor(value)
    model.register_buffer(name, tensor)
    with model.graph.inserting_before(node):
        read = model.graph.create_node("get_attr", name)
    mode = getattr(node.meta.get("val"), "fake_mode", None)
    read.meta["val"] = tensor if mode is None else mode.from_tensor(tensor)
    return read
