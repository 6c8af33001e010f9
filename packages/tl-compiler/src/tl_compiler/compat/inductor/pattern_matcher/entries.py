"""What a pass does where a pattern matches: it calls a handler, or inserts a graph."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tl_compiler.fx import Graph, GraphModule, Node

from .insertion import insert_graph
from .matches import Match
from .passes import PatternMatcherPass

__all__ = [
    "GraphPatternEntry",
    "LoweringPatternEntry",
    "PatternEntry",
    "ReplacementPatternEntry",
    "config_flag",
    "register_graph_pattern",
    "register_lowering_pattern",
]


def _return_true(match: Match) -> bool:
    return True


@dataclass
class PatternEntry(ABC):
    """A pattern of a pass.

    Args:
        pattern: the pattern.
        extra_check: takes a match and returns whether it counts.
    """

    pattern: Any
    extra_check: Callable[[Match], bool]

    @abstractmethod
    def apply(self, match: Match, graph: Graph, node: Node) -> None:
        """Changes the graph where the pattern matches.

        Args:
            match: the match.
            graph: the graph.
            node: the node of the first result.
        """

    def register(self, pass_dicts: Any, target: Any = None, prepend: bool = False) -> None:
        """Adds the entry to passes.

        Args:
            pass_dicts: a pass, a dictionary of lists by kind and target of nodes, or several.
            target: what a node calls; None: each function of the pattern.
            prepend: whether the entry comes before the others.

        Raises:
            RuntimeError: the pattern calls no function.
        """
        if target is None:
            if not hasattr(self.pattern, "fns"):
                raise RuntimeError(f"the pattern {self.pattern} must be a call, to be searched for")
            for function in self.pattern.fns:
                self.register(pass_dicts, function, prepend)
        elif isinstance(pass_dicts, dict | PatternMatcherPass):
            entries = pass_dicts[(self.pattern.op, target)]
            entries.insert(0 if prepend else len(entries), self)
        else:
            for pass_dict in pass_dicts:
                self.register(pass_dict, target, prepend)


@dataclass
class GraphPatternEntry(PatternEntry):
    """A pattern whose handler changes the graph itself.

    Args:
        pattern: the pattern.
        extra_check: takes a match and returns whether it counts.
        handler: takes the match and the values of the pattern's arguments.
    """

    handler: Callable[..., Any]

    def apply(self, match: Match, graph: Graph, node: Node) -> None:
        """Calls the handler. Nodes that it adds come before the node of the first result."""
        with graph.inserting_before(node):
            self.handler(match, *match.args, **match.kwargs)


@dataclass
class LoweringPatternEntry(PatternEntry):
    """A pattern in whose place the graph calls a function.

    Args:
        pattern: the pattern.
        extra_check: takes a match and returns whether it counts.
        handler: takes the match and, when the graph runs, the values of the pattern's arguments.
    """

    handler: Callable[..., Any]

    def apply(self, match: Match, graph: Graph, node: Node) -> None:
        """Puts a call of the handler in place of the matched nodes."""
        handler = functools.wraps(self.handler)(functools.partial(self.handler, match))
        with graph.inserting_before(node):
            call = graph.call_function(handler, tuple(match.args), dict(match.kwargs))
        call.meta.update(node.meta)
        node.replace_all_uses_with(call)
        match.erase_nodes()


@dataclass
class ReplacementPatternEntry(PatternEntry):
    """A pattern in whose place another graph stands.

    Args:
        pattern: the pattern.
        extra_check: takes a match and returns whether it counts. It stores the other graph in the match.
        normalize_args: takes the values of the pattern's arguments and returns the inputs of the other graph.
        pattern_name: a name.
    """

    normalize_args: Callable[..., list[Any]]
    pattern_name: str | None = None

    @staticmethod
    def replace_with_graph(
        match: Match, graph: Graph, replacement_graph: Graph | GraphModule, args: list[Any]
    ) -> None:
        """Puts the nodes of another graph in place of the nodes of a match.

        Args:
            match: the match.
            graph: the graph of the match.
            replacement_graph: the other graph.
            args: the values of its inputs.
        """
        insert_graph(match, replacement_graph, args)

    def apply(self, match: Match, graph: Graph, node: Node) -> None:
        """Puts the other graph in place of the matched nodes."""
        assert match.replacement_graph is not None
        insert_graph(match, match.replacement_graph, self.normalize_args(*match.args, **match.kwargs))


def register_graph_pattern(
    pattern: Any,
    extra_check: Callable[[Match], bool] = _return_true,
    *,
    pass_dict: Any,
    prepend: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for a handler that changes the graph where a pattern matches.

    Args:
        pattern: the pattern.
        extra_check: takes a match and returns whether it counts.
        pass_dict: the pass, or several.
        prepend: whether the pattern is tried before the others.

    Example:
        >>> import tl_core
        >>> from tl_compiler.compat.inductor.pattern_matcher.patterns import CallFunction, KeywordArg
        >>> from tl_compiler.fx import symbolic_trace
        >>> table = PatternMatcherPass()
        >>> twice = CallFunction(tl_core.neg, CallFunction(tl_core.neg, KeywordArg("x")))
        >>> @register_graph_pattern(twice, pass_dict=table)
        ... def drop(match, x):
        ...     match.output_node().replace_all_uses_with(x)
        ...     match.erase_nodes()
        >>> module = symbolic_trace(lambda x: tl_core.neg(tl_core.neg(x)))
        >>> table.apply(module)
        1
        >>> [n.op for n in module.graph.nodes]
        ['placeholder', 'output']
    """

    def decorate(handler: Callable[..., Any]) -> Callable[..., Any]:
        GraphPatternEntry(pattern=pattern, extra_check=extra_check, handler=handler).register(
            pass_dict, prepend=prepend
        )
        return handler

    return decorate


def register_lowering_pattern(
    pattern: Any,
    extra_check: Callable[[Match], bool] = _return_true,
    *,
    pass_dict: Any,
    prepend: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for a function that the graph calls where a pattern matches.

    Args:
        pattern: the pattern.
        extra_check: takes a match and returns whether it counts.
        pass_dict: the pass, or several.
        prepend: whether the pattern is tried before the others.

    tl generates no code, so the function gets tensors, where PyTorch's code generator gives it the nodes of its own
    representation.
    """

    def decorate(handler: Callable[..., Any]) -> Callable[..., Any]:
        LoweringPatternEntry(pattern=pattern, extra_check=extra_check, handler=handler).register(
            pass_dict, prepend=prepend
        )
        handler._inductor_lowering_function = True  # type: ignore[attr-defined]  # PyTorch's mark
        return handler

    return decorate


def config_flag(name: str) -> Callable[[Match], Any]:
    """A check that returns a setting of the code generator.

    Args:
        name: the setting's name.

    Example:
        >>> config_flag("max_autotune")(None)
        False
    """
    from tl_compiler.compat.inductor import config

    return lambda match: getattr(config, name)
