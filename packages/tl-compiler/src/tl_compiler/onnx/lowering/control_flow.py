"""Higher-order operators: conditions, loops and calls of subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import onnx_ir as ir

from ...fx.node import Node
from .arguments import Arguments
from .shapes import describe

__all__ = ["CONTROL_FLOW"]

CONTROL_FLOW: dict[str, Callable[[Any, Node], Any]] = {}


def _lowers(*names: str) -> Callable[[Callable[[Any, Node], Any]], Callable[[Any, Node], Any]]:
    def register(function: Callable[[Any, Node], Any]) -> Callable[[Any, Node], Any]:
        CONTROL_FLOW.update({f"higher_order::{name}": function for name in names})
        return function

    return register


def _values(lowering: Any, node: Node, arguments: Any) -> list[Any]:
    plain = Arguments(node, lowering.builder, lowering.values).plain(list(arguments))
    return [v if isinstance(v, ir.Value) or v is None else lowering.builder.constant(v) for v in plain]


def _body(lowering: Any, builder: Any, module: Any, inputs: Sequence[Any]) -> list[Any]:
    """Lowers a subgraph with the values of its inputs, and returns those of its outputs."""
    inner = type(lowering)(builder, lowering.table, module, lowering.names)
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    inner.values.update(zip(placeholders, inputs, strict=True))
    return list(inner.run())


def _inputs(lowering: Any, builder: Any, module: Any, name: str) -> list[Any]:
    """New inputs of a graph, described by the placeholders of a subgraph."""
    results = []
    for node in (n for n in module.graph.nodes if n.op == "placeholder"):
        value = builder.value(builder.unique(name))
        describe(value, node.meta.get("val"), lowering.names)
        results.append(value)
    return results


def _close(builder: Any, outputs: Sequence[Any]) -> Any:
    """The graph of a builder with outputs. Each output is the result of a node of its own."""
    for value in outputs:
        value = value if isinstance(value, ir.Value) else builder.constant(value)
        result = builder.call_op("Identity", (value,), {})
        result.type, result.shape = value.type, value.shape
        builder.graph.outputs.append(result)
    return builder.graph


def _several(result: Any) -> list[Any]:
    return [result] if isinstance(result, ir.Value) else list(result)


@_lowers("cond")
def cond(lowering: Any, node: Node) -> Any:
    """`If`. The branches read the operands from the graph around them."""
    pred, true_fn, false_fn, *rest = node.args
    operands = _values(lowering, node, rest[0] if rest else ())
    condition = _values(lowering, node, [pred])[0]
    builder, graphs = lowering.builder, []
    if condition.shape is not None and len(condition.shape):
        condition = builder.call_op("Reshape", (condition, builder.constant([])), {})
    for name, branch in (("then", true_fn), ("else", false_fn)):
        with builder.open_graph(f"{name}_branch") as inner:
            graphs.append(_close(inner, _body(lowering, inner, lowering.values[branch], operands)))
    count = len(graphs[0].outputs)
    result = builder.call_op(
        "If", (condition,), {"then_branch": graphs[0], "else_branch": graphs[1]}, outputs=count
    )
    return _several(result)


@_lowers("while_loop")
def while_loop(lowering: Any, node: Node) -> Any:
    """`Loop` with a condition. The condition is computed before the loop and at the end of each iteration."""
    cond_fn, body_fn, carried, *rest = node.args
    first = _values(lowering, node, carried)
    more = _values(lowering, node, rest[0] if rest else ())
    condition, body = lowering.values[cond_fn], lowering.values[body_fn]
    builder = lowering.builder
    start = _scalar(builder, _body(lowering, builder, condition, [*first, *more])[0])
    with builder.open_graph("loop_body") as inner:
        number = inner.value(inner.unique("iteration"), ir.TensorType(ir.DataType.INT64), ir.Shape([]))
        flag = inner.value(inner.unique("condition"), ir.TensorType(ir.DataType.BOOL), ir.Shape([]))
        states = _inputs(lowering, inner, body, "state")[: len(first)]
        inner.graph.inputs.extend([number, flag, *states])
        results = _body(lowering, inner, body, [*states, *more])
        results = [r if isinstance(r, ir.Value) else inner.constant(r) for r in results]
        again = _scalar(inner, _body(lowering, inner, condition, [*results, *more])[0])
        graph = _close(inner, [again, *results])
    result = builder.call_op("Loop", (None, start, *first), {"body": graph}, outputs=len(first))
    return _several(result)


def _scalar(builder: Any, value: Any) -> Any:
    if not isinstance(value, ir.Value):
        return builder.constant(bool(value))
    if value.shape is not None and len(value.shape) == 0:
        return value
    return builder.call_op("Reshape", (value, builder.constant([])), {})


def _scan_rows(
    lowering: Any, body: Any, first: Sequence[Any], sequences: Sequence[Any], more: Sequence[Any]
) -> list[Any]:
    """`Scan` along the first dimension: the last states, then the stacked results."""
    builder = lowering.builder
    with builder.open_graph("scan_body") as inner:
        inputs = _inputs(lowering, inner, body, "slice")[: len(first) + len(sequences)]
        inner.graph.inputs.extend(inputs)
        graph = _close(inner, _body(lowering, inner, body, [*inputs, *more]))
    attributes = {"body": graph, "num_scan_inputs": len(sequences)}
    return _several(builder.call_op("Scan", [*first, *sequences], attributes, outputs=len(graph.outputs)))


@_lowers("scan")
def scan(lowering: Any, node: Node) -> Any:
    """`Scan` along the first dimension."""
    combine_fn, init, xs, *rest = node.args
    first, sequences = _values(lowering, node, init), _values(lowering, node, xs)
    more = _values(lowering, node, rest[0] if rest else ())
    return _scan_rows(lowering, lowering.values[combine_fn], first, sequences, more)


@_lowers("map_impl", "map")
def map_(lowering: Any, node: Node) -> Any:
    """`Scan` without states."""
    f, xs, pos_args = node.args
    sequences, more = _values(lowering, node, xs), _values(lowering, node, pos_args)
    return _scan_rows(lowering, lowering.values[f], [], sequences, more)


@_lowers("invoke_subgraph")
def invoke_subgraph(lowering: Any, node: Node) -> Any:
    """The nodes of the subgraph."""
    subgraph, _, *operands = node.args
    flat = operands[0] if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else operands
    return _body(lowering, lowering.builder, lowering.values[subgraph], _values(lowering, node, flat))


@_lowers(
    "wrap_with_set_grad_enabled",
    "wrap_with_autocast",
    "tag_activation_checkpoint",
    "strict_mode",
    "hints_wrapper",
)
def region(lowering: Any, node: Node) -> Any:
    """The nodes of the region."""
    at, module = next(
        (i, lowering.values[a]) for i, a in enumerate(node.args) if isinstance(a, Node) and a.op == "get_attr"
    )
    operands = list(node.args[at + 1 :])
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = list(operands[0])
    count = sum(1 for n in module.graph.nodes if n.op == "placeholder")
    return _body(lowering, lowering.builder, module, _values(lowering, node, operands[:count]))
