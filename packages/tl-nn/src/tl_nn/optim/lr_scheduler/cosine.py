"""Schedules along a cosine."""

from __future__ import annotations

from math import cos, floor, log, pi
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, present_rates, set_rates, warn_outside_step

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """From the first learning rate down to `eta_min` in `T_max` epochs, along half a cosine, and up again.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        T_max (int): The number of epochs to the lowest rate.
        eta_min (float): The lowest rate.
        last_epoch (int): The last epoch. -1 starts a new schedule.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_core.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = tl_nn.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> optimizer.step(), scheduler.step()
        (None, None)
        >>> [round(lr, 6) for lr in scheduler.get_last_lr()]
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates at `last_epoch`."""
        warn_outside_step(self)
        if self._is_initial:
            return present_rates(self)
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            return _leave_lowest(self)
        share = _height(self, self.last_epoch) / _height(self, self.last_epoch - 1)
        return [share * (rate - self.eta_min) + self.eta_min for rate in present_rates(self)]

    def _get_closed_form_lr(self) -> list[Any]:
        share = _height(self, self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to `eta_min`, again and again, each time over more epochs.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        T_0 (int): The number of epochs to the first restart.
        T_mult (int): How many times as many epochs lie between two restarts as between the two before.
        eta_min (float): The lowest rate.
        last_epoch (int): The last epoch. -1 starts a new schedule.

    Raises:
        ValueError: If `T_0` isn't a positive integer, `T_mult` not an integer from 1 on, or `eta_min` no number.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_nn.Parameter(tl_core.ones(1))], lr=1.0)
        >>> scheduler = tl_nn.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> for _ in range(3):
        ...     print([round(lr, 4) for lr in scheduler.get_last_lr()])
        ...     optimizer.step()
        ...     scheduler.step()
        ...
        [1.0]
        [0.5]
        [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates at the present point between two restarts."""
        warn_outside_step(self)
        share = (1 + cos(pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to `epoch`, which may be a fraction.

        Raises:
            ValueError: If `epoch` is negative.
        """
        if epoch is not None and epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            _advance(self)
        else:
            _go_to(self, epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        set_rates(self, rates)


def _height(scheduler: CosineAnnealingLR, epoch: int) -> float:
    return 1 + cos(pi * epoch / scheduler.T_max)


def _leave_lowest(scheduler: CosineAnnealingLR) -> list[Any]:
    """The rates one epoch after the lowest, from which a factor can't lead up again."""
    rise = (1 - cos(pi / scheduler.T_max)) / 2
    rates = zip(present_rates(scheduler), scheduler.base_lrs, strict=True)
    return [rate + (base - scheduler.eta_min) * rise for rate, base in rates]


def _advance(scheduler: CosineAnnealingWarmRestarts) -> None:
    scheduler.last_epoch += 1
    scheduler.T_cur += 1
    if scheduler.T_cur >= scheduler.T_i:
        scheduler.T_cur -= scheduler.T_i
        scheduler.T_i *= scheduler.T_mult


def _go_to(scheduler: CosineAnnealingWarmRestarts, epoch: float) -> None:
    scheduler.last_epoch = floor(epoch)
    first, growth = scheduler.T_0, scheduler.T_mult
    if epoch < first:
        scheduler.T_cur, scheduler.T_i = epoch, first
    elif growth == 1:
        scheduler.T_cur, scheduler.T_i = epoch % first, first
    else:
        restarts = int(log(epoch / first * (growth - 1) + 1, growth))
        passed = first * (growth**restarts - 1) / (growth - 1)
        scheduler.T_cur, scheduler.T_i = epoch - passed, first * growth**restarts
