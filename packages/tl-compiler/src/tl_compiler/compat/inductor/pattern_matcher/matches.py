"""Results of matching: the nodes of a graph that a pattern covers, or why it covers none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from tl_compiler.fx import Graph, GraphModule, Node

from .insertion import insert_graph
from .tracing import fake_region, fwd_only

__all__ = ["FailedMatch", "Match", "MatchContext", "is_match"]


class FailedMatch(RuntimeError):
    """The reason why a pattern doesn't match. It is false in conditions.

    Args:
        format_string: the text.
        args, kwargs: the values of its fields.

    Example:
        >>> bool(FailedMatch("node: {}", "add")), str(FailedMatch("node: {}", "add"))
        (False, 'node: add')
    """

    def __init__(self, format_string: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(format_string)
        self.format_string, self.args, self.kwargs = format_string, args, kwargs

    def __str__(self) -> str:
        return self.format_string.format(*self.args, **self.kwargs)

    def __bool__(self) -> bool:
        return False


class Match:
    """The nodes that a pattern covers, and the values of its arguments.

    Args:
        ctx: the context in which the pattern was matched.
        pattern: the pattern.
        args: the values of the pattern's `Arg`, in order.
        kwargs: the values of its `KeywordArg`, by name.
    """

    def __init__(
        self,
        ctx: MatchContext,
        pattern: Any,
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.ctx, self.pattern = ctx, pattern
        self.args: list[Any] = list(args or [])
        self.kwargs: dict[str, Any] = kwargs or {}
        self.nodes: list[Node] = []
        self.targets: dict[Any, Any] = {}
        self.replacement_graph: GraphModule | None = None

    @property
    def graph(self) -> Graph:
        """The graph of the nodes."""
        return self.ctx.graph

    def extend(self, other: Match) -> None:
        """Adds the nodes and values of the match of a part.

        Args:
            other: the match of the part.

        Raises:
            FailedMatch: a name has another value there.
        """
        for name, value in other.kwargs.items():
            if name in self.kwargs and not _is_same(self.kwargs[name], value):
                raise FailedMatch("kwarg mismatch: {}", name)
        self.args.extend(other.args)
        self.nodes.extend(other.nodes)
        self.kwargs.update(other.kwargs)
        self.targets.update(other.targets)

    def bundle(self) -> Match:
        """Makes one argument, a tuple, of all arguments, and returns the match."""
        self.args = [tuple(self.args)] if self.args else []
        return self

    def erase_nodes(self) -> None:
        """Erases the nodes that no other node reads."""
        for node in reversed(self.nodes):
            if not node._erased and not node.users:
                node.graph.erase_node(node)

    def output_nodes(self) -> list[Node | None]:
        """The node of each result of the pattern; None for a result that the pattern ignores."""
        return [None if p is None else self.ctx.pattern_to_node[p] for p in self.ctx.outputs]

    def output_node(self) -> Node:
        """The node of the first result."""
        return next(node for node in self.output_nodes() if node is not None)

    def replace_with_graph(self, replacement_graph: Graph | GraphModule, args: Sequence[Any]) -> None:
        """Puts the nodes of another graph in place of the nodes of this match.

        Args:
            replacement_graph: the other graph.
            args: the values of its inputs.
        """
        insert_graph(self, replacement_graph, args)

    def replace_by_example(
        self,
        replacement_fn: Callable[..., Any],
        args: Sequence[Any],
        trace_fn: Callable[..., GraphModule] | None = None,
        run_functional_passes: bool = True,
    ) -> None:
        """Puts the operators of a function in place of the nodes of this match.

        Args:
            replacement_fn: the function.
            args: the nodes and numbers that it is called with. `node.meta["val"]` has an example of a node's value.
            trace_fn: traces the function; None: `fwd_only`.
            run_functional_passes: whether `fwd_only` simplifies the traced graph.
        """
        examples = [arg.meta["val"] if isinstance(arg, Node) else arg for arg in args]
        with fake_region(examples):
            if trace_fn is None:
                graph = fwd_only(replacement_fn, examples, run_functional_passes=run_functional_passes)
            else:
                graph = trace_fn(replacement_fn, examples)
        insert_graph(self, graph, args)

    def __repr__(self) -> str:
        return f"Match(..., {self.args}, {self.kwargs})"


class MatchContext:
    """The state of one attempt: which parts of the pattern have a node already.

    Args:
        outputs: the results of the pattern.
        pattern_to_node: the nodes of parts that were matched before.
        graph: the graph.
    """

    def __init__(
        self,
        outputs: Sequence[Any],
        pattern_to_node: dict[Any, Node | None] | None = None,
        *,
        graph: Graph,
    ) -> None:
        self.outputs, self.graph = list(outputs), graph
        self.pattern_to_node: dict[Any, Any] = dict(pattern_to_node or {})
        self.exclusive_node_set: list[Node] = []

    def match(self, pattern: Any, node: Any) -> Match | FailedMatch:
        """Matches a part of the pattern, which has the same node wherever the pattern names it.

        Args:
            pattern: the part.
            node: the node, or a constant.
        """
        if pattern in self.pattern_to_node:
            if self.pattern_to_node[pattern] is node:
                return Match(self, pattern)
            return FailedMatch("repeated pattern differs")
        result: Match | FailedMatch = pattern._match(node, self)
        self.pattern_to_node[pattern] = node if result else None
        return result

    def filter_multi_user_patterns(self) -> dict[Any, Node]:
        """The nodes of the parts that several other parts read."""
        return {p: n for p, n in self.pattern_to_node.items() if n is not None and p.has_multiple_users()}


def is_match(m: Any) -> TypeGuard[Match]:
    """Whether a result is a match.

    Args:
        m: the result.

    Example:
        >>> is_match(FailedMatch("no node"))
        False
    """
    return bool(m)


def _is_same(a: Any, b: Any) -> bool:
    return a is b if isinstance(a, Node) or isinstance(b, Node) else bool(a == b)
