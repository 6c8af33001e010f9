"""Switching the recording of derivatives on and off, for a thread."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Self, TypeVar, overload

from tl_core import _C

F = TypeVar("F", bound=Callable[..., Any])

_GENERATOR = 0x20  # inspect.CO_GENERATOR: a module that takes longer to import than tensors do


class _ContextDecorator:
    """A context that also decorates functions: each call, and each step of a generator, runs in one of its own."""

    def __call__(self, function: F) -> F:
        if getattr(getattr(function, "__code__", None), "co_flags", 0) & _GENERATOR:
            return _stepwise(self, function)  # type: ignore[return-value]
        if isinstance(function, type):
            _warn_of_class()
            return lambda *args, **kwargs: self._within(function, args, kwargs)  # type: ignore[return-value]  # makes it

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]  # wraps keeps the signature

    def _within(self, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        with self.clone():
            return function(*args, **kwargs)

    def clone(self) -> Any:
        """A fresh context of the same kind."""
        return type(self)()

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *error: object) -> None:
        raise NotImplementedError


def _warn_of_class() -> None:
    warnings.warn(
        "Decorating classes is deprecated: only functions and methods should be decorated. What it does, making the "
        "instances inside of the context, is said by a decorated `__init__`.",
        FutureWarning,
        stacklevel=3,
    )


def _stepwise(context: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The generator function with a context around each step: between them, its caller's setting holds."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        steps = function(*args, **kwargs)
        resume, value = steps.send, None
        while True:
            try:
                with context.clone():
                    item = resume(value)
            except StopIteration as end:
                return end.value
            try:
                resume, value = steps.send, (yield item)
            except GeneratorExit:
                with context.clone():
                    steps.close()
                raise
            except BaseException as error:
                resume, value = steps.throw, error

    return wrapped


class _GradContext(_ContextDecorator):
    _on: bool

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_C._set_grad_enabled(self._on))

    def __exit__(self, *error: object) -> None:
        _C._set_grad_enabled(self._before.pop())


switch = _C._set_grad_enabled  # what graphs have where the setting changes; returns what it was


class no_grad(_GradContext):
    """Nothing is recorded inside: a context and a decorator.

    >>> x = tensor([1.0], requires_grad=True)
    >>> with no_grad():
    ...     (x * 2).requires_grad
    False
    """

    _on = False

    @overload
    def __new__(cls, orig_func: F) -> F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    def __new__(cls, orig_func: Any = None) -> Any:
        manager = object.__new__(cls)
        if orig_func is None:
            return manager
        manager.__init__()  # type: ignore[misc]
        return manager(orig_func)


class enable_grad(_GradContext):
    """Derivatives are recorded inside, also within no_grad.

    Example:
        >>> import tl_core
        >>> with tl_core.no_grad(), tl_core.enable_grad():
        ...     tl_core.is_grad_enabled()
        ...
        True
    """

    _on = True

    @overload
    def __new__(cls, orig_func: F) -> F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    def __new__(cls, orig_func: Any = None) -> Any:
        manager = object.__new__(cls)
        if orig_func is None:
            return manager
        manager.__init__()  # type: ignore[misc]
        return manager(orig_func)


class set_grad_enabled(_ContextDecorator):
    """Recording on or off, at once and until the end of the context, if it is used as one.

    Example:
        >>> import tl_core
        >>> training = False
        >>> with tl_core.set_grad_enabled(training):
        ...     tl_core.is_grad_enabled()
        ...
        False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = _C._set_grad_enabled(mode)

    def __call__(self, function: F) -> F:
        _C._set_grad_enabled(self.prev)
        return super().__call__(function)

    def __enter__(self) -> None:
        _C._set_grad_enabled(self.mode)

    def __exit__(self, *error: object) -> None:
        _C._set_grad_enabled(self.prev)

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__qualname__}(mode={self.mode})"


class inference_mode(_ContextDecorator):
    """Like no_grad, and what is made inside can never take part in a recording.

    Example:
        >>> import tl_core
        >>> with tl_core.inference_mode():
        ...     x = tl_core.ones(2)
        ...
        >>> x.is_inference()
        True
    """

    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return object.__new__(cls)
        manager = object.__new__(cls)
        manager.__init__(True)  # type: ignore[misc]
        return manager(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        grad = _C._grad_enabled()
        self._before.append((_C._set_inference_mode(self.mode), grad))

    def __exit__(self, *error: object) -> None:
        inference, grad = self._before.pop()
        _C._set_inference_mode(inference)
        _C._set_grad_enabled(grad)

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)


def is_grad_enabled() -> bool:
    """Whether derivatives are recorded on this thread.

    Example:
        >>> import tl_core
        >>> with tl_core.no_grad():
        ...     tl_core.is_grad_enabled()
        ...
        False
    """
    return _C._grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Whether inference_mode is on in this thread.

    Example:
        >>> import tl_core
        >>> with tl_core.inference_mode():
        ...     tl_core.is_inference_mode_enabled()
        ...
        True
    """
    return _C._inference_mode()
