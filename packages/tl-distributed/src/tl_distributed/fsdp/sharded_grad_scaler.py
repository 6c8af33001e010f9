"""Scaling of losses whose gradients are in pieces: a rank with an infinite one lets all ranks leave out the step."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_amp import GradScaler

from ..base.reduction import ReduceOp
from ..collectives.tensor_collectives import all_reduce
from ..groups.process_groups import default_group, resolve

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A `GradScaler` whose ranks agree on the gradients that aren't finite.

    Args:
        device: the kind of device.
        init_scale: the first factor.
        backoff_factor: the factor of the scale after a gradient that isn't finite.
        growth_factor: the factor of the scale after many finite steps.
        growth_interval: the number of these steps.
        enabled: whether losses are scaled.
        process_group: the ranks; all by default.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> ShardedGradScaler("cpu", init_scale=8.0).get_scale()
        8.0
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = None,
    ):
        super().__init__(
            device,
            init_scale=init_scale,
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
        if enabled:
            self.process_group = default_group() if process_group is None else resolve(process_group)

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the factor; the ranks agree on infinite ones.

        Args:
            optimizer: the optimizer.

        Raises:
            RuntimeError: gradients were divided since the last update, or the optimizer has stepped.
        """
        super().unscale_(optimizer)
        if not self._enabled:
            return
        flag = tl_core.tensor([float(self._infinite.get(id(optimizer), False))])
        all_reduce(flag, ReduceOp.MAX, self.process_group)
        self._infinite[id(optimizer)] = bool(flag)
