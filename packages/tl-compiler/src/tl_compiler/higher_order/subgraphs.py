"""Tracing the functions that a higher-order operator takes: each becomes a graph of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tl_core
import tl_core.operators.packets
import tl_nn
from tl_core.dispatch.modes import no_modes
from tl_core.operators.packets import OpOverload
from tl_core.pytree import TreeSpec, tree_flatten
from tl_core.subclasses import FakeTensor
from tl_core.subclasses.python_dispatch import disable_current_modes
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..tracer.graphs import eliminate_dead
from ..tracer.proxy_mode import ProxyTorchDispatchMode, PythonKeyTracer
from ..tracer.schemas import schema_of

__all__ = [
    "Ready",
    "Subgraph",
    "attach_subgraph",
    "fresh",
    "key_of",
    "record_subgraph_call",
    "trace_subgraph",
    "with_inputs",
]

Tensor = tl_core.Tensor
_VALUES = (Tensor, SymInt, SymFloat, SymBool)


@dataclass
class Subgraph:
    """A function as a graph: its inputs are the operands, then what it reads from around it.

    Args:
        tracer: what records it.
        results: the nodes of its results.
        out_spec: how they are nested.
        lifted: what it reads from around it.
        inputs: its inputs.
        lifted_inputs: the inputs that stand for what it reads.
    """

    tracer: PythonKeyTracer
    results: list[Any]
    out_spec: TreeSpec
    lifted: list[Any] = field(default_factory=list)  # values of the graph around it
    inputs: list[Node] = field(default_factory=list)
    lifted_inputs: dict[int, Node] = field(default_factory=dict)


def trace_subgraph(mode: ProxyTorchDispatchMode, function: Callable[..., Any], operands: Any) -> Subgraph:
    """Traces a function that a higher-order operator takes.

    Args:
        mode: the mode that records around it.
        function: the function.
        operands: what it is called with: containers of tensors and numbers.

    Returns:
        The graph.
    """
    tracer = PythonKeyTracer()
    tracer.root = tl_nn.Module()
    flat, spec = tree_flatten(tuple(operands))
    subgraph = Subgraph(tracer, [], spec)

    def lift(t: Any) -> Node:
        return _lift(subgraph, tracer, t)

    inner = ProxyTorchDispatchMode(
        tracer,
        mode.tracing_mode,
        pre_dispatch=mode.pre_dispatch,
        decomposition_table=mode.decomposition_table,
        fake_mode=mode.fake_mode,
        constant=lift,
        record_stack_traces=mode.recorder.stack_traces,
        module_stack=mode.recorder.module_stack,
        records_grad_mode=mode.recorder.grad_mode,
    )
    inner.values.fakes = mode.values.fakes
    inner.sizes.symbol_from_outside = lambda symbol: _lift(subgraph, tracer, mode.sizes.number_of(symbol))
    inputs = [_operand(mode, inner, subgraph, value, i) for i, value in enumerate(_distinct(mode, flat))]
    env = mode.shape_env
    with contextlib.nullcontext(list) if env is None else env.branch() as checks:
        with disable_current_modes(), inner:
            out = function(*spec.unflatten(inputs))
        subgraph.results, subgraph.out_spec = tree_flatten(out)
        _finish(subgraph, inner, checks())
    return subgraph


def _distinct(mode: Any, values: list[Any]) -> list[Any]:
    """The values, each tensor its own object, because a trace looks tensors up by identity."""
    ids: set[int] = set()
    distinct = []
    for value in values:
        repeats = isinstance(value, Tensor) and id(value) in ids
        ids.add(id(value))
        if repeats:
            value = fresh(mode, mode.values.fake_of(value) if mode.tracing_mode != "real" else value)
        distinct.append(value)
    return distinct


def _operand(mode: Any, inner: Any, subgraph: Subgraph, value: Any, i: int) -> Any:
    node = subgraph.tracer.graph.placeholder(f"arg{i}_1")
    subgraph.inputs.append(node)
    if isinstance(value, Tensor) and mode.tracing_mode != "real":
        value = mode.values.fake_of(value)
    if isinstance(value, _VALUES):
        inner.track(value, node)
    node.meta["val"] = value
    return value


def key_of(value: Any) -> int:
    """What tells the values apart that a function reads from around it.

    Args:
        value: a tensor, or a symbolic number, by its expression: what is known of that differs between branches.
    """
    return id(value) if isinstance(value, Tensor) else hash(str(value.node._expr))


def _lift(subgraph: Subgraph, tracer: PythonKeyTracer, value: Any) -> Node:
    """The input of a value that belongs to the graph around."""
    key = key_of(value)
    node = subgraph.lifted_inputs.get(key)
    if node is None:
        first = next((n for n in tracer.graph.nodes if n.op != "placeholder"), None)
        where = tracer.graph.inserting_before(first) if first is not None else tracer.graph.inserting_before()
        with where:
            node = tracer.graph.placeholder(_input_name(tracer.graph))
        node.meta["val"] = value
        subgraph.lifted_inputs[key] = node
        subgraph.lifted.append(value)
    return node


def _input_name(graph: Any) -> str:
    return f"arg{sum(1 for n in graph.nodes if n.op == 'placeholder')}_1"


def _finish(subgraph: Subgraph, inner: ProxyTorchDispatchMode, checks: list[Any]) -> None:
    results = [inner.node_of(r) if isinstance(r, _VALUES) else r for r in subgraph.results]
    inner.recorder.restore_grad()
    inner.sizes.record_assertions(checks)
    subgraph.tracer.graph.output(tuple(results))
    eliminate_dead(subgraph.tracer.graph)
    for node in subgraph.tracer.graph.nodes:
        target: Any = node.target
        if node.op == "call_function" and isinstance(target, OpOverload) and schema_of(target).writes:
            destination = node.args[0]
            if isinstance(destination, Node) and destination.op == "placeholder":
                raise RuntimeError(
                    f"a function of a higher-order operator might be modifying the input! It calls {target} on "
                    f"{destination}: return the new value instead"
                )


def with_inputs(subgraph: Subgraph, lifted: list[Any]) -> GraphModule:
    """The graph with inputs for everything that any of the functions reads from around.

    Args:
        subgraph: the graph of one function.
        lifted: the values, of all functions of the operator.

    Returns:
        A module.
    """
    graph = subgraph.tracer.graph
    last: Node | None = subgraph.inputs[-1] if subgraph.inputs else None
    for value in lifted:
        key = key_of(value)
        node = subgraph.lifted_inputs.get(key)
        with graph.inserting_after(last) if last is not None else graph.inserting_before():
            if node is None:
                node = graph.placeholder(_input_name(graph))
                node.meta["val"] = value
        if last is not None:
            last.append(node)
        last = node
    return GraphModule(subgraph.tracer.root, graph, "GraphModule")


def attach_subgraph(mode: ProxyTorchDispatchMode, module: GraphModule, name: str) -> Node:
    """The node by which the graph around reads a subgraph, which becomes an attribute of its root.

    Args:
        mode: the mode that records around it.
        module: the subgraph.
        name: the beginning of the attribute's name.

    Returns:
        The node.
    """
    root, number = mode.tracer.root, 0
    while hasattr(root, f"{name}_{number}"):
        number += 1
    attribute = f"{name}_{number}"
    root.add_module(attribute, module)
    return mode.tracer.create_node("get_attr", attribute, (), {}, attribute)


def record_subgraph_call(
    mode: ProxyTorchDispatchMode,
    operator: Any,
    function: Callable[..., Any],
    operands: Any,
    name: str,
    arguments: Callable[[Node, tuple[Any, ...]], tuple[Any, ...]],
) -> Any:
    """Records a call of an operator that takes one function.

    Args:
        mode: the mode that records around it.
        operator: the operator.
        function: what becomes a graph.
        operands: what it is called with.
        name: the beginning of the graph's name.
        arguments: of the node that reads the graph and those of the operands, the node's arguments.

    Returns:
        The results, nested as the function's.
    """
    body = trace_subgraph(mode, function, operands)
    node = attach_subgraph(mode, with_inputs(body, body.lifted), name)
    flat = tuple(mode.node_of(v) for v in (*tree_flatten(tuple(operands))[0], *body.lifted))
    results = [fresh(mode, r) for r in body.results]
    mode.record_call(operator, tuple(map(Ready, arguments(node, flat))), {}, tuple(results), operator.name())
    return body.out_spec.unflatten(results)


class Ready:
    """What stands among the arguments of a node already.

    Args:
        node: the node, or a tuple of them.
    """

    def __init__(self, node: Any) -> None:
        self.ready_node = node


def fresh(mode: ProxyTorchDispatchMode, value: Any) -> Any:
    """A result of an operator: its own object, whatever the function returned.

    Args:
        mode: the mode that records.
        value: what the function returned.
    """
    if not isinstance(value, Tensor):
        return value
    if isinstance(value, FakeTensor):
        return value.__deepcopy__({})
    with no_modes():
        return value.clone()
