"""In which type operators of Python compute in regions of autocast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import _C, Tensor
from tl_core.dispatch import registrations
from tl_core.dispatch.layers import excluded_layers
from tl_core.pytree import tree_map

__all__ = ["check", "install"]


def check(device_type: str, cast_inputs: Any) -> None:
    """Raises ValueError for a device or a type that autocast doesn't know.

    Args:
        device_type: "cpu" or "cuda".
        cast_inputs: an element type.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"register_autocast(op, device_type, ...): expected str, got {type(device_type)}")
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}")
    if not isinstance(cast_inputs, _C.dtype):
        raise ValueError(
            f"register_autocast(op, device_type, cast_inputs): expected a dtype, got {cast_inputs!r}"
        )


def _casting(op: Any, types: dict[str, Any], device_type: str) -> Callable[..., Any]:
    def cast(x: Any, dtype: Any) -> Any:
        if not isinstance(x, Tensor) or not x.is_floating_point() or x.dtype is _C.float64:
            return x
        return x.to(dtype) if x.device.type == device_type else x

    def call(*args: Any, **kwargs: Any) -> Any:
        dtype = types[device_type]
        with excluded_layers(_C._LAYER_AUTOCAST):
            if not _C._autocast_is_on(device_type):
                return op(*args, **kwargs)
            args, kwargs = tree_map(lambda x: cast(x, dtype), (args, kwargs))
            return op(*args, **kwargs)

    return call


def install(lib: Any, op: Any, types: dict[str, Any]) -> Callable[..., Any]:
    """Casts an operator's arguments in regions of autocast.

    Args:
        lib: the library with which this goes.
        op: the operator.
        types: the type for each kind of device; more may come.

    Returns:
        The function that the layer calls.
    """
    kernel: Callable[..., Any] = lambda *args, **kwargs: None  # noqa: E731
    for device_type in types:
        key = f"Autocast{device_type.upper()}"
        kernel = _casting(op, types, device_type)
        if registrations.of(op._native_name, key) is None:
            lib._register(op, kernel, key)
    return kernel
