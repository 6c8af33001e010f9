"""Marks for the compiler, on functions and in the course of a program."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, overload

import tl_nn
from tl_nn.optimized_module import OptimizedModule

from .function_annotations import (
    ALLOW,
    CONSTANT,
    FORBID,
    NONSTRICT,
    REFUSE,
    SUBSTITUTE,
    check_signatures,
    mark,
    mark_of,
    unmark,
)
from .stance import Stance, run_in
from .watch import stop_here

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "cudagraph_mark_step_begin",
    "disable",
    "disallow_in_graph",
    "forbid_in_graph",
    "nonstrict_trace",
    "reset",
    "substitute_in_graph",
    "wrap_numpy",
]


F = TypeVar("F", bound=Callable[..., Any])


@overload
def disable(fn: F, recursive: bool = ..., *, reason: str | None = ..., wrapping: bool = ...) -> F: ...
@overload
def disable(
    fn: None = None, recursive: bool = ..., *, reason: str | None = ..., wrapping: bool = ...
) -> Callable[[F], F]: ...
def disable(
    fn: Any = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True
) -> Any:
    """A function or module that isn't compiled; `@disable`, `@disable()` and `disable(f)` all work.

    A compiled function that calls it runs eagerly, and `fullgraph=True` raises there.

    Args:
        fn: the function, class or module.
        recursive: whether compiled functions that it calls run eagerly too.
        reason: why, for messages.
        wrapping: accepted.

    Returns:
        The function, which runs eagerly; a module in an `OptimizedModule`; a class whose calls run eagerly.

    Raises:
        AssertionError: `fn` can't be called.

    Example:
        >>> @disable
        ... def plain(x):
        ...     return x + 1
        >>> plain(1)
        2
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    _check_callable("disable", fn)
    if isinstance(fn, tl_nn.Module):
        return OptimizedModule(fn, _run_eagerly(fn.__call__, recursive, reason))
    if isinstance(fn, type):
        if issubclass(fn, tl_nn.Module):
            fn.__call__ = _run_eagerly(fn.__call__, recursive, reason)  # type: ignore[method-assign]
        return fn
    return _run_eagerly(getattr(fn, "_torchdynamo_orig_callable", fn), recursive, reason)


def _run_eagerly(fn: Any, recursive: bool, reason: str | None) -> Any:
    @functools.wraps(fn, updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        stop_here(
            "a function is called that torch.compiler.disable marks" + (f": {reason}" if reason else "")
        )
        return call(*args, **kwargs)

    call = run_in(Stance("force_eager"), fn) if recursive else fn
    run._torchdynamo_disable = True  # type: ignore[attr-defined]
    run._torchdynamo_disable_msg = reason  # type: ignore[attr-defined]
    run._torchdynamo_orig_callable = fn  # type: ignore[attr-defined]
    return run


def allow_in_graph(fn: Any) -> Any:
    """Marks a function as one node of a graph: a capture doesn't look into the function, and the graph calls it.

    The arguments of the function are tensors, constants and containers of these, and its result is a tensor, a tuple of
    tensors, or None. Removes the mark of `disallow_in_graph`.

    Args:
        fn: the function, or several in a list.

    Returns:
        The same function, or the list.

    Raises:
        AssertionError: `fn` can't be called.

    Example:
        >>> import tl_core
        >>> from tl_compiler import compiler
        >>> @compiler.allow_in_graph
        ... def double(x):
        ...     return 2 * x
        ...
        >>> double(tl_core.ones(2))
        tensor([2., 2.])
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    _check_callable("allow_in_graph", fn)
    unmark(fn)
    if isinstance(fn, FunctionType):
        mark(fn, ALLOW)
    return fn


def disallow_in_graph(fn: Any) -> Any:
    """Marks a function that no graph has: a compiled function that calls it runs eagerly.

    Args:
        fn: the function, or several in a list.

    Returns:
        The same function, or the list.

    Raises:
        AssertionError: `fn` can't be called.

    Example:
        >>> def add(x):
        ...     return x + 1
        >>> disallow_in_graph(add)(1)
        2
    """
    return _mark_each("disallow_in_graph", REFUSE, fn)


def forbid_in_graph(fn: Any) -> Any:
    """Marks a function that no compiled function may call.

    Args:
        fn: the function, or several in a list.

    Returns:
        The same function, or the list.

    Raises:
        AssertionError: `fn` can't be called, or later: a compiled function calls it.

    Example:
        >>> def add(x):
        ...     return x + 1
        >>> forbid_in_graph(add)(1)
        2
    """
    return _mark_each("forbid_in_graph", FORBID, fn)


def _mark_each(name: str, kind: str, fn: Any) -> Any:
    if isinstance(fn, (list, tuple)):
        return [_mark_each(name, kind, each) for each in fn]
    _check_callable(name, fn)
    mark(fn, kind)
    return fn


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function whose result never changes: a capture calls the function as it is, and its result is a constant.

    Later calls use the result whatever the function reads, and its effects happen once for each graph.

    Args:
        fn: the function. It takes no tensors.

    Returns:
        The same function.

    Raises:
        AssertionError: `fn` can't be called.

    Example:
        >>> import tl_core
        >>> from tl_compiler import compiler
        >>> @compiler.assume_constant_result
        ... def factor():
        ...     return 3
        ...
        >>> triple = compiler.compile(lambda x: factor() * x, backend="eager")
        >>> triple(tl_core.ones(2))
        tensor([3., 3.])
    """
    _check_callable("assume_constant_result", fn)
    mark(fn, CONSTANT)
    return fn


def nonstrict_trace(traceable_fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that a capture calls without a watch: its operators are recorded.

    Its effects happen once for each graph. Later calls use the graph whatever the function reads.

    Args:
        traceable_fn: the function.

    Returns:
        A function that does the same.

    Raises:
        AssertionError: `traceable_fn` can't be called.

    Example:
        >>> nonstrict_trace(lambda x: x + 1)(1)
        2
    """
    _check_callable("nonstrict_trace", traceable_fn)

    @functools.wraps(traceable_fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        return traceable_fn(*args, **kwargs)

    mark(run, NONSTRICT)
    return run


def substitute_in_graph(
    original_fn: Callable[..., Any],
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
    is_embedded_type: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for a function that a capture calls in place of another.

    The other function is one of Python. Functions of C run as they are, whether they have a substitute or not.

    Args:
        original_fn: the function that is replaced.
        can_constant_fold_through: accepted: a capture runs the substitute with constants as well.
        skip_signature_check: whether the two may differ in their parameters.
        is_embedded_type: whether `original_fn` is a class.

    Returns:
        The decorator, which returns the decorated function.

    Raises:
        AssertionError: one of the two can't be called.
        TypeError: the two differ in their parameters.
        ValueError: the function has another substitute.

    Example:
        >>> import tl_core
        >>> from tl_compiler import compiler
        >>> def half(x):
        ...     return x / 2
        ...
        >>> @compiler.substitute_in_graph(half)
        ... def graph_half(x):
        ...     return 0.5 * x
        ...
        >>> compiler.compile(lambda x: half(x), backend="eager", fullgraph=True)(tl_core.ones(2))
        tensor([0.5000, 0.5000])
    """
    _check_callable("substitute_in_graph", original_fn)

    def decorate(traceable_fn: Callable[..., Any]) -> Callable[..., Any]:
        _check_callable("the decorated object", traceable_fn)
        if not skip_signature_check:
            check_signatures(original_fn, traceable_fn)
        former = mark_of(original_fn)
        if former is not None and former.kind == SUBSTITUTE:
            raise ValueError(f"Duplicate dispatch rule for {original_fn}: it has a substitute already")
        mark(original_fn, SUBSTITUTE, traceable_fn)
        return traceable_fn

    return decorate


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy arrays as one of tensors: arguments are converted to arrays, results to tensors. It runs
    eagerly, without derivatives.

    Args:
        fn: the function.

    Example:
        >>> import tl_core
        >>> wrap_numpy(lambda x: x + 1)(tl_core.ones(2))
        tensor([2., 2.])
    """
    import tl_core
    from tl_core.pytree import tree_map

    def to_array(x: Any) -> Any:
        return x.detach().numpy() if isinstance(x, tl_core.Tensor) else x

    def to_tensor(x: Any) -> Any:
        is_array = type(x).__module__ == "numpy" and hasattr(x, "__array__")
        return tl_core.as_tensor(x) if is_array else x

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(to_array, (args, kwargs))
        return tree_map(to_tensor, fn(*args, **kwargs))

    return run


def cudagraph_mark_step_begin() -> None:
    """Nothing: it says where a step begins, for graphs of CUDA kernels, and there are none.

    Example:
        >>> from tl_compiler import compiler
        >>> compiler.cudagraph_mark_step_begin()
    """


def reset() -> None:
    """Forgets the graphs of all compiled functions.

    Example:
        >>> from tl_compiler import compiler
        >>> compiler.reset()
    """
    if "tl_compiler.compiler.compiled_function" in sys.modules:
        sys.modules["tl_compiler.compiler.compiled_function"].reset_all()


def _check_callable(name: str, fn: Any) -> Any:
    if not callable(fn):
        raise AssertionError(f"fn must be callable: {name} expects a callable, got {type(fn)}")
    return fn
