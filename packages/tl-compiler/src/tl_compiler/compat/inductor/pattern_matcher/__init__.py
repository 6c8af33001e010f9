"""`torch._inductor.pattern_matcher`: searches graphs for patterns of operators, and replaces what it finds.

A pattern is written by hand, or traced from a function. `PatternMatcherPass` applies several to an fx graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tl_core.subclasses import FakeTensorMode

from ..decomposition import select_decomp_table as select_decomp_table
from .entries import (
    GraphPatternEntry,
    LoweringPatternEntry,
    PatternEntry,
    ReplacementPatternEntry,
    config_flag,
    register_graph_pattern,
    register_lowering_pattern,
)
from .graph_patterns import fx_to_pattern
from .matches import FailedMatch, Match, MatchContext, is_match
from .mutations import (
    clone_graph,
    compute_mutation_region_ids,
    get_mutation_region_id,
    is_mutation_op,
    same_mutation_regions,
    should_compute_mutation_region_ids,
)
from .ordering import filter_nodes, get_arg_value, is_start_of_fx_graph, stable_topological_sort
from .passes import PatternMatcherPass, check_and_add_duplicate_pattern
from .patterns import (
    MULTIPLE,
    Arg,
    CallFunction,
    CallFunctionVarArgs,
    CallMethod,
    CallMethodVarArgs,
    CallModule,
    CallModuleVarArgs,
    ExclusiveKeywordArg,
    Ignored,
    KeywordArg,
    ListOf,
    MultiOutputPattern,
    Multiple,
    PatternExpr,
    RepeatedExpr,
    extract_target,
)
from .patterns import _TargetArgsExpr as _TargetArgsExpr
from .patterns import _TargetExpr as _TargetExpr
from .printing import PatternPrettyPrinter
from .replacements import (
    gen_pattern,
    gen_pattern_and_search_gm,
    gen_register_replacement,
    log_trace_failure,
    register_replacement,
)
from .tracing import fwd_only, joint_fwd_bwd

__all__ = [
    "MULTIPLE",
    "Arg",
    "CallFunction",
    "CallFunctionVarArgs",
    "CallMethod",
    "CallMethodVarArgs",
    "CallModule",
    "CallModuleVarArgs",
    "ExclusiveKeywordArg",
    "FailedMatch",
    "GraphPatternEntry",
    "Ignored",
    "KeywordArg",
    "ListOf",
    "LoweringPatternEntry",
    "Match",
    "MatchContext",
    "MultiOutputPattern",
    "Multiple",
    "PatternEntry",
    "PatternExpr",
    "PatternMatcherPass",
    "PatternPrettyPrinter",
    "RepeatedExpr",
    "ReplacementPatternEntry",
    "check_and_add_duplicate_pattern",
    "clone_graph",
    "compute_mutation_region_ids",
    "config_flag",
    "extract_target",
    "filter_nodes",
    "fwd_only",
    "fx_to_pattern",
    "gen_pattern",
    "gen_pattern_and_search_gm",
    "gen_register_replacement",
    "get_arg_value",
    "get_mutation_region_id",
    "init_once_fakemode",
    "is_match",
    "is_mutation_op",
    "is_start_of_fx_graph",
    "joint_fwd_bwd",
    "log_trace_failure",
    "register_graph_pattern",
    "register_lowering_pattern",
    "register_replacement",
    "same_mutation_regions",
    "should_compute_mutation_region_ids",
    "stable_topological_sort",
]


def init_once_fakemode(fn: Callable[..., Any]) -> Callable[[], Any]:
    """A function that runs another one at its first call, with tensors without memory.

    Args:
        fn: the other function, which registers patterns.

    Example:
        >>> run = init_once_fakemode(lambda: print("once"))
        >>> run(), run()
        once
        (None, None)
    """

    @functools.cache
    @functools.wraps(fn)
    def run() -> Any:
        with FakeTensorMode():
            return fn()

    return run
