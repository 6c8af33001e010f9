"""The backends of `compile`: functions that get a graph and examples of its inputs, and return what is run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from .warn_once import warn_once

__all__ = [
    "InvalidBackend",
    "is_absent",
    "is_default",
    "list_backends",
    "lookup_backend",
    "register_backend",
    "set_graph_compiler",
]

CompilerFn = Callable[..., Callable[..., Any]]


class InvalidBackend(RuntimeError):
    """There is no backend of that name."""

    def __init__(self, name: Any = None) -> None:
        names = ", ".join(sorted({*_registered, *_ABSENT}))
        super().__init__(f"Invalid backend: {name!r}, should be a function or one of: {names}")


_graph_compiler: str | None = None
_registered: dict[str, tuple[CompilerFn, tuple[str, ...]]] = {}
# What programs name, and what is not there.
_ABSENT = {
    "cudagraphs": "there are no CUDA graphs",
    "inductor": "tl's compiler takes functions, not graphs",
    "onnxrt": "ONNX Runtime isn't connected",
    "openxla": "XLA isn't connected",
    "tvm": "TVM isn't connected",
}


def register_backend(
    compiler_fn: CompilerFn | None = None, name: str | None = None, tags: Sequence[str] = ()
) -> Any:
    """Makes a backend known by a name; also a decorator.

    Args:
        compiler_fn: gets a GraphModule and a list of examples, and returns a function that takes such inputs and
            returns a tuple or list of tensors.
        name: its name; that of the function by default.
        tags: words by which `list_backends` leaves it out.

    Returns:
        The function.

    Raises:
        AssertionError: `compiler_fn` can't be called, or the name is another's.

    Example:
        >>> @register_backend(name="as_it_is", tags=("debug",))
        ... def as_it_is(graph, examples):
        ...     return graph.forward
        >>> lookup_backend("as_it_is") is as_it_is
        True
    """
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    if not callable(compiler_fn):
        raise AssertionError(f"register_backend: a function is expected, got {type(compiler_fn)}")
    called = name or compiler_fn.__name__
    entry = _registered.get(called)
    if entry is not None and entry[0] is not compiler_fn:
        raise AssertionError(f"duplicate name: the backend {called!r} is registered already")
    _registered[called] = compiler_fn, tuple(tags)
    return compiler_fn


register_debug_backend = functools.partial(register_backend, tags=("debug",))
register_experimental_backend = functools.partial(register_backend, tags=("experimental",))


def is_absent(backend: Any) -> bool:
    """Whether a backend is one that programs name and that isn't there.

    Args:
        backend: its name, or a function.

    Example:
        >>> is_absent("inductor"), is_absent("eager")
        (True, False)
    """
    if _graph_compiler is not None and backend in (None, "inductor"):
        return False
    return backend is None or (isinstance(backend, str) and backend in _ABSENT and backend not in _registered)


def is_default(backend: Any) -> bool:
    """Whether a backend is the name of tl's own compiler, which no program has registered for another.

    Args:
        backend: its name, or a function.

    Example:
        >>> is_default("inductor"), is_default("eager")
        (True, False)
    """
    return _graph_compiler is None and (
        backend is None or (backend == "inductor" and backend not in _registered)
    )


def set_graph_compiler(path: str | None) -> None:
    """Sets what compiles graphs in place of tl's own compiler, which takes functions.

    A program needs graphs if it has passes over them.

    Args:
        path: "module:function" of a compiler, which is imported for the first graph; None for tl's own.

    Example:
        >>> set_graph_compiler("my_compiler:compile_graph")
        >>> is_default("inductor")
        False
        >>> set_graph_compiler(None)
    """
    global _graph_compiler
    _graph_compiler = path


def lookup_backend(compiler_fn: Any) -> CompilerFn:
    """The function of a backend.

    Args:
        compiler_fn: its name, or the function itself.

    Raises:
        InvalidBackend: there is none of that name.

    Example:
        >>> callable(lookup_backend("eager"))
        True
    """
    if callable(compiler_fn):
        return compiler_fn
    if _graph_compiler is not None and compiler_fn in (None, "inductor") and compiler_fn not in _registered:
        module, _, function = _graph_compiler.partition(":")
        compiler: CompilerFn = getattr(import_module(module), function)
        return compiler
    if isinstance(compiler_fn, str):
        if compiler_fn not in _registered and compiler_fn not in _ABSENT:
            _load_entry_point(compiler_fn)
        if compiler_fn in _registered:
            return _registered[compiler_fn][0]
        if compiler_fn in _ABSENT:
            return functools.partial(_run_graph, compiler_fn)
    raise InvalidBackend(compiler_fn)


def _load_entry_point(name: str) -> None:
    """Distributions offer backends as entry points of the group `torch_dynamo_backends`."""
    from importlib.metadata import entry_points

    for entry_point in entry_points(group="torch_dynamo_backends", name=name):
        register_backend(entry_point.load(), name=name)


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names that `compile` takes as a backend. Those of code generators that aren't there are taken as well, and
    run eagerly with a warning; those that only run graphs as they are have the tag `debug`.

    Args:
        exclude_tags: backends with one of these tags are left out.

    Example:
        >>> "inductor" in list_backends()
        True
        >>> "eager" in list_backends(), "eager" in list_backends(exclude_tags=())
        (False, True)
    """
    excluded = set(exclude_tags or ())
    tagged = {**dict.fromkeys(_ABSENT, ()), **{name: tags for name, (_, tags) in _registered.items()}}
    return sorted(name for name, tags in tagged.items() if not excluded.intersection(tags))


def _run_graph(name: str, gm: Any, example_inputs: Any, **options: Any) -> Any:
    warn_once(f"the backend {name!r}: {_ABSENT[name]}; the graph runs as it is")
    return gm.forward
