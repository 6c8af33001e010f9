"""The old name of `autocast("cpu", …)`."""

from __future__ import annotations

import warnings

import tl_core

from .. import autocast_mode


class autocast(autocast_mode.autocast):
    """`tl_amp.autocast` for cpu; deprecated.

    Args:
        enabled, dtype, cache_enabled: those of `tl_amp.autocast`.
    """

    def __init__(
        self, enabled: bool = True, dtype: tl_core.dtype = tl_core.bfloat16, cache_enabled: bool = True
    ):
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. "
            "Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)
