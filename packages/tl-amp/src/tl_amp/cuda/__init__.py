"""The old names of mixed precision on CUDA."""

from functools import partial

from ..autocast_mode import custom_bwd as _custom_bwd
from ..autocast_mode import custom_fwd as _custom_fwd
from .autocast_mode import autocast
from .grad_scaler import GradScaler

custom_fwd = partial(_custom_fwd, device_type="cuda")
custom_bwd = partial(_custom_bwd, device_type="cuda")

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
