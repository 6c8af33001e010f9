"""Marks for the compiler, on functions and in the course of a program. Without one they change nothing."""

from collections.abc import Callable
from typing import Any, Self

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "cudagraph_mark_step_begin",
    "disable",
    "reset",
    "set_stance",
    "substitute_in_graph",
]

STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile")


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Marks a function or module that isn't to be compiled; `@disable`, `@disable()` and `disable(f)` all work.

    Args:
        fn: the function or module.
        recursive: whether what it calls isn't compiled either.
        reason: why, for messages.

    Raises:
        AssertionError: `fn` can't be called.
    """
    if fn is None:
        return _same
    return _checked("disable", fn)


def allow_in_graph(fn: Any) -> Any:
    """Marks a function, or each of a list, that the compiler isn't to look into.

    Raises:
        AssertionError: `fn` can't be called.
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    return _checked("allow_in_graph", fn)


def assume_constant_result(fn: Callable) -> Callable:
    """Marks a function whose result never changes."""
    return _checked("assume_constant_result", fn)


def substitute_in_graph(
    original_fn: Callable, *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[Callable], Callable]:
    """A decorator for a function that the compiler is to look at in place of another.

    Args:
        original_fn: the function that is replaced.
        can_constant_fold_through: whether calls with constants may be computed beforehand.
        skip_signature_check: whether the two may differ in their arguments.
    """
    _checked("substitute_in_graph", original_fn)
    return _same


def cudagraph_mark_step_begin() -> None:
    """Tells that a new step of training or inference begins."""


def reset() -> None:
    """Forgets all that has been compiled, which is nothing."""


class set_stance:
    """Sets what the compiler does: for good, for a `with` block, or for each call of a decorated function.

    Args:
        stance: "default", "force_eager", "eager_on_recompile", "fail_on_recompile" or "eager_then_compile".
        skip_guard_eval_unsafe: whether the compiler may trust that nothing has changed.
        force_backend: the backend to use for all; only with the stance "default".

    Raises:
        RuntimeError: an unknown stance, or a backend with another one than "default".

    Example:
        >>> with set_stance("force_eager"):
        ...     "not compiled"
        'not compiled'
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable | None = None,
    ):
        if stance not in STANCES:
            raise RuntimeError(
                f"invalid torch.compile stance {stance!r}, should be one of: {', '.join(STANCES)}"
            )
        if force_backend is not None and stance != "default":
            raise RuntimeError(f"force_backend needs the stance 'default', got {stance!r}")

    def __call__(self, fn: Callable) -> Callable:
        return _checked("set_stance", fn)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _same(fn: Any) -> Any:
    return _checked("the decorated object", fn)


def _checked(name: str, fn: Any) -> Any:
    if not callable(fn):
        raise AssertionError(f"fn must be callable: {name} expects a callable, got {type(fn)}")
    return fn
