"""The joint graph of a forward and a backward pass as two graphs, and which values go from one to the other."""

from __future__ import annotations

import math
import operator
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

import tl_core
from tl_core.operators.packets import OpOverload

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..tracer.graphs import eliminate_dead, has_effect
from ..tracer.schemas import schema_of

__all__ = ["default_partition", "min_cut_rematerialization_partition"]

_TANGENTS = "tangents"
Parts = tuple[GraphModule, GraphModule]


def default_partition(
    joint_module: Any, _joint_inputs: Any = (), *, num_fwd_outputs: int, **options: Any
) -> Parts:
    """Parts a joint graph: the forward pass is what its results need; every value of it that the rest reads is kept.

    Args:
        joint_module: the joint graph, whose inputs that begin with `tangents` are those of the backward pass.
        _joint_inputs: accepted.
        num_fwd_outputs: how many of its results are those of the forward pass, which come first.
        options: accepted.

    Returns:
        The graph of the forward pass, which returns what is kept after its results, and that of the backward pass,
        whose inputs are what is kept, then the tangents.
    """
    joint = _Joint(joint_module, num_fwd_outputs)
    first = _before(joint.results)
    first |= {n for n in joint.early if n.op == "placeholder" or has_effect(n)}
    first |= {n for n in joint.early if n.target is operator.getitem and n.args[0] in first}
    rest = {n for n in joint.nodes if n not in first and n.op != "output"}
    return joint.part([n for n in joint.early if n in first and any(u in rest for u in n.users)], rest)


def min_cut_rematerialization_partition(
    joint_module: Any,
    _joint_inputs: Any = (),
    compiler: str = "inductor",
    *,
    num_fwd_outputs: int,
    **options: Any,
) -> Parts:
    """Parts a joint graph so that the least memory is kept: values that cheap operators make are made again.

    The values to keep are a minimal cut between the inputs of the forward pass and what the backward pass reads, by
    Edmonds and Karp's algorithm; a value weighs as many bytes as it has, and one of an operator that isn't cheap to run
    again, such as a product of matrices or a random one, is kept or not needed.

    Args:
        joint_module, _joint_inputs, num_fwd_outputs, options: as `default_partition` takes them.
        compiler: accepted.

    Returns:
        The two graphs.
    """
    joint = _Joint(joint_module, num_fwd_outputs)
    needs = {n for n in joint.early if any(u in joint.late for u in n.users)}
    saved = _least_saved(joint, needs) if needs else set()
    again = _recompute(needs - saved, saved)
    return joint.part([n for n in joint.early if n in saved], joint.late | again)


class _Joint:
    """A joint graph: its inputs, its results, and which nodes come after a tangent."""

    def __init__(self, module: Any, num_fwd_outputs: int) -> None:
        self.module, graph = module, module.graph
        self.nodes = list(graph.nodes)
        results = next(n for n in self.nodes if n.op == "output").args[0]
        self.results, self.gradients = list(results[:num_fwd_outputs]), list(results[num_fwd_outputs:])
        self.tangents = [n for n in self.nodes if n.op == "placeholder" and n.name.startswith(_TANGENTS)]
        self.late: set[Node] = set(self.tangents)
        for n in self.nodes:
            if n.op not in ("placeholder", "output") and any(a in self.late for a in n.all_input_nodes):
                self.late.add(n)
        self.early = [n for n in self.nodes if n not in self.late and n.op != "output"]

    def part(self, saved: list[Node], backward: set[Node]) -> Parts:
        """The two graphs.

        Args:
            saved: the values that the backward pass reads from the forward pass.
            backward: the nodes of the backward pass.
        """
        gradients = [n for n in self.gradients if isinstance(n, Node) and n not in backward]
        saved = [n for n in dict.fromkeys([*saved, *gradients]) if n.op != "get_attr"]
        inputs = [n for n in self.early if n.op == "placeholder"]
        first = self._graph(inputs, set(self.early), [*self.results, *saved])
        second = self._graph([*saved, *self.tangents], backward, self.gradients)
        return first, second

    def _graph(self, inputs: list[Node], nodes: set[Node], results: list[Any]) -> GraphModule:
        graph = Graph()
        copies: dict[Node, Node] = {}
        for n in inputs:
            copies[n] = graph.placeholder(n.name)
            copies[n].meta = dict(n.meta)
        for n in self.nodes:
            is_inner = n in nodes and n.op not in ("placeholder", "output")
            if n not in copies and (is_inner or n.op == "get_attr"):
                copies[n] = graph.node_copy(n, copies.__getitem__)
        graph.output(tuple(copies[r] if isinstance(r, Node) else r for r in results))
        eliminate_dead(graph)
        return GraphModule(self.module, graph)


def _before(nodes: list[Any]) -> set[Node]:
    """The nodes that some need, and these."""
    nodes_before: set[Node] = set()
    stack = [n for n in nodes if isinstance(n, Node)]
    while stack:
        n = stack.pop()
        if n not in nodes_before:
            nodes_before.add(n)
            stack.extend(n.all_input_nodes)
    return nodes_before


# ---- which values are kept
_DEAR = frozenset([
    "mm", "bmm", "addmm", "baddbmm", "matmul", "linear", "convolution", "convolution_backward", "einsum",
    "sort", "topk", "cumsum", "cumprod", "lstm", "gru", "_scaled_dot_product_flash_attention_for_cpu",
    "native_batch_norm",
])  # fmt: skip


def _is_cheap(node: Node) -> bool:
    """Whether an operator may run again: it writes to nothing, draws nothing, and isn't dear."""
    target: Any = node.target
    if not isinstance(target, OpOverload):
        return node.op == "call_function"
    name = target.overloadpacket.__name__
    return not (schema_of(target).writes or name in _DEAR or name.startswith("linalg") or _is_random(target))


def _is_random(target: Any) -> bool:
    return "nondeterministic_seeded" in {str(tag).rpartition(".")[2] for tag in target.tags}


def _bytes(node: Node) -> float:
    value = node.meta.get("val")
    if isinstance(value, tl_core.Tensor):
        return max(1, value.numel() * value.element_size())
    return math.inf if isinstance(value, (tuple, list)) else 1


def _least_saved(joint: _Joint, needs: set[Node]) -> set[Node]:
    """The minimal cut: each node is an edge from its entry to its exit, which weighs what the value weighs."""
    capacity: dict[Any, dict[Any, float]] = defaultdict(dict)

    def edge(a: Any, b: Any, weight: float) -> None:
        capacity[a][b] = capacity[a].get(b, 0) + weight
        capacity[b].setdefault(a, 0)

    for n in joint.early:
        edge((n, "in"), (n, "out"), _bytes(n))
        if not _is_cheap(n):
            edge("source", (n, "in"), math.inf)
        for a in n.all_input_nodes:
            edge((a, "out"), (n, "in"), math.inf)
    for n in needs:
        edge((n, "out"), "sink", math.inf)
    reached = _side_of_source(capacity)
    return {n for n in joint.early if (n, "in") in reached and (n, "out") not in reached}


def _side_of_source(capacity: dict[Any, dict[Any, float]]) -> set[Any]:
    """What can still be reached from the source once the flow is the greatest."""
    while True:
        before: dict[Any, Any] = {"source": None}
        queue = deque(["source"])
        while queue and "sink" not in before:
            a = queue.popleft()
            for b, room in capacity[a].items():
                if room > 0 and b not in before:
                    before[b] = a
                    queue.append(b)
        if "sink" not in before:
            return set(before)
        path, b = [], "sink"
        while before[b] is not None:
            path.append((before[b], b))
            b = before[b]
        flow = min(capacity[a][b] for a, b in path)
        for a, b in path:
            capacity[a][b] -= flow
            capacity[b][a] += flow


def _recompute(needs: Iterable[Node], saved: set[Node]) -> set[Node]:
    """The nodes of the forward pass that the backward pass runs again."""
    again: set[Node] = set()
    stack = list(needs)
    while stack:
        n = stack.pop()
        if n not in again and n not in saved and n.op == "call_function":
            again.add(n)
            stack.extend(n.all_input_nodes)
    return again
