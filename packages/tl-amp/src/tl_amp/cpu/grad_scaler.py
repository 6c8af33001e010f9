"""The old name of `GradScaler("cpu", …)`."""

from __future__ import annotations

from .. import grad_scaler


class GradScaler(grad_scaler.DeprecatedGradScaler):
    """`tl_amp.GradScaler` for cpu; deprecated.

    Args:
        init_scale, growth_factor, backoff_factor, growth_interval, enabled: those of `tl_amp.GradScaler`.
    """

    device_type = "cpu"
