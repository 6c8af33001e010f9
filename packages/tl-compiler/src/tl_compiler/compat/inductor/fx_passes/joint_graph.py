"""`torch._inductor.fx_passes.joint_graph`: passes over the graph of the forward and the backward pass."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_compiler.fx import GraphModule
from tl_core.operators import packets

from .. import config
from ..functional_passes import remove_noop_ops
from ..pattern_matcher import Arg, CallFunction, KeywordArg, Match, PatternMatcherPass, register_graph_pattern
from ..pattern_matcher.ordering import stable_topological_sort

__all__ = [
    "early_patterns",
    "joint_graph_passes",
    "pass_patterns",
    "patterns",
    "pointless_convert",
    "pointless_view",
]

_aten = packets.aten
_convert = packets.prims.convert_element_type.default

early_patterns = PatternMatcherPass()
#: Programs add patterns here.
patterns = PatternMatcherPass()
pass_patterns = [patterns, PatternMatcherPass()]


def joint_graph_passes(graph: GraphModule) -> GraphModule:
    """Runs the passes of the joint graph, with those of the settings `joint_custom_pre_pass` and
    `joint_custom_post_pass`.

    Args:
        graph: the graph module, which is changed.

    Returns:
        The graph module.
    """
    settings: Any = config
    count = 0
    if settings.joint_custom_pre_pass is not None:
        settings.joint_custom_pre_pass(graph.graph)
        count += 1
    if settings.pattern_matcher:
        count += early_patterns.apply(graph)
        remove_noop_ops(graph.graph)
        count += sum(table.apply(graph) for table in pass_patterns)
    if settings.joint_custom_post_pass is not None:
        settings.joint_custom_post_pass(graph.graph)
        count += 1
    if count:
        stable_topological_sort(graph.graph)
        graph.graph.lint()
        graph.recompile()
    return graph


@register_graph_pattern(
    CallFunction(
        _convert, CallFunction(_convert, KeywordArg("arg"), KeywordArg("dtype1")), KeywordArg("dtype2")
    ),
    pass_dict=patterns,
)
def pointless_convert(match: Match, arg: Any, dtype1: tl_core.dtype, dtype2: tl_core.dtype) -> None:
    """Converts once where a floating-point number is converted twice.

    Args:
        match: the match.
        arg: the tensor.
        dtype1, dtype2: the types.
    """
    graph, node = match.graph, match.output_node()
    if dtype1.is_floating_point and dtype2.is_floating_point:
        call = graph.call_function(_convert, (arg, dtype2))
        call.meta.update(node.meta)
        node.replace_all_uses_with(call)
        match.erase_nodes()


@register_graph_pattern(
    CallFunction(_aten.view.default, KeywordArg("arg"), KeywordArg("size")),
    pass_dict=patterns,
)
def pointless_view(match: Match, arg: Any, size: Any) -> None:
    """Removes a view of the same sizes.

    Args:
        match: the match.
        arg: the tensor.
        size: the sizes.
    """
    example = arg.meta.get("val")
    if example is not None and list(example.shape) == list(size):
        match.output_node().replace_all_uses_with(arg)
        match.erase_nodes()


@register_graph_pattern(
    CallFunction(
        _aten.view.default,
        CallFunction(_aten.view.default, KeywordArg("arg"), KeywordArg("size1")),
        KeywordArg("size2"),
    ),
    pass_dict=patterns,
)
def pointless_view_pair(match: Match, arg: Any, size1: Any, size2: Any) -> None:
    """Removes a view of a view that has the sizes of the tensor.

    Args:
        match: the match.
        arg: the tensor.
        size1, size2: the sizes.
    """
    example = arg.meta.get("val")
    if example is not None and list(example.shape) == list(size2):
        match.output_node().replace_all_uses_with(arg)
        match.erase_nodes()


@register_graph_pattern(
    CallFunction(_aten.permute.default, CallFunction(_aten.permute.default, KeywordArg("arg"), Arg()), Arg()),
    pass_dict=patterns,
)
def pointless_permute_pair(match: Match, first: Any, second: Any, arg: Any) -> None:
    """Removes two permutations that undo each other.

    Args:
        match: the match.
        first, second: the permutations.
        arg: the tensor.
    """
    rank = len(first)
    if all(first[second[i] % rank] % rank == i for i in range(rank)):
        match.output_node().replace_all_uses_with(arg)
        match.erase_nodes()
