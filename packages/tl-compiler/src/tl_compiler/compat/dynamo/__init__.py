"""`torch._dynamo`: what `compile` does with functions, under the names of PyTorch. No frames are evaluated: a call runs
on tensors without memory, and its operators become a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tl_compiler._C import in_region
from tl_core.base.lazy_attributes import attach
from tl_core.dispatch import modes as dispatch_modes
from tl_core.symbolic.dim_range import DimRange

if TYPE_CHECKING:
    from tl_compiler.compiler import dynamo_config as config
    from tl_compiler.compiler import errors as exc
    from tl_compiler.compiler.annotations import (
        allow_in_graph,
        assume_constant_result,
        disable,
        disallow_in_graph,
        forbid_in_graph,
        nonstrict_trace,
        substitute_in_graph,
    )
    from tl_compiler.compiler.backends import (
        list_backends,
        lookup_backend,
        register_backend,
        register_debug_backend,
        register_experimental_backend,
    )
    from tl_compiler.compiler.explanation import ExplainOutput
    from tl_compiler.compiler.stance import set_stance

    from .callback import on_compile_end, on_compile_start
    from .eval_frame import OptimizedModule
    from .export import ExportResult, export
    from .regions import error_on_graph_break, patch_dynamo_config

__all__ = [
    "ExplainOutput",
    "ExportResult",
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "error_on_graph_break",
    "exc",
    "explain",
    "export",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "is_inductor_supported",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "on_compile_end",
    "on_compile_start",
    "optimize",
    "optimize_assert",
    "patch_dynamo_config",
    "register_backend",
    "reset",
    "reset_code_caches",
    "run",
    "set_stance",
    "substitute_in_graph",
]

# Libraries ask for a decorator at import; most never for a graph, and what makes one takes long to load.
_of_package, _names, _ = attach(
    __name__,
    {
        "callback": ["on_compile_end", "on_compile_start"],
        "regions": ["error_on_graph_break", "patch_dynamo_config"],
        "eval_frame": ["OptimizedModule"],
        "export": ["ExportResult", "export"],
    },
    (
        "backends",
        "callback",
        "compiled_autograd",
        "debug_utils",
        "decorators",
        "external_utils",
        "source",
        "test_case",
        "testing",
        "utils",
    ),
)
_MODULES = {"config": "dynamo_config", "exc": "errors"}
_COMPILER = {
    "ExplainOutput": "explanation",
    "allow_in_graph": "annotations",
    "assume_constant_result": "annotations",
    "disable": "annotations",
    "disallow_in_graph": "annotations",
    "forbid_in_graph": "annotations",
    "nonstrict_trace": "annotations",
    "list_backends": "backends",
    "lookup_backend": "backends",
    "register_backend": "backends",
    "register_debug_backend": "backends",
    "register_experimental_backend": "backends",
    "reset": "annotations",
    "reset_code_caches": "annotations",
    "set_stance": "stance",
    "substitute_in_graph": "annotations",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"tl_compiler.compiler.{_MODULES[name]}")
    if name in _COMPILER:
        module = import_module(f"tl_compiler.compiler.{_COMPILER[name]}")
        return getattr(module, "reset" if name == "reset_code_caches" else name)
    return _of_package(name)


def __dir__() -> list[str]:
    return sorted({*_names(), *_MODULES})


def is_inductor_supported() -> bool:
    """Whether the code generator of PyTorch can be used: there is none here.

    Returns:
        False.
    """
    return False


def run(fn: Any = None) -> Any:
    """A function, compiled or not, that compiles nothing more: where no graph holds, it runs eagerly.

    Args:
        fn: the function; without it, the result is a decorator.
    """
    from tl_compiler.compiler.stance import Stance, run_in

    return (
        run_in(Stance("eager_on_recompile"), fn)
        if fn is not None
        else lambda f: run_in(Stance("eager_on_recompile"), f)
    )


def optimize(backend: Any = "inductor", *, nopython: bool = False, **options: Any) -> Callable[[Any], Any]:
    """A decorator: the older form of `compile`.

    Args:
        backend: a backend, by its name or as a function.
        nopython: the older name of `fullgraph`.
        options: `dynamic` and `disable`, as `compile` takes them; others are accepted.

    Example:
        >>> import tl_core
        >>> optimize("eager")(lambda x: 2 * x)(tl_core.ones(2))
        tensor([2., 2.])
    """
    from tl_compiler.compiler import compile as compile_model

    settings = {name: options[name] for name in ("dynamic", "disable") if name in options}
    return compile_model(backend=backend, fullgraph=nopython, **settings)


def optimize_assert(backend: Any = "inductor", **options: Any) -> Callable[[Any], Any]:
    """`optimize`, where a call that can't become one graph raises.

    Args:
        backend: a backend, by its name or as a function.
        options: what `optimize` takes.
    """
    return optimize(backend, nopython=True, **options)


def is_compiling() -> bool:
    """Whether a program is compiled or becomes a graph.

    Returns:
        Whether operators are recorded or compute together.

    Example:
        >>> is_compiling()
        False
    """
    return in_region() or dispatch_modes.is_compiling()


def is_dynamo_supported() -> bool:
    """Whether `torch.compile` may be called on this system: always.

    Returns:
        True.
    """
    return True


def graph_break(msg: str = "") -> None:
    """Keeps the call of a compiled function around it from becoming a graph: that runs eagerly.

    Args:
        msg: why.
    """
    from tl_compiler.compiler.watch import stop_here

    stop_here(msg or "graph_break() is called")


def mark_dynamic(
    t: Any, index: Any, *, min: int | None = None, max: int | None = None, **options: Any
) -> None:
    """Says that a size of a tensor is a symbol of graphs, from the first on: one graph holds for all of the range.

    Args:
        t: the tensor, which is given to a compiled function as an argument, or within a list, tuple or dictionary.
        index: the dimension, or several.
        min, max: the least and the greatest size; sizes 0 and 1 make a graph of their own.
        options: accepted.

    Raises:
        ConstraintViolationError: when a compiled function gets the tensor, and needs one size, or a narrower range.

    Example:
        >>> import tl_core
        >>> from tl_compiler import compiler
        >>> def count(graph, examples):
        ...     print("a graph")
        ...     return graph.forward
        >>> double = compiler.compile(lambda x: 2 * x, backend=count)
        >>> x = tl_core.ones(3)
        >>> mark_dynamic(x, 0)
        >>> double(x).shape, double(tl_core.ones(5)).shape
        a graph
        (torch.Size([3]), torch.Size([5]))
    """
    indices = index if isinstance(index, (list, tuple)) else (index,)
    t.__dict__.setdefault("_dynamo_dynamic_indices", set()).update(indices)
    t.__dict__.setdefault("_dynamo_dynamic_range", set()).update(DimRange(i, min, max) for i in indices)


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """`mark_dynamic`, where a program that needs one size makes a graph of that size.

    Args:
        t: the tensor.
        index: the dimension, or several.
    """
    indices = index if isinstance(index, (list, tuple)) else (index,)
    t.__dict__.setdefault("_dynamo_weak_dynamic_indices", set()).update(indices)


def mark_static(t: Any, index: Any = None) -> None:
    """Says that sizes of a tensor are numbers in graphs, whatever `compile(dynamic=)` is.

    Args:
        t: the tensor.
        index: the dimension, or several; None: all.
    """
    dims = range(t.dim()) if index is None else index if isinstance(index, (list, tuple)) else (index,)
    t.__dict__.setdefault("_dynamo_static_indices", set()).update(dims)


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Notes that a tensor stays where it is. A graph gets its tensors as inputs at each call, wherever they are.

    Args:
        t: the tensor.
        guard: accepted.
    """
    t.__dict__["_dynamo_static_input_type"] = "guarded" if guard else "unguarded"


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """What becomes of a call of a function: which graph, or why none.

    Args:
        f: the function or module.
        extra_args, extra_kwargs: arguments of the call; with some, the answer is given at once: an older form.

    Returns:
        A function that takes the arguments of a call and returns an `ExplainOutput`.

    Example:
        >>> import tl_core
        >>> explain(lambda x: x.sin() + 1)(tl_core.ones(2)).op_count
        2
        >>> report = explain(lambda x: x if x.sum() > 0 else -x)(tl_core.ones(2))
        >>> report.graph_count, report.break_reasons[0].reason
        (0, 'the value of a tensor is asked for')
    """
    from tl_compiler.compiler.explanation import explain_call
    from tl_nn import Module

    def report(*args: Any, **kwargs: Any) -> Any:
        function = getattr(f, "_torchdynamo_orig_callable", f)
        if isinstance(function, Module):
            function = getattr(function, "_orig_mod", function).__call__
        return explain_call(function, args, kwargs)

    return report(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else report
