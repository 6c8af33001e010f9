"""Replacements: a function whose operators are searched for, and a function whose operators take their place."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tl_core
from tl_compiler.fx import Graph, GraphModule, Node
from tl_core.pytree import tree_leaves

from ..decomposition import select_decomp_table
from .entries import ReplacementPatternEntry, _return_true
from .graph_patterns import fx_to_pattern
from .matches import Match, is_match
from .passes import PatternMatcherPass, check_and_add_duplicate_pattern
from .patterns import MultiOutputPattern
from .tracing import fake_region

__all__ = [
    "gen_pattern",
    "gen_pattern_and_search_gm",
    "gen_register_replacement",
    "log_trace_failure",
    "register_replacement",
]

_log = logging.getLogger("torch._inductor")
_GENERAL = (
    int,
    float,
    list,
    tl_core.device,
    tl_core.dtype,
)  # constants of the example, which other calls may lack


def log_trace_failure(search_fn: Callable[..., Any], e: RuntimeError) -> None:
    """Logs that a function can't be traced with the values of a match.

    Args:
        search_fn: the function.
        e: the error.
    """
    _log.info("Replacement pattern %s failed to apply due to shape mismatch: %s", search_fn.__name__, e)


def gen_pattern_and_search_gm(
    search_fn: Callable[..., Any],
    example_inputs: Sequence[Any],
    trace_fn: Callable[..., GraphModule],
    scalar_workaround: dict[str, float | int] | None = None,
    exclusive_arg_names: Sequence[str] = (),
    get_decomp_fn: Callable[[], dict[Any, Callable[..., Any]]] = select_decomp_table,
) -> tuple[Any, GraphModule]:
    """The pattern of the operators of a function, and their graph.

    Args:
        search_fn: the function.
        example_inputs: examples of its arguments, in order, without those of `scalar_workaround`.
        trace_fn: `fwd_only` or `joint_fwd_bwd`.
        scalar_workaround: the values of arguments that are numbers. Each is found by its value.
        exclusive_arg_names: arguments whose values differ.
        get_decomp_fn: accepted.
    """
    names = [*inspect.signature(search_fn).parameters]
    numbers = scalar_workaround or {}
    examples = iter(example_inputs)
    arguments = [numbers[name] if name in numbers else next(examples) for name in names]
    graph = trace_fn(search_fn, arguments)
    pattern = fx_to_pattern(
        graph,
        ignore_types=_GENERAL,
        argnames=names,
        scalar_workaround=scalar_workaround,
        exclusive_arg_names=exclusive_arg_names,
    )
    return pattern, graph


def gen_pattern(
    search_fn: Callable[..., Any],
    example_inputs: Sequence[Any],
    trace_fn: Callable[..., GraphModule],
    scalar_workaround: dict[str, float | int] | None = None,
    exclusive_arg_names: Sequence[str] = (),
) -> Any:
    """The pattern of the operators of a function.

    Args:
        search_fn: the function.
        example_inputs: examples of its arguments.
        trace_fn: `fwd_only` or `joint_fwd_bwd`.
        scalar_workaround: the values of arguments that are numbers.
        exclusive_arg_names: arguments whose values differ.

    Example:
        >>> from tl_compiler.compat.inductor.pattern_matcher.tracing import fwd_only
        >>> gen_pattern(lambda x: x.relu() + 1, [tl_core.ones(2)], fwd_only)
        CallFunction(add.Tensor, CallFunction(relu.default, KeywordArg('x')), *)
    """
    return gen_pattern_and_search_gm(
        search_fn, example_inputs, trace_fn, scalar_workaround, exclusive_arg_names
    )[0]


class _Replacement:
    """A pair of functions."""

    def __init__(
        self,
        search_fn: Callable[..., Any],
        replace_fn: Callable[..., Any],
        example_inputs: Sequence[Any],
        trace_fn: Callable[..., GraphModule],
        extra_check: Callable[[Match], bool],
        scalar_workaround: dict[str, float | int] | None,
        exclusive_arg_names: Sequence[str],
    ) -> None:
        self.search_fn, self.replace_fn, self.trace_fn = search_fn, replace_fn, trace_fn
        self.extra_check, self.exclusive = extra_check, exclusive_arg_names
        self.numbers = scalar_workaround or {}
        self.names = [*inspect.signature(search_fn).parameters]
        tensors = iter(example_inputs)
        self.gradients = [
            name not in self.numbers and bool(getattr(next(tensors), "requires_grad", False))
            for name in self.names
        ]

    def check(self, match: Match) -> bool:
        """Matches once more, with the sizes and types of this match, and traces the replacement for them.

        Args:
            match: a match of the pattern without constants.

        Raises:
            RuntimeError: an argument of the function is in no operator.
        """
        missing = [name for name in self.names if name not in match.kwargs]
        if missing:
            raise RuntimeError(
                f"Not all inputs to pattern found in match.kwargs. Perhaps one of the inputs is unused? "
                f"argnames={self.names}, match.kwargs={match.kwargs}"
            )
        values = [_example_of(v) for v in tree_leaves([match.args, match.kwargs])]
        with fake_region(values):
            arguments = [
                _argument(match.kwargs[name], gradient)
                for name, gradient in zip(self.names, self.gradients, strict=True)
            ]
            try:
                graph = self.trace_fn(self.search_fn, arguments)
            except RuntimeError as error:
                log_trace_failure(self.search_fn, error)
                return False
            specific = fx_to_pattern(
                graph,
                argnames=self.names,
                exclusive_arg_names=self.exclusive,
                scalar_workaround=self._numbers_of(match),
            )
            first = next(node for node in match.output_nodes() if node is not None)
            again = _relate(specific, match).match(first)
            if not is_match(again) or not self.extra_check(again):
                return False
            match.replacement_graph = self.trace_fn(self.replace_fn, arguments)
        return True

    def _numbers_of(self, match: Match) -> dict[str, float | int]:
        return {name: match.kwargs[name] for name in self.numbers if not isinstance(match.kwargs[name], Node)}

    def normalize(self, **kwargs: Any) -> list[Any]:
        """The values of a match in the order of the function's arguments; those of gradients come last.

        Args:
            kwargs: the values by name.
        """
        values = [kwargs.pop(name) for name in self.names]
        return values + [kwargs[f"tangents_{number}"] for number in range(1, len(kwargs) + 1)]


def _relate(pattern: Any, match: Match) -> Any:
    """The pattern, without the results that the pattern of the match ignores."""
    if isinstance(pattern, MultiOutputPattern):
        outputs = [
            p if q is not None else None for p, q in zip(pattern.outputs, match.ctx.outputs, strict=True)
        ]
        return MultiOutputPattern(outputs)
    return pattern


def _example_of(value: Any) -> Any:
    return value.meta.get("val") if isinstance(value, Node) else value


def _argument(value: Any, requires_grad: bool) -> Any:
    """An argument for tracing: a tensor without memory like that of a node, or a number."""
    example = _example_of(value)
    if not isinstance(example, tl_core.Tensor):
        return example
    return tl_core.empty_strided(
        example.size(),
        example.stride(),
        dtype=example.dtype,
        device=example.device,
        requires_grad=requires_grad,
    )


def register_replacement(
    search_fn: Callable[..., Any],
    replace_fn: Callable[..., Any],
    example_inputs: Iterable[Any],
    trace_fn: Callable[..., GraphModule],
    pass_dicts: Any,
    extra_check: Callable[[Match], bool] = _return_true,
    scalar_workaround: dict[str, float | int] | None = None,
    exclusive_arg_names: Sequence[str] = (),
    search_fn_pattern: Any = None,
    skip_duplicates: bool = False,
    pattern_name: str | None = None,
    get_decomp_fn: Callable[[], dict[Any, Callable[..., Any]]] = select_decomp_table,
) -> bool:
    """Adds a replacement to passes: where a graph has the operators of one function, those of another take their place.

    The sizes and types of the examples don't matter. At each match both functions are traced for the sizes and types of
    the values there.

    Args:
        search_fn: the function whose operators are searched for.
        replace_fn: the function whose operators take their place. It has the same arguments.
        example_inputs: examples of the arguments.
        trace_fn: `fwd_only` for graphs without a backward pass, `joint_fwd_bwd` for graphs of both passes.
        pass_dicts: a pass, or several.
        extra_check: takes a match and returns whether it is replaced.
        scalar_workaround: for arguments that are numbers: values by which they are found in the graph.
        exclusive_arg_names: arguments whose values differ.
        search_fn_pattern: the pattern of `search_fn`; None: it is traced.
        skip_duplicates: whether a pattern that is in a pass already is left out instead of an error.
        pattern_name: a name.
        get_decomp_fn: accepted.

    Returns:
        Whether the pattern was added.

    Raises:
        RuntimeError: the pattern is in a pass already.

    Example:
        >>> from tl_compiler.compat.inductor.pattern_matcher.tracing import fwd_only
        >>> table = PatternMatcherPass()
        >>> register_replacement(lambda x: x.exp().log(), lambda x: x.clone(), [tl_core.ones(2)], fwd_only, table)
        True
        >>> module = fwd_only(lambda x: x.exp().log() + 1, [tl_core.ones(3)])
        >>> table.apply(module)
        1
        >>> [str(n.target) for n in module.graph.nodes if n.op == "call_function"]
        ['aten.clone.default', 'aten.add.Tensor']
    """
    examples = list(example_inputs)
    replacement = _Replacement(
        search_fn, replace_fn, examples, trace_fn, extra_check, scalar_workaround, exclusive_arg_names
    )
    graph: Graph | None = None
    pattern = search_fn_pattern
    if pattern is None:
        pattern, module = gen_pattern_and_search_gm(
            search_fn, examples, trace_fn, scalar_workaround, exclusive_arg_names
        )
        graph = module.graph
    for table in pass_dicts if isinstance(pass_dicts, list | tuple) else [pass_dicts]:
        if isinstance(table, PatternMatcherPass) and check_and_add_duplicate_pattern(
            pattern, graph, table.seen_patterns, skip_duplicates
        ):
            return False
    ReplacementPatternEntry(pattern, replacement.check, replacement.normalize, pattern_name).register(
        pass_dicts
    )
    return True


def gen_register_replacement(
    unique_name: str,
    search_fn: Callable[..., Any],
    replace_fn: Callable[..., Any],
    example_inputs: Iterable[Any],
    trace_fn: Callable[..., GraphModule],
    pass_dicts: Any,
    extra_check: Callable[[Match], bool] = _return_true,
    scalar_workaround: dict[str, float | int] | None = None,
    exclusive_arg_names: Sequence[str] = (),
    skip_duplicates: bool = False,
    get_decomp_fn: Callable[[], dict[Any, Callable[..., Any]]] = select_decomp_table,
) -> None:
    """Adds a replacement to passes. PyTorch reads its pattern from a file of that name; here it is traced.

    Args:
        unique_name: the file's name in PyTorch.
        search_fn, replace_fn, example_inputs, trace_fn, pass_dicts, extra_check: as in `register_replacement`.
        scalar_workaround, exclusive_arg_names, skip_duplicates, get_decomp_fn: as there.
    """
    register_replacement(
        search_fn,
        replace_fn,
        example_inputs,
        trace_fn,
        pass_dicts,
        extra_check,
        scalar_workaround,
        exclusive_arg_names,
        skip_duplicates=skip_duplicates,
        pattern_name=unique_name,
    )
