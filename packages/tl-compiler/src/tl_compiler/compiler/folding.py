"""Graphs whose constant parts are computed once: what depends only on the tensors that a program holds."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tl_core
from tl_core.operators.packets import OpOverload, aten

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..tracer.graphs import has_effect
from ..tracer.schemas import schema_of

__all__ = ["FoldedGraph", "changes_state", "fold_batch_norms"]

_RANDOM = (
    "rand", "bernoulli", "multinomial", "normal", "uniform", "dropout", "exponential", "geometric", "cauchy",
    "log_normal", "poisson", "binomial", "empty", "new_empty",
)  # fmt: skip


class _Source(NamedTuple):
    """A tensor that constants were computed from, at one version."""

    tensor: weakref.ref[Any]
    version: int

    def is_current(self, t: Any) -> bool:
        """Whether a tensor is the same one, with the same elements.

        Args:
            t: the tensor.
        """
        same: bool = self.tensor() is t and self.version == t._version  # type: ignore[union-attr]  # t is a tensor
        return same


class FoldedGraph:
    """What runs a graph: values that depend only on held tensors are computed once, and again after a write to these.

    Args:
        graph: the graph; the placeholders of held tensors have `meta["is_argument"]` False.
        compile_rest: gets the graph of all else and examples of its inputs, and returns what runs.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> graph = symbolic_trace(lambda x, w: aten.add.Tensor(x, aten.exp.default(w)))
        >>> next(n for n in graph.graph.nodes if n.name == "w").meta["is_argument"] = False
        >>> run = FoldedGraph(graph, lambda rest, examples: rest)
        >>> w = tl_core.zeros(2)
        >>> run(tl_core.ones(2), w), len(run.constants)
        (tensor([2., 2.]), 1)
    """

    def __init__(
        self, graph: GraphModule, compile_rest: Callable[[Any, list[Any]], Callable[..., Any]]
    ) -> None:
        self.compile_rest = compile_rest
        self.inputs = [n for n in graph.graph.nodes if n.op == "placeholder"]
        constant = _constant_nodes(graph.graph)
        self.boundary = [n for n in constant if n.op == "call_function" and _is_read_outside(n, constant)]
        sources = _sources(self.boundary)
        self.source_indices = [i for i, n in enumerate(self.inputs) if n in sources]
        self._fold = _part(graph, [self.inputs[i] for i in self.source_indices], constant, self.boundary)
        self._rest = _rest(graph, self.inputs, self.boundary)
        self._run: Callable[..., Any] | None = None
        self.sources: list[_Source] = []
        self.results: list[_Source] = []
        self.constants: list[Any] = []

    @property
    def computes_constants(self) -> bool:
        """Whether there is more to compute once than views of held tensors."""
        nodes = _sources(self.boundary)
        return any(n.op == "call_function" and not _is_view(n) for n in nodes)

    def __call__(self, *args: Any) -> Any:
        if self.boundary and not self._is_current(args):
            self._compute(args)
        inputs = [*args, *self.constants]
        if self._run is None:
            self._run = self.compile_rest(self._rest, inputs)
        return self._run(*inputs)

    def _is_current(self, args: Sequence[Any]) -> bool:
        """Whether no tensor that the constants depend on, nor a constant, has changed."""
        return (
            bool(self.constants)
            and all(s.is_current(args[i]) for s, i in zip(self.sources, self.source_indices, strict=True))
            and all(s.is_current(t) for s, t in zip(self.results, self.constants, strict=True))
        )

    def _compute(self, args: Sequence[Any]) -> None:
        sources = [args[i] for i in self.source_indices]
        with tl_core.no_grad():
            self.constants = list(self._fold(*sources))
        self.sources = [_Source(weakref.ref(t), t._version) for t in sources]
        self.results = [_Source(weakref.ref(t), t._version) for t in self.constants]


# ---- which nodes are constant
def _constant_nodes(graph: Graph) -> set[Node]:
    """The held inputs and literals without writes, and the calls that depend on these alone."""
    roots = {
        n
        for n in graph.nodes
        if (n.op == "placeholder" and n.meta.get("is_argument") is False) or n.op == "get_attr"
    }
    while True:
        constant, origins = set(roots), {n: {n} for n in roots}
        for node in graph.nodes:
            inputs = node.all_input_nodes
            if (
                node.op == "call_function"
                and inputs
                and all(n in constant for n in inputs)
                and _is_pure(node)
            ):
                constant.add(node)
                origins[node] = set().union(*(origins[n] for n in inputs))
        targets = [n for node in graph.nodes if _writes(node) for n in node.all_input_nodes if n in constant]
        if not targets:
            return constant
        roots -= set().union(*(origins[n] for n in targets))


def _is_pure(node: Node) -> bool:
    target: Any = node.target
    if target is operator.getitem:
        return True
    return isinstance(target, OpOverload) and not has_effect(node) and not _is_random(target)


def _is_random(target: OpOverload) -> bool:
    """Whether each call has another result."""
    return bool(target.overloadpacket.__name__.lstrip("_").startswith(_RANDOM))


def _is_view(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and node.target.is_view


def _writes(node: Node) -> bool:
    if node.op != "call_function":
        return False
    return not isinstance(node.target, OpOverload) or schema_of(node.target).writes or has_effect(node)


def _is_read_outside(node: Node, constant: set[Node]) -> bool:
    """Whether a constant is an argument of other calls. A result of the graph is a new tensor in each call."""
    readers = list(node.users)
    return any(n not in constant for n in readers) and all(n.op != "output" for n in readers)


def _sources(nodes: list[Node]) -> set[Node]:
    """The inputs that values depend on."""
    result, stack = set[Node](), list(nodes)
    while stack:
        node = stack.pop()
        if node not in result:
            result.add(node)
            stack += node.all_input_nodes
    return result


# ---- the two graphs
def _part(graph: GraphModule, inputs: list[Node], nodes: set[Node], outputs: list[Node]) -> GraphModule:
    part, copies = Graph(), dict[Node, Node]()
    for node in inputs:
        copies[node] = part.placeholder(node.name)
    needs = _sources(outputs)
    for node in graph.graph.nodes:
        if node in nodes and node in needs and node not in copies:
            copies[node] = part.node_copy(node, copies.__getitem__)
    part.output(tuple(copies[n] for n in outputs))
    return GraphModule(graph, part)


def _rest(graph: GraphModule, inputs: list[Node], constants: list[Node]) -> GraphModule:
    rest, copies = Graph(), dict[Node, Node]()
    for node in inputs:
        copies[node] = rest.node_copy(node)
    for node in constants:
        copies[node] = rest.placeholder(f"folded_{node.name}")
        copies[node].meta = dict(node.meta)
    for node in graph.graph.nodes:
        if node not in copies:
            copies[node] = rest.node_copy(node, copies.__getitem__)
    for node in reversed(list(rest.nodes)):
        if not node.users and not has_effect(node):
            rest.erase_node(node)
    return GraphModule(graph, rest)


def changes_state(graph: GraphModule) -> bool:
    """Whether a call writes to tensors that were there before, or draws random numbers: it shows how often it happens.

    Args:
        graph: the graph of the call.
    """
    for node in graph.graph.nodes:
        if node.op != "call_function" or node.target is operator.getitem:
            continue
        if not isinstance(node.target, OpOverload) or _is_random(node.target):
            return True
        if not schema_of(node.target).writes:
            if has_effect(node):
                return True
        elif any(_may_be_old(n) for n in _write_targets(node)):
            return True
    return False


def _write_targets(node: Node) -> list[Any]:
    target: Any = node.target
    parameters = target._schema.arguments
    values = dict(zip((p.name for p in parameters), node.args, strict=False)) | node.kwargs
    targets = [values.get(p.name) for p in parameters if p.alias_info is not None and p.alias_info.is_write]
    return [item for value in targets for item in (value if isinstance(value, (list, tuple)) else (value,))]


def _may_be_old(value: Any) -> bool:
    """Whether a value may be a view of a tensor that was there before the call."""
    while isinstance(value, Node) and value.op == "call_function":
        if not (_is_view(value) or _writes(value) or value.target is operator.getitem):
            return False
        value = value.all_input_nodes[0]
    return value is not None


# ---- batch norms
def fold_batch_norms(graph: GraphModule) -> int:
    """Puts each batch norm with fixed statistics into the convolution before it. Results differ in their last bits.

    Args:
        graph: the graph, which is changed.

    Returns:
        The number of batch norms that are gone.
    """
    norms = [n for n in graph.graph.nodes if n.target is aten.batch_norm.default and _is_foldable(n)]
    for norm in norms:
        _fold_batch_norm(graph.graph, norm)
    if norms:
        graph.recompile()
    return len(norms)


_CONVOLUTIONS = (
    aten.conv1d.default,
    aten.conv2d.default,
    aten.conv3d.default,
    aten.conv1d.padding,
    aten.conv2d.padding,
    aten.conv3d.padding,
)


def _is_foldable(norm: Node) -> bool:
    convolution, mean, training = norm.args[0], norm.args[3], norm.args[5]
    is_convolution = isinstance(convolution, Node) and convolution.target in _CONVOLUTIONS
    return is_convolution and len(convolution.users) == 1 and mean is not None and not training


def _fold_batch_norm(graph: Graph, norm: Node) -> None:
    convolution, gain, shift, mean, variance, _, _, eps = norm.args[:8]
    assert isinstance(convolution, Node)
    arguments = [*convolution.args, None][: max(3, len(convolution.args))]
    weight, bias = arguments[1], arguments[2]
    with graph.inserting_before(convolution):
        # scale = gain / sqrt(variance + eps)
        scale = graph.call_function(
            aten.rsqrt.default, (graph.call_function(aten.add.Tensor, (variance, eps)),)
        )
        if gain is not None:
            scale = graph.call_function(aten.mul.Tensor, (scale, gain))
        dims = weight.meta["val"].ndim if isinstance(weight, Node) else 4
        shape = [-1] + [1] * (dims - 1)
        factor = graph.call_function(aten.reshape.default, (scale, shape))
        offset = mean if bias is None else graph.call_function(aten.sub.Tensor, (mean, bias))
        offset = graph.call_function(
            aten.neg.default, (graph.call_function(aten.mul.Tensor, (offset, scale)),)
        )
        if shift is not None:
            offset = graph.call_function(aten.add.Tensor, (offset, shift))
        arguments[1] = graph.call_function(aten.mul.Tensor, (weight, factor))
        arguments[2] = offset
    convolution.args = tuple(arguments)
    norm.replace_all_uses_with(convolution)
    graph.erase_node(norm)
