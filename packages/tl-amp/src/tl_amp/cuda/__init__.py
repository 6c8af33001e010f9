"""The old names of mixed precision on CUDA."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from .. import autocast_mode as _autocast_mode
from .autocast_mode import autocast
from .grad_scaler import GradScaler


def _older(name: str) -> Callable[..., Any]:
    newer = partial(getattr(_autocast_mode, name), device_type="cuda")

    def decorate(*args: Any, **options: Any) -> Any:
        warnings.warn(
            f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}(args..., "
            "device_type='cuda')` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return newer(*args, **options)

    decorate.__name__ = decorate.__qualname__ = name
    decorate.__wrapped__ = newer  # type: ignore[attr-defined]  # whose signature it has
    decorate.__doc__ = f'As `torch.amp.{name}` with device_type="cuda", which it is deprecated in favor of.'
    return decorate


custom_fwd = _older("custom_fwd")
custom_bwd = _older("custom_bwd")

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
