"""What functions that are made of several operators do in a region of autocast."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from tl_core import _C

F = TypeVar("F", bound=Callable[..., Any])

_LAYER, _SINGLE, _DOUBLE = _C._LAYER_AUTOCAST, _C.float32, _C.float64


def converted(value: Any, dtype: _C.dtype, device_type: str | None = None) -> Any:
    """The value, with what regions convert in it converted: tensors of a floating-point type other than float64.

    Args:
        value: a tensor; a tuple, list or dict of such values; anything else stays as it is.
        dtype: the type to convert to.
        device_type: of the tensors to convert; None stands for those of devices with a region around.

    Example:
        >>> import tl_core as tl
        >>> converted([tl.ones(1, dtype=tl.bfloat16), "x"], tl.float32, "cpu")
        [tensor([1.]), 'x']
    """
    if isinstance(value, _C.Tensor):
        chooses = value.is_floating_point() and value.dtype != _DOUBLE
        device = value.device.type
        applies = _C._autocast_is_on(device) if device_type is None else device == device_type
        return value.to(dtype) if chooses and applies else value
    if isinstance(value, dict):
        return {key: converted(item, dtype, device_type) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(converted(item, dtype, device_type) for item in value)
    return value


class _Without:
    """While it is entered, operators run in the types of their inputs."""

    def __enter__(self) -> None:
        self._before = _C._exclude_layer(_LAYER, True)

    def __exit__(self, *error: object) -> None:
        _C._exclude_layer(_LAYER, self._before)


def _choosing(function: F, dtype: _C.dtype | None) -> F:
    @functools.wraps(function)
    def choosing(*args: Any, **kwargs: Any) -> Any:
        if not _C._any_autocast_is_on():
            return function(*args, **kwargs)
        if dtype is not None:
            args, kwargs = converted(args, dtype), converted(kwargs, dtype)
        with _Without():
            return function(*args, **kwargs)

    return choosing  # type: ignore[return-value]  # wraps keeps the signature


def in_float32(function: F) -> F:
    """A function that takes its tensors in float32 while a region of autocast is around."""
    return _choosing(function, _SINGLE)


def in_own_type(function: F) -> F:
    """A function that runs in the type of its inputs also where an operator that it is made of would choose another."""
    return _choosing(function, None)
