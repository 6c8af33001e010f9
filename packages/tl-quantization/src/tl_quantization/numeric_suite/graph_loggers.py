"""Loggers in the graphs of two models, and one graph with both models' layers side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import tl_core
import tl_nn as nn
from tl_compiler.fx import Graph, GraphModule, Node, map_arg

from ..dtypes import quint8
from ..functions import quantize_per_tensor
from ..graph.attributes import read_attribute
from .node_facts import (
    NodeInputOrOutputType,
    get_arg_indices_of_inputs_to_log,
    get_node_first_input_and_output_type,
    get_node_input_qparams,
    get_normalized_nth_input,
    get_number_of_non_param_args,
    get_target_type_str,
    normalized_arguments,
    op_type_supports_shadowing,
    return_first_non_observer_node,
    scoped_name,
)
from .related_operators import get_node_type_to_io_type_map
from .results import NSNodeTargetType, NSSingleResultValuesType, NSSubgraph

__all__ = ["add_loggers_to_model", "create_a_shadows_b"]

_INPUT, _OUTPUT = NSSingleResultValuesType.NODE_INPUT.value, NSSingleResultValuesType.NODE_OUTPUT.value
_FLOAT, _INTEGERS, _HALF = (
    NodeInputOrOutputType.FP32,
    NodeInputOrOutputType.INT8,
    NodeInputOrOutputType.FP16,
)


def free_name(gm: Any, prefix: str) -> str:
    """The prefix with the first number that is no attribute's name yet.

    Args:
        gm: the module.
        prefix: the prefix.
    """
    prefix, number = prefix.replace(".", "_"), 0
    while hasattr(gm, f"{prefix}{number}"):
        number += 1
    return f"{prefix}{number}"


class _Source(NamedTuple):
    """What a logger says about the values that it stores.

    Args:
        model: the name of the model.
        layer: the name of the pair of layers.
        target: the name of the layer's operator.
        scope: the name of the module in whose call the layer was recorded.
    """

    model: str
    layer: str
    target: str
    scope: str | None


class _Writer:
    """The construction of a graph with loggers.

    Args:
        gm: the graph module that gets the loggers.
        logger_cls: their class.
    """

    def __init__(self, gm: GraphModule, logger_cls: Callable[..., Any]) -> None:
        self.gm, self.logger_cls, self.graph = gm, logger_cls, Graph()
        self.values: dict[str, Any] = {}

    def value(self, arg: Any) -> Any:
        """An argument with the new nodes in place of the old ones.

        Args:
            arg: the argument.
        """
        return map_arg(arg, lambda node: self.values[node.name])

    def copy_node(self, node: Node) -> Node:
        """Adds a node to the new graph.

        Args:
            node: the old node.
        """
        self.values[node.name] = copied = self.graph.node_copy(node, self.value)
        return copied

    def log(
        self, node: Node, suffix: str, ref: str, source: _Source, kind: str, within: int = 0, index: int = 0
    ) -> Node:
        """Adds a logger behind a node.

        Args:
            node: the node, of the new graph.
            suffix: the end of the logger's name.
            ref: the name of the node whose input or result is stored.
            source: what the logger says.
            kind: input or result.
            within: the position within an argument that is a list.
            index: the position of the argument.
        """
        name = free_name(self.gm, node.name + suffix)
        target = get_target_type_str(node, self.gm)
        logger = self.logger_cls(
            ref,
            node.name,
            source.model,
            source.layer,
            target,
            source.target,
            kind,
            within,
            index,
            source.scope,
        )
        setattr(self.gm, name, logger)
        return self.graph.create_node("call_module", name, (node,), {})


def add_loggers_to_model(
    gm: GraphModule,
    node_to_instrument_inputs_to_ref_node_name: dict[Node, tuple[str, str]],
    node_to_instrument_outputs_to_ref_node_name: dict[Node, tuple[str, str]],
    logger_cls: Callable[..., Any],
    model_name: str,
) -> GraphModule:
    """A model with loggers in front of some nodes and behind some nodes.

    Args:
        gm: the model, which gets the loggers as modules.
        node_to_instrument_inputs_to_ref_node_name: for each node whose inputs are stored, the name of its pair of
            layers and that of its operator.
        node_to_instrument_outputs_to_ref_node_name: the same for results.
        logger_cls: the class of the loggers.
        model_name: the name of the model.
    """
    inputs, outputs = node_to_instrument_inputs_to_ref_node_name, node_to_instrument_outputs_to_ref_node_name
    writer = _Writer(gm, logger_cls)
    for node in gm.graph.nodes:
        if node.op == "output":
            writer.graph.output(writer.value(get_normalized_nth_input(node, gm, 0)))
            continue
        if node in inputs:
            source = _Source(model_name, *inputs[node], scoped_name(node, gm))
            for index in get_arg_indices_of_inputs_to_log(node):
                _log_argument(writer, node, index, source)
        writer.copy_node(node)
        if node in outputs:
            source = _Source(model_name, *outputs[node], scoped_name(node, gm))
            behind = writer.log(writer.values[node.name], "_ns_logger_", node.name, source, _OUTPUT)
            writer.values[node.name] = behind
    return GraphModule(gm, writer.graph)


def _log_argument(writer: _Writer, node: Node, index: int, source: _Source) -> None:
    argument = get_normalized_nth_input(node, writer.gm, index)
    several = argument if isinstance(argument, (list, tuple)) else [argument]
    for within, each in enumerate(several):
        if isinstance(each, Node):
            value = writer.values[each.name]
            writer.values[each.name] = writer.log(
                value, "_ns_logger_", node.name, source, _INPUT, within, index
            )


# ---- two models in one graph -----------------------------------------------------------------------------------------


class _Pair(NamedTuple):
    """A pair of layers, and what the loggers of both say."""

    layer: NSSubgraph
    source_a: _Source
    source_b: _Source


class _Shadows:
    """The construction of a graph with the layers of model A beside those of model B.

    Args:
        gm_a: model A.
        writer: the construction of the graph of model B.
        types: the operators by their numbers.
        log_inputs: whether inputs are stored.
    """

    def __init__(
        self, gm_a: GraphModule, writer: _Writer, types: dict[str, set[NSNodeTargetType]], log_inputs: bool
    ) -> None:
        self.gm_a, self.gm_b, self.writer, self.types, self.log_inputs = (
            gm_a, writer.gm, writer, types, log_inputs,
        )  # fmt: skip

    def numbers(self, node: Node, gm: GraphModule) -> tuple[Any, Any]:
        """The numbers that a node takes and returns.

        Args:
            node: the node.
            gm: its graph module.
        """
        return get_node_first_input_and_output_type(node, gm, self.writer.logger_cls, self.types)

    def obstacle(self, layer: NSSubgraph, node_b: Node) -> str | None:
        """Why a layer of A can't run beside a node of B, or None.

        Args:
            layer: the layer.
            node_b: the node.
        """
        start = layer.start_node
        if not (op_type_supports_shadowing(start) and op_type_supports_shadowing(node_b)):
            return "unsupported"
        of_a, of_b = self.numbers(start, self.gm_a), self.numbers(node_b, self.gm_b)
        if NodeInputOrOutputType.UNKNOWN in (*of_a, *of_b):
            return "unknown dtype cast"
        if (of_a[0], of_b[0]) == (_INTEGERS, _FLOAT) and not get_node_input_qparams(
            start, self.gm_a, self.types
        ):
            return "unknown input qparams"
        return None if self._can_copy(layer) else "unhandled logic in subgraph copy"

    def nodes_of(self, layer: NSSubgraph) -> list[Node]:
        """The nodes of a layer of A, in their order.

        Args:
            layer: the layer.
        """
        nodes = [layer.end_node]
        while nodes[-1] is not layer.start_node:
            nodes.append(get_normalized_nth_input(nodes[-1], self.gm_a, 0))
        return nodes[::-1]

    def _can_copy(self, layer: NSSubgraph) -> bool:
        for node in self.nodes_of(layer):
            count = get_number_of_non_param_args(node, self.gm_a) if node is layer.start_node else 1
            args, kwargs = normalized_arguments(node, self.gm_a)
            if not all(self._is_parameter(arg) for arg in [*args, *kwargs.values()][count:]):
                return False
        return True

    def _is_parameter(self, arg: Any) -> bool:
        if isinstance(arg, (list, tuple)):
            return not any(isinstance(each, Node) for each in arg)
        if not isinstance(arg, Node):
            return True
        node = return_first_non_observer_node(arg, self.gm_a)
        return node.op == "get_attr" or (node.op == "call_method" and node.target in ("dequantize", "to"))

    # -- conversions
    def cast(self, node_a: Node, node_b: Node, values: Any, prefix: str) -> Any:
        """The input of a layer of B as the layer of A takes it: a node, or a list of nodes.

        Args:
            node_a: the first node of the layer of A.
            node_b: the first node of the layer of B.
            values: the input.
            prefix: the beginning of new names.
        """
        of_a, of_b = self.numbers(node_a, self.gm_a)[0], self.numbers(node_b, self.gm_b)[0]
        make = self._cast_to(node_a, of_a, of_b)
        return (
            [make(each, prefix) for each in values]
            if isinstance(values, (list, tuple))
            else make(values, prefix)
        )

    def _cast_to(self, node_a: Node, of_a: Any, of_b: Any) -> Callable[[Node, str], Node]:
        graph, gm = self.writer.graph, self.gm_b
        if of_a is of_b:

            def keep(value: Node, prefix: str) -> Node:
                name = free_name(gm, prefix)
                setattr(gm, name, nn.Identity())
                return graph.create_node("call_module", name, (value,), {}, name)

            return keep
        if of_a is _FLOAT:
            return lambda value, prefix: graph.create_node(
                "call_method", "dequantize", (value,), {}, free_name(gm, prefix)
            )
        if (of_a, of_b) == (_HALF, _FLOAT):
            return lambda value, prefix: graph.create_node(
                "call_method", "to", (value, tl_core.float16), {}, free_name(gm, prefix)
            )
        if (of_a, of_b) == (_INTEGERS, _FLOAT):
            return self._quantize(node_a)
        raise AssertionError(f"there is no conversion from {of_b} to {of_a} for {node_a.name}")

    def _quantize(self, node_a: Node) -> Callable[[Node, str], Node]:
        qparams = get_node_input_qparams(node_a, self.gm_a, self.types)
        assert qparams is not None  # `obstacle` has asked

        def quantize(value: Node, prefix: str) -> Node:
            numbers = [
                self._attribute(f"{node_a.name}_input_{name}_", number)
                for name, number in zip(("scale", "zero_point"), qparams, strict=True)
            ]
            args = (value, *numbers, quint8)
            return self.writer.graph.create_node(
                "call_function", quantize_per_tensor, args, {}, free_name(self.gm_b, prefix)
            )

        return quantize

    def _attribute(self, prefix: str, value: Any) -> Node:
        name = free_name(self.gm_b, prefix)
        if isinstance(value, tl_core.Tensor):
            value = value.detach()
        setattr(self.gm_b, name, value)
        return self.writer.graph.create_node("get_attr", name, (), {}, name)

    # -- copies
    def copy_layer(self, layer: NSSubgraph, first: Any, second: Any, prefix: str) -> Node:
        """Copies a layer of A into the new graph.

        Args:
            layer: the layer.
            first: its input.
            second: the second input of an LSTM, or None.
            prefix: the beginning of new names.
        """
        result = first
        for node in self.nodes_of(layer):
            operands = [result] if second is None or node is not layer.start_node else [result, second]
            result = self._copy_node(node, operands, prefix)
        return result

    def _copy_node(self, node: Node, operands: list[Any], prefix: str) -> Node:
        args, kwargs = normalized_arguments(node, self.gm_a)
        values = [*args, *kwargs.values()]
        values = [operands[i] if i < len(operands) else self._copy_argument(v) for i, v in enumerate(values)]
        new_args = tuple(values[: len(args)])
        new_kwargs = dict(zip(kwargs, values[len(args) :], strict=True))
        name, target = free_name(self.gm_b, prefix), node.target
        if node.op == "call_module":
            module = self.gm_a.get_submodule(str(target))
            setattr(self.gm_b, name, module)
            target = name
        return self.writer.graph.create_node(node.op, target, new_args, new_kwargs, name)

    def _copy_argument(self, arg: Any) -> Any:
        if not isinstance(arg, Node):
            return arg
        node = return_first_non_observer_node(arg, self.gm_a)
        if node.op == "get_attr":
            return self._attribute(f"{node.name}_shadow_copy_", read_attribute(self.gm_a, node))
        args = tuple(self._copy_argument(each) for each in node.args)
        name = free_name(self.gm_b, f"{node.name}_shadow_copy_")
        return self.writer.graph.create_node(node.op, node.target, args, {}, name)


def create_a_shadows_b(
    name_a: str,
    gm_a: GraphModule,
    name_b: str,
    gm_b: GraphModule,
    matched_subgraph_pairs: dict[str, tuple[NSSubgraph, NSSubgraph]],
    logger_cls: Callable[..., Any],
    should_log_inputs: bool,
    node_type_to_io_type_map: dict[str, set[NSNodeTargetType]] | None = None,
) -> GraphModule:
    """Model B with each layer of model A beside its own, on the same input, and loggers behind both.

    Args:
        name_a: the name of model A.
        gm_a: model A.
        name_b: the name of model B.
        gm_b: model B, which gets the loggers and the layers of A as modules.
        matched_subgraph_pairs: the pairs of layers.
        logger_cls: the class of the loggers.
        should_log_inputs: whether the inputs of layers are stored, too.
        node_type_to_io_type_map: the operators by their numbers.

    Warns:
        UserWarning: a layer has no copy, with the reason.
    """
    types = get_node_type_to_io_type_map() if node_type_to_io_type_map is None else node_type_to_io_type_map
    writer = _Writer(gm_b, logger_cls)
    shadows = _Shadows(gm_a, writer, types, should_log_inputs)
    starts: dict[Node, _Pair] = {}
    ends: dict[Node, _Pair] = {}
    for name, (a, b) in matched_subgraph_pairs.items():
        targets = get_target_type_str(a.base_op_node, gm_a), get_target_type_str(b.base_op_node, gm_b)
        scopes = scoped_name(a.base_op_node, gm_a), scoped_name(b.base_op_node, gm_b)
        starts[b.start_node] = ends[b.end_node] = _Pair(
            a, _Source(name_a, name, targets[0], scopes[0]), _Source(name_b, name, targets[1], scopes[1])
        )
    for node in gm_b.graph.nodes:
        if node.op == "output":
            writer.graph.output(writer.value(node.args[0]))
            continue
        pair = starts.get(node) or ends.get(node)
        obstacle = None if pair is None else shadows.obstacle(pair.layer, node)
        if pair is None or obstacle is not None:
            if pair is not None:
                _warn(node, gm_b, pair, gm_a, obstacle)
            writer.copy_node(node)
            continue
        if node in starts:
            _shadow(shadows, node, pair)
        else:
            writer.copy_node(node)
        if node in ends:
            behind = writer.log(writer.values[node.name], "_ns_logger_b_", node.name, pair.source_b, _OUTPUT)
            writer.values[node.name] = behind
    return GraphModule(gm_b, writer.graph)


def _warn(node: Node, gm_b: GraphModule, pair: _Pair, gm_a: GraphModule, reason: str | None) -> None:
    names = get_target_type_str(node, gm_b), get_target_type_str(pair.layer.start_node, gm_a)
    warnings.warn(
        f"skipping shadow loggers for node_b: {names[0]}, start_node_a: {names[1]}, {reason}", stacklevel=4
    )


def _shadow(shadows: _Shadows, node: Node, pair: _Pair) -> None:
    """The first node of a layer of B, and the layer of A on the same input."""
    writer = shadows.writer
    before = get_normalized_nth_input(node, shadows.gm_b, 0)
    plain = writer.value(before)
    if shadows.log_inputs:
        several = before if isinstance(before, (list, tuple)) else [before]
        for within, each in enumerate(several):
            logged = writer.log(
                writer.values[each.name], "_ns_logger_b_inp_", node.name, pair.source_b, _INPUT, within
            )
            writer.values[each.name] = logged
    copied = writer.copy_node(node)
    values = shadows.cast(pair.layer.start_node, node, plain, f"{node.name}_dtype_cast_")
    logs: list[Node] = []
    if shadows.log_inputs:
        is_list = isinstance(values, list)
        logs = [
            writer.log(each, "_ns_logger_a_inp_", "", pair.source_a, _INPUT, within)
            for within, each in enumerate(values if is_list else [values])
        ]
        values = logs if is_list else logs[0]
    second = None
    if get_number_of_non_param_args(pair.layer.start_node, shadows.gm_a) == 2:
        second = get_normalized_nth_input(copied, shadows.gm_b, 1)
    result = shadows.copy_layer(pair.layer, values, second, f"{copied.name}_shadow_copy_")
    first = next(iter(logs[0].users)) if logs else None
    for log in logs:
        getattr(shadows.gm_b, str(log.target)).ref_node_name = first.name  # type: ignore[union-attr]  # of a log
    writer.log(result, "_ns_logger_a_", result.name, pair.source_a, _OUTPUT)
