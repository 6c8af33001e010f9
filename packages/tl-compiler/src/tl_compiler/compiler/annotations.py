"""Marks for the compiler, on functions and in the course of a program."""

from __future__ import annotations

import contextlib
import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, overload

import tl_nn
from tl_nn.optimized_module import OptimizedModule

from .stance import Stance, run_in
from .warn_once import warn_once
from .watch import stop_here

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "cudagraph_mark_step_begin",
    "disable",
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
    """Marks a function, or each of a list, as one call of a graph. Graphs have operators: what the function is made of
    is recorded, or keeps the call from becoming a graph; a warning says so once, when a compiled function reaches it.

    Args:
        fn: the function, or several.

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
    return _note("allow_in_graph: without effect; a graph has the operators that the function is made of", fn)


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function whose result never changes. It is called whenever a graph is made, and a graph has its
    operators; a warning says so once, when a compiled function reaches it.

    Args:
        fn: the function.

    Example:
        >>> from tl_compiler import compiler
        >>> @compiler.assume_constant_result
        ... def size():
        ...     return 3
        ...
        >>> size()
        3
    """
    text = "assume_constant_result: without effect; the function is looked into like all others"
    return _note(text, fn)


def substitute_in_graph(
    original_fn: Callable[..., Any],
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
    is_embedded_type: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for a function that the compiler is to look at in place of another. A graph records what the original
    does, or isn't made; a warning says so once, when a compiled function reaches it.

    Args:
        original_fn: the function that is replaced.
        can_constant_fold_through: whether calls with constants may be computed beforehand.
        skip_signature_check: whether the two may differ in their arguments.
        is_embedded_type: accepted.

    Example:
        >>> from tl_compiler import compiler
        >>> def half(x):
        ...     return x / 2
        ...
        >>> @compiler.substitute_in_graph(half)
        ... def traced_half(x):
        ...     return 0.5 * x
        ...
        >>> traced_half(4.0)
        2.0
    """
    _note("substitute_in_graph: without effect; a graph records what the original function does", original_fn)
    return functools.partial(_check_callable, "the decorated object")


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


_notes: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def _note(text: str, fn: Any) -> Any:
    _check_callable(text.partition(":")[0], fn)
    with contextlib.suppress(
        TypeError
    ):  # what has no weak references is an operator or a class of Python's own
        _notes[fn] = text
    return fn


def say_without_effect(function: Any) -> None:
    """Says once of a function's annotation that it has no effect.

    Args:
        function: one that a compiled function reaches.
    """
    if function in _notes:
        warn_once(_notes[function])


def _check_callable(name: str, fn: Any) -> Any:
    if not callable(fn):
        raise AssertionError(f"fn must be callable: {name} expects a callable, got {type(fn)}")
    return fn
