"""When models are averaged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ...groups.process_group import ProcessGroup
from ...groups.process_groups import default_group
from . import utils

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Something that averages models.

    Args:
        process_group: over whom; the world for None.
    """

    def __init__(self, process_group: ProcessGroup | None = None):
        self.process_group = default_group() if process_group is None else process_group
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Called after each step of an optimizer; averages when it is time."""


class PeriodicModelAverager(ModelAverager):
    """Averages models every `period` steps.

    Args:
        period: how many steps lie between two averages.
        warmup_steps: how many steps come before the first.
        process_group: over whom; the world for None.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> averager = PeriodicModelAverager(period=4, warmup_steps=100)
        >>> averager.average_parameters([])
        >>> averager.step
        1
        >>> dist.destroy_process_group()
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None):
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError(f"PeriodicModelAverager: warmup_steps must not be negative, got {warmup_steps}")
        if period <= 0:
            raise ValueError(f"PeriodicModelAverager: period must be positive, got {period}")
        self.period = period
        self.warmup_steps = warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Averages if it is time.

        Args:
            params: parameters, or an optimizer's groups.
        """
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
