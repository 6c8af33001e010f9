"""The steps of a scaler of losses: gradients are divided by the factor, which follows whether all were finite."""

from __future__ import annotations

from collections.abc import Sequence

import tl_core
from tl_core import Tensor

__all__: list[str] = []


def _amp_foreach_non_finite_check_and_unscale_(
    self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor
) -> None:
    """Multiplies all tensors by a number, in place; `found_inf` becomes 1 if one holds an infinity or nan.

    Args:
        self: the tensors.
        found_inf: one float32 number.
        inv_scale: the number.
    """
    for name, t in (("found_inf", found_inf), ("inv_scale", inv_scale)):
        if t.numel() != 1 or t.dtype is not tl_core.float32:
            raise RuntimeError(f"{name} must be a 1-element float tensor, got {tuple(t.shape)} of {t.dtype}")
    with tl_core.no_grad():
        if any(not bool(t.isfinite().all()) for t in self):
            found_inf.fill_(1.0)
        for t in self:
            t.mul_(inv_scale.item())


def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Shrinks the factor where a number wasn't finite, and lets it grow after many steps in which all were.

    Args:
        self: the factor, which is written to and returned.
        growth_tracker: the number of good steps, int32, which is written to.
        found_inf: not 0: a number wasn't finite.
        scale_growth_factor, scale_backoff_factor: what it is multiplied by.
        growth_interval: the number of steps.
    """
    with tl_core.no_grad():
        if found_inf.item():
            growth_tracker.zero_()
            return self.mul_(scale_backoff_factor)
        steps = int(growth_tracker.item()) + 1
        if steps != growth_interval:
            growth_tracker.fill_(steps)
            return self
        growth_tracker.zero_()
        grown = self * scale_growth_factor
        return self.copy_(grown) if bool(grown.isfinite()) else self
