"""`compile`: checks what it is given, and wraps the function or module, which becomes graphs when it is called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, overload

import tl_nn
from tl_nn.optimized_module import OptimizedModule

from .backends import lookup_backend

__all__ = ["compile"]

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


F = TypeVar("F", bound=Callable[..., Any])


@overload
def compile(
    model: F,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    disable: bool = ...,
) -> F: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    disable: bool = ...,
) -> Callable[[F], F]: ...
def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """A function, or a module within an `OptimizedModule`, that hands graphs of its calls to a backend.

    A backend that is a function gets a GraphModule, whose nodes are operators, and a list of examples of its inputs:
    the arguments' numbers that are symbols of the graph, the arguments' tensors, then those that the function holds,
    such as parameters. What it returns is run in place of the function, with such inputs, and returns a tuple or list
    of tensors. One graph holds for calls of equal types, attributes, global variables and settings, and for all sizes
    and numbers that fit what the program asks of its symbols; for others a new one is made, up to
    `torch._dynamo.config.recompile_limit`.

    A call becomes a graph only if the graph computes the same result. It runs eagerly if the value of a tensor decides,
    if the function has effects that no graph can repeat, or if its state isn't known in full. In such a call each
    outermost module that can become a graph does, so that the backend gets several graphs. `torch._dynamo.explain` and
    `TORCH_LOGS=dynamo` give the reasons. An autograd.Function is one node of a graph.

    With the default backend there is no graph. The function runs as Python, whatever decides in it. Its elementwise
    operators on 1,024 elements or more wait until something needs their results, and compute together in one pass over
    the elements. The results are the same bits. `options` and `dynamic` have no effect.

    A graph module whose operators have a pass of another package runs as that pass makes it, when gradients are off.
    So a model of `convert_pt2e` runs on integer kernels: the last bits of its results differ.

    A call is recorded that reads its arguments and what it can compare, and changes nothing but tensors. Later calls
    like it run its operators without Python. This begins with the second call in the mode "reduce-overhead", and after
    three calls of the same operators on small tensors otherwise. `tl.compiler.explain` says why a call is not replayed.

    Args:
        model: the function or module; without it, the result is a decorator.
        fullgraph: whether a call that can't become one graph raises. With the default backend, it raises where the
            value of a tensor decides.
        dynamic: whether sizes of the arguments' tensors, and arguments that are ints, are symbols of the graph. None: a
            first graph has numbers; those that are others in a later call are symbols of the next. True: all are, from
            the first call on. False: none, and new ones make a new graph. `mark_dynamic` and `mark_static` say it of
            one size. Sizes and numbers 0 and 1 never are, nor are sizes of parameters.
        backend: the name of a backend, or a function.
        mode: "default", "reduce-overhead", "max-autotune" or "max-autotune-no-cudagraphs"; a backend that is a function
            gets it by keyword. The default backend records the second call in the mode "reduce-overhead".
        options: settings that a backend gets by keyword; not together with `mode`.
        disable: gives back what it got.

    Returns:
        The compiled function, or the module's wrapper, whose state has names that begin with `_orig_mod.`.

    Raises:
        AssertionError: `model` can't be called, or `fullgraph`, `dynamic` or `disable` isn't a bool.
        RuntimeError: an unknown `mode`, `options` that aren't a dictionary, or both.
        InvalidBackend: an unknown `backend`.

    Example:
        >>> def count(graph, examples):
        ...     print(len(graph.graph.nodes), "nodes")
        ...     return graph.forward
        >>> @compile(backend=count)
        ... def double(x):
        ...     return 2 * x
        >>> double(tl_core.ones(2))
        3 nodes
        tensor([2., 2.])
        >>> double(tl_core.zeros(2))
        tensor([0., 0.])
    """
    _check_flag("fullgraph", fullgraph)
    _check_flag("disable", disable)
    if dynamic is not None:
        _check_flag("dynamic", dynamic)
    _check_settings(mode, options)
    if backend is not None:
        lookup_backend(backend)
    extras = {"mode": mode} if mode not in (None, "default") else {"options": options} if options else {}
    settings = (backend, fullgraph, dynamic, extras)
    if model is None:
        return partial(_finish, settings=settings, disable=disable)
    return _finish(model, settings, disable)


def _finish(model: Any, settings: tuple[Any, ...], disable: bool) -> Any:
    from .compiled_function import Settings, wrap  # what makes graphs takes long to load

    if not callable(model):
        raise AssertionError(f"A callable function is expected as model, but {type(model)} is provided.")
    if disable or hasattr(model, "_torchdynamo_disable"):
        return model
    if isinstance(model, OptimizedModule):
        model = model._orig_mod
    if isinstance(model, tl_nn.Module):
        return OptimizedModule(model, wrap(model.__call__, Settings(*settings), is_module=True))
    model = getattr(model, "_torchdynamo_orig_callable", model)
    return wrap(model, Settings(*settings))


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise AssertionError(f"Expected {name} to be a bool, got {type(value)}: {value!r}")


def _check_settings(mode: Any, options: Any) -> None:
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if options is not None and not (
        isinstance(options, dict) and all(isinstance(name, str) for name in options)
    ):
        raise RuntimeError(f"options must be a dictionary of settings by name, got {options!r}")
