"""What compiled functions do when they are called: compile, run eagerly, or refuse to compile again."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from tl_core.dispatch.modes import is_compiling

from .backends import lookup_backend
from .warn_once import warn_once
from .watch import stop_here

__all__ = ["Stance", "current", "initial_conditions", "run_in", "set_stance"]

STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile")


class Stance(NamedTuple):
    """What compiled functions do.

    Args:
        name: one of the names that `set_stance` takes.
        backend: the one that all functions use; None: each its own.
    """

    name: str = "default"
    backend: Any = None


_now = [Stance()]


def current() -> Stance:
    """What compiled functions do now.

    Example:
        >>> current().name
        'default'
    """
    return _now[0]


_FIRST = _now[0]


def initial_conditions() -> tuple[Any, ...]:
    """The condition that no stance was set, as `ReplayedCall` compares it.

    Example:
        >>> [(values[key], expected) for values, key, expected in initial_conditions()] == [(current(), (current(),))]
        True
    """
    return ((_now, 0, (_FIRST,)),)


def run_in(stance: Stance, fn: Any) -> Any:
    """A function that runs in a stance.

    Args:
        stance: the stance.
        fn: the function.
    """

    @functools.wraps(fn, updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        before, _now[0] = _now[0], stance
        try:
            return fn(*args, **kwargs)
        finally:
            _now[0] = before

    return run


class set_stance(contextlib.ContextDecorator):
    """Sets what compiled functions do: for good, for a `with` block, or for each call of a decorated function.

    Args:
        stance: "default"; "force_eager": nothing is compiled, and nothing that was is used; "eager_on_recompile": what
            was compiled is used where it holds, all else runs eagerly; "fail_on_recompile": RuntimeError where
            something would have to be compiled again; "eager_then_compile": the first call runs eagerly.
        skip_guard_eval_unsafe: whether the guards need not be compared. They are, all the same: that is said once.
        force_backend: the backend that all compiled functions use; only with the stance "default".

    Raises:
        RuntimeError: an unknown stance, a backend with another one than "default", or a call inside of what is being
            compiled.

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
        force_backend: str | Callable[..., Any] | None = None,
    ) -> None:
        if is_compiling():
            raise RuntimeError("set_stance cannot be called in a torch.compile region")
        if stance not in STANCES:
            raise RuntimeError(
                f"invalid torch.compile stance {stance!r}, should be one of: {', '.join(STANCES)}"
            )
        if force_backend is not None and stance != "default":
            raise RuntimeError(f"force_backend needs the stance 'default', got {stance!r}")
        if force_backend is not None:
            lookup_backend(force_backend)
        if skip_guard_eval_unsafe:
            warn_once("set_stance(skip_guard_eval_unsafe=True): without effect; all guards are compared")
        is_first = (
            stance == _FIRST.name and force_backend is None
        )  # whose identity `initial_conditions` compares
        self.stance = _FIRST if is_first else Stance(stance, force_backend)
        self._before = [_now[0]]
        self._is_set = True  # by this call, until a block begins or a function is decorated
        _now[0] = self.stance

    def __call__(self, fn: Any) -> Any:
        if not callable(fn):
            raise AssertionError(f"fn must be callable: set_stance expects a callable, got {type(fn)}")
        _now[0], self._is_set = self._before[0], False

        @functools.wraps(fn)
        def run(*args: Any, **kwargs: Any) -> Any:
            stop_here("a function is called that set_stance decorates")
            with self:
                return fn(*args, **kwargs)

        return run

    def __enter__(self) -> Self:
        begins = self._is_set and _now[0] is self.stance
        self._before.append(self._before[0] if begins else _now[0])
        self._is_set = False
        _now[0] = self.stance
        return self

    def __exit__(self, *error: object) -> None:
        _now[0] = self._before.pop()
