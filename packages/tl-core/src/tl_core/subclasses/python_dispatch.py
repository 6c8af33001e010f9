"""`__torch_dispatch__`: modes that handle every operator on its way to the kernels, and what their handlers need."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from tl_core import _C
from tl_core.base.native_enum import NativeEnum
from tl_core.dispatch.keys import DispatchKey
from tl_core.dispatch.modes import modes_off, no_dispatch
from tl_core.subclasses.wrappers import (
    is_traceable_wrapper_subclass,
    is_traceable_wrapper_subclass_type,
    return_and_correct_aliasing,
    transform_subclass,
)

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "no_dispatch",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class TorchDispatchModeKey(NativeEnum):
    """The kinds of modes that stand below those that programs write: fakes at the bottom."""

    FAKE = 0
    PROXY = 1
    FUNCTIONAL = 2


def _layer_of(key: Any) -> int:
    if key is None:
        return _C._LAYER_PYTHON
    if key == DispatchKey["PreDispatch"]:
        return _C._LAYER_TRACE
    raise AssertionError(
        f"_dispatch_key of a TorchDispatchMode must be None or DispatchKey.PreDispatch, got {key}"
    )


class TorchDispatchMode:
    """A context in which the mode's `__torch_dispatch__` is called in place of every operator.

    The operators are those below autograd: composite ones have been taken apart, gradients are recorded by then.
    While the handler runs, its mode is off, so that the operators it calls go to the modes around it, then to the
    arguments' classes and the kernels.

    Args:
        _dispatch_key: `DispatchKey.PreDispatch` for a mode that stands above autograd and gets composite operators
            whole.

    Example:
        >>> class Counted(TorchDispatchMode):
        ...     calls = 0
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         self.calls += 1
        ...         return func(*args, **(kwargs or {}))
        >>> with Counted() as counted:
        ...     _ = ones(2) + 1
        >>> counted.calls
        2
    """

    _dispatch_key: Any = None

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            _layer_of(_dispatch_key)
            self._dispatch_key = _dispatch_key

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__")

    def __enter__(self) -> Self:
        _push_mode(self)
        return self

    def __exit__(self, *error: object) -> None:
        key = self._dispatch_key
        _pop_mode(key if key is not None else getattr(self, "_mode_key", None))

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """The mode itself, as an older spelling of `with Mode():`."""
        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2
        )
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether the mode belongs to the framework and stands below those that programs write."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that leaves calls as they are."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


# ---- the stack -------------------------------------------------------------------------------------------------------
def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes that are on, the outermost first."""
    return _C._mode_stack(_C._LAYER_PYTHON)


def _len_torch_dispatch_stack() -> int:
    """How many modes are on."""
    return len(_get_current_dispatch_mode_stack())


def _get_dispatch_stack_at(index: int) -> Any:
    """A mode that is on, the outermost first."""
    return _get_current_dispatch_mode_stack()[index]


def _get_current_dispatch_mode() -> Any:
    """The innermost mode that is on; None without one."""
    modes = _get_current_dispatch_mode_stack()
    return modes[-1] if modes else None


def _get_current_dispatch_mode_pre_dispatch() -> Any:
    """The innermost mode above autograd; None without one."""
    modes = _C._mode_stack(_C._LAYER_TRACE)
    return modes[-1] if modes else None


def _get_dispatch_mode(mode_key: TorchDispatchModeKey) -> Any:
    """The mode at that place, or None."""
    for mode in _get_current_dispatch_mode_stack():
        if getattr(mode, "_mode_key", None) == mode_key:
            return mode
    return None


def _detect_infra_mode(key: TorchDispatchModeKey) -> Any:
    """The framework's own mode of that kind that is on, on either side of autograd; None without one."""
    if key not in (TorchDispatchModeKey.FUNCTIONAL, TorchDispatchModeKey.PROXY):
        raise AssertionError(f"expected FUNCTIONAL or PROXY, got {key}")
    above = [m for m in _C._mode_stack(_C._LAYER_TRACE) if getattr(m, "_mode_key", None) == key]
    return above[-1] if above else _get_dispatch_mode(key)


def _push_mode(mode: Any) -> None:
    """Puts a mode on, at the place of its kind."""
    layer = _layer_of(getattr(mode, "_dispatch_key", None))
    key = getattr(mode, "_mode_key", None)
    if key is None:
        _C._push_mode(layer, mode)
        return
    if any(getattr(m, "_mode_key", None) == key for m in _C._mode_stack(layer)):
        raise AssertionError(f"trying to set the current {key.name} mode, but one already exists")
    _C._push_mode(layer, mode, int(key))


def _pop_mode(k: Any = None) -> Any:
    """Takes a mode off: the innermost, or that of a kind.

    Args:
        k: None, a `TorchDispatchModeKey`, or `DispatchKey.PreDispatch` for the innermost one above autograd.
    """
    if isinstance(k, TorchDispatchModeKey):
        return _C._pop_mode(_C._LAYER_PYTHON, int(k))
    return _C._pop_mode(_layer_of(k))


def _unset_infra_mode(mode_key: TorchDispatchModeKey) -> Any:
    """Takes the mode of a kind off; None if there is none."""
    return _pop_mode(mode_key) if _get_dispatch_mode(mode_key) is not None else None


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """A region without the innermost mode."""
    mode = _pop_mode(k)
    try:
        yield mode
    finally:
        _push_mode(mode)


def _disable_current_modes() -> Any:
    """A region without any mode; what it gives is the list of those that were on, the outermost first."""
    return modes_off()


disable_current_modes = _disable_current_modes


def _disable_infra_modes() -> Any:
    """A region without the framework's own modes."""
    return modes_off(lambda mode: not is_infra_mode(mode))


def is_infra_mode(mode: Any) -> bool:
    """Whether a mode belongs to the framework."""
    return getattr(mode, "_mode_key", None) is not None or mode.is_infra_mode()


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is on.

    Args:
        include_infra_modes: whether those of the framework count.
    """
    return any(include_infra_modes or not is_infra_mode(m) for m in _get_current_dispatch_mode_stack())


is_in_any_mode_without_ignore_compile_internals = is_in_torch_dispatch_mode
