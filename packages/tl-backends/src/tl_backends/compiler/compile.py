"""`compile`: checks what it is given and hands the function back, which runs eagerly; a module comes back wrapped."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tl_backends import eagerly
from tl_core import operator_hooks

__all__ = ["InvalidBackend", "compile", "list_backends"]

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")

# Backends that a program may name, and the tags by which `list_backends` leaves them out.
BACKENDS = {
    "aot_eager": ("debug",),
    "cudagraphs": ("absent",),
    "eager": ("debug",),
    "inductor": ("absent",),
    "onnxrt": ("absent",),
    "openxla": ("absent",),
    "tvm": ("absent",),
}


class InvalidBackend(RuntimeError):
    """There is no backend of that name."""


def compile(
    model: Callable | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable | None = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Gives a function back unchanged, and a module wrapped in an `OptimizedModule`, as programs expect one.

    Either runs eagerly, which is said once by a warning.

    Args:
        model: the function or module; without it, the result is a decorator.
        fullgraph: whether the whole function is to become one graph.
        dynamic: whether sizes may change; None finds out.
        backend: the name of a backend, or a function that would be called with the graph.
        mode: "default", "reduce-overhead", "max-autotune" or "max-autotune-no-cudagraphs".
        options: settings of the backend, by name; not together with `mode`.
        disable: gives back what it got, without a warning.

    Returns:
        The function, or the module's wrapper, whose state has names that begin with `_orig_mod.`.

    Raises:
        AssertionError: `model` can't be called, or `fullgraph`, `dynamic` or `disable` isn't a bool.
        RuntimeError: an unknown `mode`, `options` that aren't a dictionary, or both.
        InvalidBackend: an unknown `backend`.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> @compile(dynamic=True)
        ... def double(x):
        ...     return 2 * x
        >>> double(4)
        8
    """
    _check_flag("fullgraph", fullgraph)
    _check_flag("disable", disable)
    if dynamic is not None:
        _check_flag("dynamic", dynamic)
    _check_settings(mode, options)
    _check_backend(backend)
    say = not disable and backend not in ("eager", "aot_eager")
    if model is None:
        return partial(_finish, say=say, disable=disable, depth=1)
    return _finish(model, say=say, disable=disable, depth=2)


def _finish(model: Any, say: bool, disable: bool, depth: int) -> Any:
    if not callable(model):
        raise AssertionError(f"A callable function is expected as model, but {type(model)} is provided.")
    if say:
        eagerly.say("tl.compile", stacklevel=depth + 2)
    # The package of modules says how one is wrapped, once it is imported: without it, nothing here is a module.
    if disable or "compiled" not in operator_hooks.makers:
        return model
    return operator_hooks.maker("compiled")(model)


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


def _check_backend(backend: Any) -> None:
    if backend is not None and not callable(backend) and backend not in BACKENDS:
        names = ", ".join(BACKENDS)
        raise InvalidBackend(f"Invalid backend: {backend!r}, should be a function or one of: {names}")


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The backends that are there: none, but for those that only run eagerly, if `exclude_tags` lets them in.

    Example:
        >>> list_backends()
        []
        >>> list_backends(exclude_tags=())
        ['aot_eager', 'eager']
    """
    excluded = {"absent", *(exclude_tags or ())}
    return [name for name, tags in BACKENDS.items() if not excluded.intersection(tags)]
