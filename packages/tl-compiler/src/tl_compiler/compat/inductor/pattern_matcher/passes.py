"""Passes: tables of patterns that are applied to a graph together."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tl_compiler.compiler.counters import counters
from tl_compiler.fx import Graph, GraphModule

from .matches import is_match
from .mutations import compute_mutation_region_ids, get_mutation_region_id
from .patterns import extract_target

__all__ = ["PatternMatcherPass", "check_and_add_duplicate_pattern"]


class PatternMatcherPass:
    """Patterns, and what is done where one matches.

    Args:
        pass_name: a name.
        subsystem: the part of the compiler that runs the pass.

    Example:
        >>> import tl_core
        >>> table = PatternMatcherPass()
        >>> table.apply(Graph())
        0
    """

    def __init__(self, pass_name: str | None = None, subsystem: str | None = None) -> None:
        self.patterns: defaultdict[tuple[str, Any], list[Any]] = defaultdict(list)
        self.pass_name, self.subsystem = pass_name, subsystem
        self.seen_patterns: defaultdict[str, list[str | None]] = defaultdict(list)

    def __getitem__(self, item: tuple[str, Any]) -> list[Any]:
        return self.patterns[item]

    def apply(self, gm: GraphModule | Graph) -> int:
        """Applies the patterns from the end of a graph to its beginning.

        Args:
            gm: the graph, or its module, whose code isn't compiled again.

        Returns:
            How many matches were replaced or handled.
        """
        graph = gm.graph if isinstance(gm, GraphModule) else gm
        if not self.patterns:
            return 0
        compute_mutation_region_ids(graph)
        count = 0
        for node in reversed(list(graph.nodes)):
            if node._erased or node.op not in ("call_function", "call_method", "call_module"):
                continue
            for entry in self.patterns.get((node.op, extract_target(node)), ()):
                if node._erased:
                    break
                match = entry.pattern.match(node)
                if not is_match(match) or len({get_mutation_region_id(graph, n) for n in match.nodes}) != 1:
                    continue
                if entry.extra_check(match):
                    count += 1
                    counters["inductor"]["pattern_matcher_count"] += 1
                    counters["inductor"]["pattern_matcher_nodes"] += len(match.nodes)
                    entry.apply(match, graph, node)
        return count

    def clear(self) -> None:
        """Removes all patterns."""
        self.patterns.clear()


def check_and_add_duplicate_pattern(
    pattern: Any,
    graph: Graph | None,
    seen_patterns: dict[str, list[str | None]],
    skip_duplicates: bool = False,
) -> bool:
    """Notes a pattern in a table.

    Args:
        pattern: the pattern.
        graph: the graph from which it was derived.
        seen_patterns: the graphs of the patterns of the table, by the patterns' text.
        skip_duplicates: whether a pattern that is in the table already is no error.

    Returns:
        Whether the pattern is in the table already.

    Raises:
        RuntimeError: it is, and `skip_duplicates` is False.
    """
    text = repr(pattern)
    graphs = seen_patterns.setdefault(text, [])
    graph_text = None if graph is None else str(graph)
    if not graphs:
        graphs.append(graph_text)
        return False
    if graph_text is not None and graph_text not in graphs:
        graphs.append(graph_text)
        return False
    if skip_duplicates:
        return True
    raise RuntimeError(f"Duplicate pattern: {text} with duplicated match graph {graph_text}")
