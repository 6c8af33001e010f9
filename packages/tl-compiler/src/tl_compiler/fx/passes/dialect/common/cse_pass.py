"""Common subexpressions computed once."""

from __future__ import annotations

from typing import Any

from tl_core import pytree

from ....graph import Graph
from ....graph_module import GraphModule
from ....names import qualified_name
from ....node import Node, map_arg
from ...infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops"]

_RANDOM = (
    *("bernoulli", "dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "native_dropout"),
    *("multinomial", "normal", "poisson", "binomial", "rand", "rand_like", "randint", "randint_like"),
    *("randn", "randn_like", "randperm", "rrelu", "_fused_dropout", "_standard_gamma", "_sample_dirichlet"),
)
_FRESH = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")


def get_CSE_banned_ops() -> set[str]:
    """The names of operators whose calls are never merged.

    Returns:
        Those that draw random numbers, and those whose result has no defined value; the pass knows the ones that
        write to their arguments by themselves.

    Example:
        >>> len(get_CSE_banned_ops()) > 0
        True
    """
    return {*_RANDOM, *_FRESH}


class CSEPass(PassBase):
    """Lets nodes that compute the same be one node.

    Args:
        banned_ops: targets, or names of operators, whose calls are never merged.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: x.neg() + x.neg())
        >>> result = CSEPass()(made)
        >>> result.modified, len(result.graph_module.graph.nodes)
        (True, 4)
    """

    def __init__(self, banned_ops: Any | None = None) -> None:
        self.banned_ops = set() if banned_ops is None else banned_ops
        super().__init__()

    def call(self, graph_module: GraphModule) -> PassResult:
        """Merges nodes.

        Args:
            graph_module: the module; it is not changed.

        Returns:
            A module with the new graph, and whether it has fewer nodes.
        """
        graph = Graph()
        copies: dict[Node, Node] = {}
        first: dict[Any, Node] = {}
        modified = False
        mutated = _mutated_nodes(graph_module.graph)
        for node in graph_module.graph.nodes:
            if node.op in ("placeholder", "output", "get_attr") or self._is_banned(node, mutated):
                copies[node] = graph.node_copy(node, lambda n: copies[n])
                continue
            args, kwargs = map_arg((node.args, node.kwargs), lambda n: copies[n])
            key = _key(node, args, kwargs)
            if key is not None and key in first:
                copies[node] = first[key]
                modified = True
                continue
            copies[node] = graph.node_copy(node, lambda n: copies[n])
            if key is not None:
                first[key] = copies[node]
        graph._codegen = graph_module.graph._codegen
        return PassResult(GraphModule(graph_module, graph), modified)

    def _is_banned(self, node: Node, mutated: set[Node]) -> bool:
        if node in mutated or node.is_impure():
            return True
        packet = getattr(node.target, "overloadpacket", node.target)
        names = {str(node.target), getattr(packet, "__name__", "")}
        return node.target in self.banned_ops or packet in self.banned_ops or bool(names & self.banned_ops)


def _mutated_nodes(graph: Graph) -> set[Node]:
    """The nodes whose value a later one writes to, and those: they are not merged."""
    mutated: set[Node] = set()
    for node in graph.nodes:
        name = str(node.target) if node.op == "call_method" else ""
        if node.op == "call_function":
            packet: Any = getattr(node.target, "overloadpacket", node.target)
            name = getattr(packet, "__name__", None) or qualified_name(packet)
        if (name.endswith("_") and not name.endswith("__")) or "out" in node.kwargs or name in ("setitem",):
            mutated.add(node)
            pending = [n for n in node.args[:1] if isinstance(n, Node)]
            while pending:  # what is written may be a view of what came before
                source = pending.pop()
                if source not in mutated and source.op != "placeholder":
                    mutated.add(source)
                    pending += [n for n in source.args[:1] if isinstance(n, Node)]
    return mutated


def _key(node: Node, args: Any, kwargs: Any) -> Any:
    """What two nodes have in common if they compute the same: the call, with the types of constants."""
    leaves, spec = pytree.tree_flatten((args, dict(kwargs)))
    try:
        key = (node.op, node.target, str(spec), tuple((type(leaf), leaf) for leaf in leaves))
        hash(key)
    except TypeError:
        return None
    return key
