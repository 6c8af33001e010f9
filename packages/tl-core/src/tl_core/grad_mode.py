"""Switches of gradient recording, for a block or a function: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from tl_core import _C

__all__ = ["enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "set_grad_enabled"]

F = TypeVar("F", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    """Whether operations on this thread are recorded for gradients."""
    return _C._grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return _C._inference_mode()


class Switch:
    """A context manager that decorates functions too; every call of a decorated function enters a fresh copy.

    Generator functions are wrapped so that the switch holds while they run, not while they are suspended.
    """

    def clone(self) -> Switch:
        """A fresh instance with the same setting."""
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            raise TypeError(f"{type(self).__name__} decorates functions and methods, got the class {function.__name__}")
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)
        if inspect.iscoroutinefunction(function):
            return self._wrap_coroutine(function)

        @functools.wraps(function)
        def switched(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)

        return switched  # type: ignore[return-value]

    def _wrap_coroutine(self, function):
        @functools.wraps(function)
        async def switched(*args, **kwargs):
            with self.clone():
                return await function(*args, **kwargs)

        return switched

    def _wrap_generator(self, function):
        @functools.wraps(function)
        def switched(*args, **kwargs):
            generator = function(*args, **kwargs)
            step, value = generator.send, None
            try:
                while True:
                    with self.clone():
                        produced = step(value)
                    try:
                        value, step = (yield produced), generator.send
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as error:
                        value, step = error, generator.throw
            except StopIteration as end:
                return end.value

        return switched


class _GradSwitch(Switch):
    _on: bool

    def __enter__(self) -> None:
        self._before = _C._set_grad_enabled(self._on)

    def __exit__(self, *exc: object) -> None:
        _C._set_grad_enabled(self._before)

    def __new__(cls, function: Callable | None = None):
        self = super().__new__(cls)
        return self if function is None else self(function)


class no_grad(_GradSwitch):
    """Nothing is recorded inside: results have `requires_grad=False`.

    Example::

        >>> x = tl_core.tensor([1.0], requires_grad=True)
        >>> with tl_core.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    _on = False


class enable_grad(_GradSwitch):
    """Operations are recorded inside, also within `no_grad`."""

    _on = True


class set_grad_enabled(Switch):
    """Switches recording on or off at once; as a context manager it switches back at the end.

    Args:
        mode: whether operations are recorded.
    """

    def __init__(self, mode: bool):
        self.mode = mode
        self._before = _C._set_grad_enabled(bool(mode))

    def __enter__(self) -> None:
        _C._set_grad_enabled(bool(self.mode))

    def __exit__(self, *exc: object) -> None:
        _C._set_grad_enabled(self._before)

    def __call__(self, function: F) -> F:
        _C._set_grad_enabled(self._before)
        return super().__call__(function)

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)

    def __str__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"

    __repr__ = __str__


class inference_mode(Switch):
    """Like `no_grad`, and tensors made inside can never take part in recording: less is kept of them.

    Args:
        mode: True enters inference mode, False leaves it for the block.
    """

    def __new__(cls, mode: bool | Callable = True):
        self = super().__new__(cls)
        if isinstance(mode, bool):
            return self
        self.mode = True
        return self(mode)

    def __init__(self, mode: bool = True):
        self.mode = mode

    def __enter__(self) -> None:
        self._before = _C._inference_mode(), _C._grad_enabled()
        _C._set_inference_mode(self.mode)

    def __exit__(self, *exc: object) -> None:
        inference, grad = self._before
        _C._set_inference_mode(inference)
        _C._set_grad_enabled(grad)

    def clone(self) -> inference_mode:
        return type(self)(self.mode)
