"""Patterns of operators that the quantizer for x86 annotates, and how values pass integers on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tl_core
import tl_nn as nn
from tl_compiler.fx import GraphModule, Node
from tl_compiler.fx.passes.utils.source_matcher_utils import get_source_partitions
from tl_core.operators import packets
from tl_nn import functional as F

from .configurations import QuantizationConfig, bias_spec, input_spec, output_spec, weight_spec
from .quantizer import QuantizationAnnotation, SharedQuantizationSpec

__all__ = ["X86Annotation", "annotate_with", "share_output_observers"]

aten = packets.aten
#: The entry of `meta` with the annotation of a node.
QUANT_ANNOTATION_KEY = "quantization_annotation"

Filter = Callable[[list[Node]], bool]

#: Operators that take integers and return integers.
INT8_IN_INT8_OUT = frozenset(
    {
        aten.max_pool2d.default,
        aten.cat.default,
        aten.avg_pool2d.default,
        aten.adaptive_avg_pool2d.default,
        aten.flatten.using_ints,
    }
)
#: Operators that the global configuration quantizes.
DEFAULT_OPS = INT8_IN_INT8_OUT | {
    aten.conv1d.default,
    aten.conv2d.default,
    aten.linear.default,
    aten.mul.Tensor,
}
#: Operators that a configuration can quantize.
QUANTIZABLE_OPS = DEFAULT_OPS | {aten.matmul.default}

_CONVS = (aten.conv2d.default,)
_CONVS_OF_UNARY = (aten.conv2d.default, aten.conv1d.default)
_LINEARS = (aten.linear.default,)
_NORMS = (aten.batch_norm.default,)
_ADDS = (aten.add.Tensor, aten.add_.Tensor)


# The sources of functions behind layers. PyTorch knows some of them as modules alone, and annotates no other ones.
_RELU = (nn.ReLU, F.relu, F.relu_)
_CONV_UNARIES = (*_RELU, nn.Hardtanh, F.hardtanh, F.hardtanh_, nn.Hardswish, nn.ReLU6, nn.SiLU)
_LINEAR_UNARIES = (*_RELU, nn.LeakyReLU, nn.Tanh, nn.GELU)


@dataclass
class X86Annotation(QuantizationAnnotation):
    """An annotation that knows whether its node ends a pattern.

    Args:
        _is_output_of_quantized_pattern: whether the node's result may be integers.
    """

    _is_output_of_quantized_pattern: bool = False


def is_annotated(node: Node) -> bool:
    """Whether a configuration has decided on a node.

    Args:
        node: the node.
    """
    value = node.meta.get(QUANT_ANNOTATION_KEY)
    return value is not None and value._annotated


def _is_skipped(nodes: list[Node], is_wanted: Filter | None) -> bool:
    return any(map(is_annotated, nodes)) or is_wanted is None or not is_wanted(nodes)


def _annotate(
    node: Node, specs: dict[Any, Any] | None = None, output: Any = None, ends: bool = False
) -> None:
    node.meta[QUANT_ANNOTATION_KEY] = X86Annotation(
        input_qspec_map=specs or {},
        output_qspec=output,
        _annotated=True,
        _is_output_of_quantized_pattern=ends,
    )


def _leave_float(nodes: list[Node]) -> None:
    for node in nodes:
        _annotate(node)


def _is_call(node: Any, targets: Any) -> bool:
    return isinstance(node, Node) and node.op == "call_function" and node.target in targets


@dataclass
class _Chain:
    """A pattern in a graph.

    Args:
        layer: the node with a weight.
        norm: the batch normalization behind it, or None.
        binary: the sum with another tensor, or None.
        unary: the activation, or None.
    """

    layer: Node
    norm: Node | None = None
    binary: Node | None = None
    unary: Node | None = None

    @property
    def nodes(self) -> list[Node]:
        """The nodes, the last one first."""
        return [node for node in (self.unary, self.binary, self.norm, self.layer) if node is not None]

    @property
    def extra(self) -> Any:
        """The other tensor of the sum."""
        assert self.binary is not None
        own = self.norm or self.layer
        first, second = self.binary.args[:2]
        return second if first is own else first


def _users(node: Node, targets: Any) -> list[Node]:
    return [user for user in node.users if _is_call(user, targets)]


def _results_of(model: GraphModule, sources: Any) -> set[Node]:
    """The nodes with the results of modules of some classes, and of functions."""
    parts = get_source_partitions(model.graph, list(sources))
    return {node for group in parts.values() for part in group for node in part.output_nodes}


def _chains(
    model: GraphModule, layers: Any, norms: Any = None, adds: Any = None, unaries: Any = None
) -> Iterator[_Chain]:
    """The chains of a pattern. A layer before a sum has one user."""
    ends = _results_of(model, unaries) if unaries else set()
    for layer in list(model.graph.nodes):
        if not _is_call(layer, layers):
            continue
        for norm in _users(layer, norms) if norms else (None,):
            own = norm or layer
            if adds and len(own.users) != 1:
                continue
            for binary in _users(own, adds) if adds else (None,):
                if binary is not None and not _is_sum_with_tensor(binary, own):
                    continue
                for unary in [user for user in (binary or own).users if user in ends] if unaries else (None,):
                    yield _Chain(layer, norm, binary, unary)


def _is_sum_with_tensor(binary: Node, own: Node) -> bool:
    first, second = binary.args[:2]
    return isinstance(first, Node) and isinstance(second, Node) and own in (first, second)


def _annotate_layer(layer: Node, config: QuantizationConfig, ends: bool) -> None:
    specs: dict[Any, Any] = {layer.args[0]: input_spec(config), layer.args[1]: weight_spec(config)}
    bias = layer.args[2] if len(layer.args) > 2 else None
    if isinstance(bias, Node):
        specs[bias] = bias_spec(config)
    _annotate(layer, specs, ends=ends)


def _annotate_chain(chain: _Chain, config: QuantizationConfig | None, is_wanted: Filter | None) -> None:
    if _is_skipped(chain.nodes, is_wanted):
        return
    if config is None:
        _leave_float(chain.nodes)
        return
    last = chain.nodes[0]
    _annotate_layer(chain.layer, config, last is chain.layer)
    # Behind batch normalization of training, the result has an observer of its own.
    output = output_spec(config) if chain.norm is not None else None
    for node in chain.nodes[:-1]:
        specs = {}
        if node is chain.binary and chain.layer.target not in _LINEARS:
            specs = {chain.extra: input_spec(config)}
        _annotate(node, specs, output if node is last else None, node is last)


def _annotate_layers(model: GraphModule, config: QuantizationConfig | None, is_wanted: Filter | None) -> None:
    """Annotates convolutions and linear layers, longer patterns first."""
    patterns: list[tuple[Any, ...]] = []
    if config is None or config.is_qat:
        patterns += [
            (_CONVS, _NORMS, _ADDS, _RELU),
            (_CONVS, _NORMS, _ADDS, None),
            (_CONVS, _NORMS, None, _CONV_UNARIES),
            (_CONVS, _NORMS, None, None),
        ]
    patterns += [
        (_CONVS, None, _ADDS, _RELU),
        (_CONVS, None, _ADDS, None),
        (_CONVS, None, None, _CONV_UNARIES),
        (_CONVS_OF_UNARY, None, None, _RELU),
        (_CONVS, None, None, None),
        (_LINEARS, None, _ADDS, _RELU),
        (_LINEARS, None, _ADDS, None),
        (_LINEARS, None, None, _LINEAR_UNARIES),
        (_LINEARS, None, None, None),
    ]
    for pattern in patterns:
        for chain in _chains(model, *pattern):
            _annotate_chain(chain, config, is_wanted)


def _annotate_pair(node: Node, config: QuantizationConfig | None, is_wanted: Filter | None) -> None:
    """Annotates a matrix product, or a product of two tensors of one shape."""
    if _is_skipped([node], is_wanted):
        return
    if config is None:
        _leave_float([node])
        return
    if node.target is aten.mul.Tensor:
        values = [arg.meta.get("val") if isinstance(arg, Node) else None for arg in node.args]
        if not all(isinstance(value, tl_core.Tensor) for value in values):
            return
        if values[0].shape != values[1].shape:  # type: ignore[union-attr]  # of tensors
            return
    _annotate(node, {arg: input_spec(config) for arg in node.args}, ends=True)


def _ends_pattern(node: Node) -> bool:
    value = node.meta.get(QUANT_ANNOTATION_KEY)
    return is_annotated(node) and getattr(value, "_is_output_of_quantized_pattern", False)


def _pass_on(node: Node, config: QuantizationConfig | None, is_wanted: Filter | None) -> None:
    """Annotates an operator that takes integers where a quantized pattern comes before it."""
    if not _is_call(node, INT8_IN_INT8_OUT) or _is_skipped([node], is_wanted):
        return
    if config is None:
        _leave_float([node])
        return
    sources = node.all_input_nodes
    is_flat = node.target is aten.flatten.using_ints and bool(node.users)
    if is_flat and not any(user.target in QUANTIZABLE_OPS for user in node.users):
        return
    checked = sources if node.target is aten.cat.default else sources[:1]
    if not all(map(_ends_pattern, checked)):
        if node.target is aten.max_pool2d.default:
            warnings.warn(
                f"The input of maxpool2d is not quantized, skip annotate maxpool2d with config {config}.",
                stacklevel=2,
            )
        return
    if node.target is not aten.cat.default:
        _annotate(node, {sources[0]: input_spec(config)}, ends=True)
        return
    parts: Any = node.args[0]
    specs: dict[Any, Any] = dict.fromkeys(parts, SharedQuantizationSpec((parts[0], node)))
    specs[parts[0]] = input_spec(config)
    _annotate(node, specs, ends=True)


def annotate_with(model: GraphModule, config: QuantizationConfig | None, is_wanted: Filter | None) -> None:
    """Annotates the nodes of one configuration. None keeps them in floating numbers.

    Args:
        model: the model.
        config: the configuration.
        is_wanted: whether the nodes of a pattern have this configuration.
    """
    _annotate_layers(model, config, is_wanted)
    for target in (aten.matmul.default, aten.mul.Tensor):
        for node in model.graph.nodes:
            if _is_call(node, (target,)):
                _annotate_pair(node, config, is_wanted)
    for node in model.graph.nodes:
        _pass_on(node, config, is_wanted)


def share_output_observers(model: GraphModule) -> None:
    """Lets results of operators on integers share the observer of their input.

    Args:
        model: a model with annotations.
    """
    for node in model.graph.nodes:
        if _is_call(node, INT8_IN_INT8_OUT) and _ends_pattern(node):
            source = node.all_input_nodes[0]
            node.meta[QUANT_ANNOTATION_KEY].output_qspec = SharedQuantizationSpec((source, node))
