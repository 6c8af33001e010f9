"""Regions in which operators choose their own precision."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

import tl_core

from .grad_scaler import AVAILABLE

F = TypeVar("F", bound=Callable[..., Any])
DEFAULTS = {"cpu": tl_core.bfloat16, "cuda": tl_core.float16}
SUPPORTED = {"cpu": (tl_core.bfloat16, tl_core.float16), "cuda": (tl_core.bfloat16, tl_core.float16)}


def is_autocast_available(device_type: str) -> bool:
    """Whether a kind of device knows `autocast`.

    Args:
        device_type: such as "cuda".
    """
    return tl_core.device(device_type).type in DEFAULTS


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether a region of `autocast` for that kind of device is around.

    Args:
        device_type: such as "cpu".
    """
    _check_known("is_autocast_enabled", device_type)
    return False  # a region that is on cannot be entered yet


def _check_known(name: str, device_type: str) -> None:
    if not is_autocast_available(device_type):
        raise RuntimeError(f"{name}: autocast does not know the device type {device_type!r}")


def get_autocast_dtype(device_type: str) -> tl_core.dtype:
    """The short type that a region of `autocast` takes for a kind of device unless told otherwise.

    Args:
        device_type: the kind of device.
    """
    _check_known("get_autocast_dtype", device_type)
    return DEFAULTS[device_type]


class autocast:
    """A region, or a decorated function, in which operators choose their own precision.

    So far only regions that are switched off are there: by `enabled=False`, or because the device isn't there or
    doesn't know the type, which warns. Entering one that is switched on raises NotImplementedError.

    Args:
        device_type: the kind of device.
        dtype: the short type; bfloat16 on the CPU, float16 on CUDA by default.
        enabled: whether to do anything.
        cache_enabled: whether parameters are converted once a region.

    Example:
        >>> with autocast("cpu", enabled=False):
        ...     print((tl_core.ones(1, 1) @ tl_core.ones(1, 1)).dtype)
        torch.float32
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
                f"autocast: device_type must be one of {', '.join(DEFAULTS)}, got {device_type!r}"
            )
        self.device = device_type
        self.fast_dtype = DEFAULTS[device_type] if dtype is None else dtype
        self.cache_enabled = True if cache_enabled is None else cache_enabled
        self.enabled = enabled and self._can_be_on()

    def _can_be_on(self) -> bool:
        if self.device not in AVAILABLE:
            warnings.warn(f"autocast: the device {self.device!r} is not available; disabling", stacklevel=4)
            return False
        if self.fast_dtype not in SUPPORTED[self.device]:
            # float32 is a way to say "off", and says nothing
            if self.fast_dtype != tl_core.float32:
                warnings.warn(
                    f"autocast: {self.fast_dtype} is not a type for {self.device}; disabling", stacklevel=4
                )
            return False
        return True

    def __enter__(self) -> autocast:
        if self.enabled:
            raise NotImplementedError(
                f"autocast({self.device!r}, {self.fast_dtype}): operators that choose their precision are not there "
                "yet; convert the model with .bfloat16(), or use enabled=False"
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: tl_core.dtype | None = None
) -> Callable[..., Any]:
    """Decorates the `forward` of an autograd function for use in regions of `autocast`; outside it does nothing.

    Args:
        fwd: the function; None makes a decorator.
        device_type: the kind of device.
        cast_inputs: the type of floating-point inputs within a region.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    _check_device(device_type)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        return fwd(*args, **kwargs)

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorates the `backward` of an autograd function: it runs with the state of `autocast` that `forward` had.

    Args:
        bwd: the function; None makes a decorator.
        device_type: the kind of device.
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    _check_device(device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=False):
            return bwd(*args, **kwargs)

    return backward


def _check_device(device_type: object) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"device_type must be a str, got {type(device_type).__name__}")
