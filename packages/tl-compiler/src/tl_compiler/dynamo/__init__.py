"""Names of the reference's frame evaluation that libraries import. Nothing here evaluates frames: programs run
as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tl_core.lazy_attributes import attach

if TYPE_CHECKING:
    from . import config, exc
    from .eval_frame import OptimizedModule
    from .export import ExportResult, export

__all__ = [
    "ExportResult",
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "exc",
    "explain",
    "export",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
    "reset_code_caches",
    "run",
]

# Libraries ask for a decorator at import; most never for a graph, and what makes one takes long to load.
__getattr__, __dir__, _ = attach(
    __name__,
    {"eval_frame": ["OptimizedModule"], "export": ["ExportResult", "export"]},
    ("config", "exc", "source", "utils"),
)


def disable(
    fn: Any = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True
) -> Any:
    """A decorator that leaves a function as it is.

    Args:
        fn: the function, or None for the decorator.
        recursive, reason, wrapping: accepted.

    Returns:
        The function.

    Example:
        >>> disable(len)([1])
        1
    """
    return fn if fn is not None else (lambda f: f)


def _as_it_is(fn: Any) -> Any:
    """Gives the function, or each of a list, back: what a trace makes of a call, its operators decide."""
    return [_as_it_is(f) for f in fn] if isinstance(fn, (list, tuple)) else fn


allow_in_graph = assume_constant_result = disallow_in_graph = forbid_in_graph = _as_it_is


def run(fn: Any = None) -> Any:
    """The function itself.

    Args:
        fn: the function.
    """
    return fn


def optimize(backend: Any = "inductor", **options: Any) -> Callable[[Any], Any]:
    """A decorator that leaves a function as it is.

    Args:
        backend, options: accepted.

    Returns:
        The decorator.
    """
    return lambda fn: fn


def is_compiling() -> bool:
    """Whether a program is being traced.

    Returns:
        Whether operators are recorded.

    Example:
        >>> is_compiling()
        False
    """
    from tl_compiler.tracer.proxy_mode import current_mode  # not before somebody asks

    return current_mode() is not None


def is_dynamo_supported() -> bool:
    """Whether `torch.compile` may be called on this system: always, though it runs functions as they are.

    Returns:
        True.
    """
    return True


def reset() -> None:
    """Nothing: there are no caches."""


reset_code_caches = reset


def graph_break(msg: str = "") -> None:
    """Nothing: programs run as they are.

    Args:
        msg: accepted.
    """


def mark_dynamic(
    t: Any, index: Any, *, min: int | None = None, max: int | None = None, **options: Any
) -> None:
    """Notes that a size of a tensor is dynamic.

    Args:
        t: the tensor.
        index: the dimension, or several.
        min, max: the least and the greatest size.
        options: accepted.
    """
    held = t.__dict__.setdefault("_dynamo_dynamic_indices", set())
    held.update(index if isinstance(index, (list, tuple)) else (index,))


maybe_mark_dynamic = mark_dynamic


def mark_static(t: Any, index: Any = None) -> None:
    """Notes that sizes of a tensor are not dynamic.

    Args:
        t: the tensor.
        index: the dimension, or several; None: all.
    """
    wanted = range(t.dim()) if index is None else index if isinstance(index, (list, tuple)) else (index,)
    t.__dict__.setdefault("_dynamo_static_indices", set()).update(wanted)


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Notes that a tensor stays where it is.

    Args:
        t: the tensor.
        guard: accepted.
    """
    t.__dict__["_dynamo_static_input_type"] = "guarded" if guard else "unguarded"


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names of compilers.

    Args:
        exclude_tags: accepted.

    Returns:
        One name: programs run eagerly.
    """
    return ["eager"]


def explain(f: Any, *args: Any, **kwargs: Any) -> Any:
    """What would be compiled.

    Args:
        f: the function.
        args, kwargs: accepted.

    Raises:
        NotImplementedError: always: no frames are evaluated.
    """
    raise NotImplementedError(
        "dynamo.explain(): no frames are evaluated; export and fx show programs as graphs"
    )
