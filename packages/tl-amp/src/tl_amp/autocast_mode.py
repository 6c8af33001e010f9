"""Regions in which operators choose their own precision."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import NoneType, TracebackType
from typing import Any, TypeVar

import tl_core
from tl_core.dispatch.autocast import (
    LOWER_TYPES,
    AutocastSnapshot,
    autocast_decrement_nesting,
    autocast_increment_nesting,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from tl_core.dispatch.autocast_inputs import converted

from .grad_scaler import AVAILABLE

F = TypeVar("F", bound=Callable[..., Any])


class autocast:
    """A region, or a decorated function, in which operators choose their own precision.

    Products, convolutions and attention use a lower type. Losses and operators with many sums or products use float32,
    concatenations the widest type of their inputs, and all others the type of their inputs. Tensors of float64 and of
    other kinds are unchanged, and so are calls in place and with `out=`. The page "Automatic Mixed Precision" has the
    lists. The region applies to the current thread. Compute losses inside the region and call `backward` after it:
    gradients have the types of their operators.

    Args:
        device_type: the kind of device of the tensors: "cpu", "cuda", …
        dtype: the lower type; bfloat16 on the CPU, float16 on CUDA by default.
        enabled: whether the region has an effect; False within a region disables it.
        cache_enabled: whether a parameter is converted once per region, until it changes.

    Raises:
        RuntimeError: if the kind of device doesn't support autocast.

    Example:
        >>> with autocast("cpu"):
        ...     print((tl_core.ones(1, 1) @ tl_core.ones(1, 1)).dtype)
        torch.bfloat16
    """

    def __init__(
        self,
        device_type: str,
        dtype: tl_core.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ):
        if not isinstance(device_type, str):
            raise ValueError(f"autocast: device_type must be a str, got {type(device_type).__name__}")
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"autocast: device_type must be one of {', '.join(LOWER_TYPES)}, got {device_type!r}"
            )
        if not isinstance(dtype, (tl_core.dtype, NoneType)):
            raise TypeError(f"autocast: dtype must be a torch.dtype, got {type(dtype).__name__}")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self.enabled = enabled and self._can_be_on()
        self._before: list[AutocastSnapshot] = []

    def _can_be_on(self) -> bool:
        if self.device not in AVAILABLE:
            warnings.warn(f"autocast: the device {self.device!r} is not available; disabling", stacklevel=4)
            return False
        if self.fast_dtype not in LOWER_TYPES[self.device]:
            # float32 disables autocast without a warning
            if self.fast_dtype != tl_core.float32:
                warnings.warn(
                    f"autocast: {self.fast_dtype} is not a type for {self.device}; disabling", stacklevel=4
                )
            return False
        return True

    def __enter__(self) -> autocast:
        self._before.append(AutocastSnapshot(self.device))
        set_autocast_enabled(self.device, self.enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        set_autocast_cache_enabled(self.cache_enabled)
        autocast_increment_nesting()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        autocast_decrement_nesting()
        self._before.pop().restore()

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            region = copy.copy(self)  # calls of several threads may overlap
            region._before = []
            with region:
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]


def _cast(value: Any, device_type: str, dtype: tl_core.dtype) -> Any:
    """Converts the tensors of a kind of device, also in containers; float64 and integers are unchanged."""
    if isinstance(value, tl_core.Tensor):
        return converted(value, dtype, device_type)
    if isinstance(value, (str, bytes)) or hasattr(value, "__array_interface__"):
        return value
    if isinstance(value, Mapping):
        return {
            _cast(key, device_type, dtype): _cast(item, device_type, dtype) for key, item in value.items()
        }
    if isinstance(value, Iterable):
        items = (_cast(item, device_type, dtype) for item in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def autocast_decorator(autocast_instance: autocast, func: F) -> F:
    """A function whose calls run in the region."""
    return autocast_instance(func)


class _UnmanagedAutocast(autocast):
    """A region that a graph enters and exits by calls."""


def _enter_autocast(*vals: Any) -> _UnmanagedAutocast:
    """Enters a region with the positional arguments of `autocast`."""
    mode = _UnmanagedAutocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode: _UnmanagedAutocast) -> None:
    """Exits a region of `_enter_autocast`."""
    mode.__exit__(None, None, None)


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: tl_core.dtype | None = None
) -> Callable[..., Any]:
    """Decorates the `forward` of an autograd function for regions of `autocast`; it has no effect outside.

    Args:
        fwd: the `forward` to decorate; None returns a decorator.
        device_type: the kind of device: "cpu", "cuda", …
        cast_inputs: dtype of floating-point inputs within a region; `forward` then runs with autocast disabled. None
            changes neither.

    Example:
        >>> import tl_core
        >>> from tl_autograd import Function
        >>> class Double(Function):
        ...     @staticmethod
        ...     @custom_fwd(device_type="cpu", cast_inputs=tl_core.float32)
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     @custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        ...
        >>> Double.apply(tl_core.ones(2))
        tensor([2., 2.])
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    _check_device(device_type)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        on = is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if not on or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        positional, keywords = (converted(values, cast_inputs, device_type) for values in (args, kwargs))
        with autocast(device_type, enabled=False):
            return fwd(ctx, *positional, **keywords)

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorates the `backward` of an autograd function: it runs with the `autocast` state of `forward`.

    Args:
        bwd: the `backward` to decorate; None returns a decorator.
        device_type: the kind of device: "cpu", "cuda", …

    Example:
        >>> import tl_core
        >>> from tl_autograd import Function
        >>> class Double(Function):
        ...     @staticmethod
        ...     @custom_fwd(device_type="cpu")
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     @custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        ...
        >>> x = tl_core.ones(2, requires_grad=True)
        >>> Double.apply(x).sum().backward()
        >>> x.grad
        tensor([2., 2.])
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    _check_device(device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return backward


def _check_device(device_type: object) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"device_type must be a str, got {type(device_type).__name__}")
