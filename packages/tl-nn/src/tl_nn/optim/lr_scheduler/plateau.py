"""A schedule that waits for a metric to stop improving."""

from __future__ import annotations

from math import inf
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, set_option, warn_of_epoch

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """The learning rate times `factor` when a metric hasn't improved for more than `patience` epochs.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        mode (str): "min" where a smaller metric is better, "max" where a larger one is.
        factor (float): The factor, less than 1.
        patience (int): How many epochs without improvement are allowed.
        threshold (float): How much better counts as improvement.
        threshold_mode (str): "rel" where the threshold is a part of the best metric, "abs" where it is a
            difference.
        cooldown (int): For how many epochs after a change none is counted.
        min_lr (float or list of float): The smallest learning rate, for all groups or for each.
        eps (float): Smaller changes aren't made.

    Raises:
        TypeError: If `optimizer` isn't one.
        ValueError: If an option is out of range.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_core.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = tl_nn.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        >>> scheduler.step(3.0)
        >>> scheduler.step(3.0)
        >>> scheduler.get_last_lr()
        [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"Factor should be < 1.0, got {factor}.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer = optimizer
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = _for_each_group(min_lr, len(optimizer.param_groups))
        self.eps = eps
        self.last_epoch = 0
        self.cooldown_counter = 0
        self.num_bad_epochs = 0
        self.mode_worse = inf if mode == "min" else -inf
        self.best = self.mode_worse
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    @property
    def in_cooldown(self) -> bool:
        """Whether the scheduler ignores epochs after a change."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of a metric, a number or a tensor of one element, at the end of an epoch.

        Args:
            metrics (float or Tensor): The metric.
            epoch (int, optional): The epoch's number, an older use that isn't recommended.
        """
        if epoch is not None:
            warn_of_epoch()
        metric = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if _is_better(self, metric):
            self.best = metric
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            _reduce(self)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]


def _for_each_group(min_lr: Any, count: int) -> list[float]:
    if not isinstance(min_lr, (list, tuple)):
        return [min_lr] * count
    if len(min_lr) != count:
        raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
    return list(min_lr)


def _is_better(scheduler: ReduceLROnPlateau, metric: float) -> bool:
    sign = 1 if scheduler.mode == "max" else -1
    if scheduler.threshold_mode == "rel":
        bar = scheduler.best * (1 + sign * scheduler.threshold)
    else:
        bar = scheduler.best + sign * scheduler.threshold
    return metric > bar if sign > 0 else metric < bar


def _reduce(scheduler: ReduceLROnPlateau) -> None:
    groups = scheduler.optimizer.param_groups
    if len(groups) != len(scheduler.min_lrs):
        if scheduler.default_min_lr is None:
            raise RuntimeError(
                f"The number of param groups in the optimizer ({len(groups)}) differs from when the scheduler "
                f"was made ({len(scheduler.min_lrs)}), and min_lr was given as a list"
            )
        scheduler.min_lrs = [scheduler.default_min_lr] * len(groups)
    for group, smallest in zip(groups, scheduler.min_lrs, strict=True):
        rate = max(float(group["lr"]) * scheduler.factor, smallest)
        if float(group["lr"]) - rate > scheduler.eps:
            set_option(group, "lr", rate)
