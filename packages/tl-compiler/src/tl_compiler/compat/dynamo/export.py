"""`torch._dynamo.export`: a function or module as a graph that is called as it was."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import tl_core
import tl_nn
from tl_compiler.export.dynamic_shapes import Dim
from tl_compiler.fx._symbolic_trace import symbolic_trace
from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.proxy import TraceError
from tl_core.pytree import tree_map

__all__ = ["ExportResult", "export"]


class ExportResult(NamedTuple):
    """A graph, and what it rests on.

    Args:
        graph_module: the graph as a module.
        guards: what was asked of sizes while it was traced.
    """

    graph_module: GraphModule
    guards: list[Any]


class _AsModule(tl_nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        object.__setattr__(self, "forward", function)  # with its own signature


def export(
    f: Callable[..., Any],
    *extra_args: Any,
    aten_graph: bool = False,
    pre_dispatch: bool = False,
    decomposition_table: dict[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "symbolic",
    dynamic_shapes: Any = None,
    specialize_float: bool = True,
    assume_static_by_default: bool = False,
    same_signature: bool = True,
    disable_constraint_solver: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
    _log_export_usage: bool = True,
    constraints: Any = None,
    **extra_kwargs: Any,
) -> Any:
    """A function that traces `f` on examples, and returns a graph that is called as `f` is, with its guards.

    Args:
        f: a function or module.
        extra_args, extra_kwargs: examples; with some, the graph is returned at once: an older form.
        aten_graph: whether the graph has operators, whose nodes say in `meta["source_fn_stack"]` which function or
            layer they come from; else it has the functions and layers that the program calls, which stand for tensors
            of any size, unless sizes or values decide what the program calls.
        pre_dispatch: with `aten_graph`: whether operators that are made of others stay whole.
        decomposition_table: with `aten_graph`: from operators to functions that take their place.
        tracing_mode: "symbolic": sizes stay symbols, as far as the program lets them; else they are numbers.
        dynamic_shapes: which sizes are dynamic, as `export.export` takes it.
        assume_static_by_default: whether sizes are numbers unless `dynamic_shapes` says otherwise.
        prefer_deferred_runtime_asserts_over_guards: whether conditions are checked at run time instead.
        specialize_float, same_signature, disable_constraint_solver, _log_export_usage, constraints: accepted.

    Returns:
        The function, which returns an `ExportResult`.

    Raises:
        AssertionError: there is a `decomposition_table`, or `pre_dispatch`, without `aten_graph`.

    Example:
        >>> graph, _ = export(lambda x: x.sin() + 1, aten_graph=True)(tl_core.zeros(2))
        >>> graph(tl_core.zeros(3))
        tensor([1., 1., 1.])
    """
    if not aten_graph and (decomposition_table is not None or pre_dispatch):
        raise AssertionError("a decomposition table and pre_dispatch go with aten_graph=True")

    def export_call(*args: Any, **kwargs: Any) -> ExportResult:
        graph = None if aten_graph else _graph_of_calls(f, args, kwargs)
        if graph is not None:
            return ExportResult(graph, [])
        module = f if isinstance(f, tl_nn.Module) else _AsModule(f)
        shapes = dynamic_shapes
        if shapes is None and tracing_mode == "symbolic" and not assume_static_by_default:
            shapes = _any_sizes(module, args, kwargs)
        above = pre_dispatch or not aten_graph
        return _of_operators(
            module, args, kwargs, shapes, decomposition_table, above, prefer_deferred_runtime_asserts_over_guards
        )  # fmt: skip

    return export_call(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else export_call


def _graph_of_calls(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> GraphModule | None:
    """The graph with the functions and layers that a program calls.

    None: defaults of parameters, sizes or values decide what the program calls. The examples have these.
    """
    signature = inspect.signature(f.forward if isinstance(f, tl_nn.Module) else f)
    if signature.bind(*args, **kwargs).arguments.keys() != signature.parameters.keys():
        return None
    try:
        return symbolic_trace(f)
    except (
        TraceError,
        RuntimeError,
        TypeError,
    ):  # an error of the program itself comes again with the examples
        return None


def _any_sizes(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Dynamic shapes by which each size is a symbol, unless the program needs its number."""
    bound = inspect.signature(module.forward).bind(*args, **kwargs)
    return tree_map(
        lambda x: dict.fromkeys(range(x.dim()), Dim.AUTO) if isinstance(x, tl_core.Tensor) else None,
        dict(bound.arguments),
    )


def _of_operators(
    module: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    shapes: Any,
    table: dict[Any, Callable[..., Any]] | None,
    pre_dispatch: bool,
    deferred: bool,
) -> ExportResult:
    from tl_compiler.export._trace import trace_program

    program = trace_program(module, args, kwargs, shapes, (), deferred, notes_sources=True)
    env = program.graph_module.meta["shape_env"]
    if not pre_dispatch:
        program = program.run_decompositions(table or {})
    return ExportResult(program.module(), list(env.guards))
