"""`torch.utils._device`: the default device as a context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.dispatch.context_managers import context_decorator
from tl_core.overrides import TorchFunctionMode
from tl_core.tensors import defaults

__all__: list[str] = []


class DeviceContext(TorchFunctionMode):
    """Tensors that are made inside without a device are made on this one.

    Args:
        device: the device.
    """

    def __init__(self, device: Any) -> None:
        self.device = tl_core.device(device)

    def __enter__(self) -> Any:
        self._before = tl_core.get_default_device()
        defaults.set_default_device(self.device)
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        defaults.set_default_device(self._before)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function's tensors are made on the device."""
    return lambda function: context_decorator(lambda: tl_core.device(device), function)
