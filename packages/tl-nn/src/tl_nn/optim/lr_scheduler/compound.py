"""Schedulers made of others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, copy_option, set_option
from .plateau import ReduceLROnPlateau

__all__ = ["ChainedScheduler", "SequentialLR"]


class SequentialLR(LRScheduler):
    """Schedulers that follow one another, each beginning anew at its milestone.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        schedulers (list of LRScheduler): In their order.
        milestones (list of int): The epochs at which the second, third, … scheduler begins.
        last_epoch (int): The last epoch. -1 starts a new schedule.

    Raises:
        ValueError: If there is no scheduler, one belongs to another optimizer or needs a metric, or the
            milestones aren't one fewer than the schedulers.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.optim import lr_scheduler
        >>> optimizer = tl_nn.optim.SGD([tl_core.ones(1, requires_grad=True)], lr=1.0)
        >>> warmup = lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=9)
        >>> decay = lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[2])
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     print(scheduler.get_last_lr())
        [0.5]
        [1.0]
        [0.5]
    """

    _schedulers: list[LRScheduler]

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        _check_schedulers("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number "
                f"of milestone points, but got number of schedulers {len(schedulers)} and the number of "
                f"milestones to be equal to {len(milestones)}"
            )
        self._schedulers = list(schedulers)
        self._milestones = milestones
        self.optimizer = optimizer
        self.base_lrs = [copy_option(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self.last_epoch += 1
        for scheduler in self._schedulers[1:]:
            self.recursive_undo(scheduler)
        _reset_rates(self.optimizer)
        _begin(self._schedulers[0])
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Start the next epoch. Call it after the optimizer's step."""
        self.last_epoch += 1
        position = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[position]
        if position > 0 and self._milestones[position - 1] == self.last_epoch:
            _begin_at_milestone(scheduler)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back one step of the schedulers, or of those inside of `sched`."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:
                self.recursive_undo(inner)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, to be given to `load_state_dict`."""
        return _state_with_schedulers(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of `state_dict`."""
        _load_with_schedulers(self, state_dict)


class ChainedScheduler(LRScheduler):
    """Schedulers that all step at once, each changing the rates the one before has left.

    Args:
        schedulers (sequence of LRScheduler): In their order.
        optimizer (Optimizer, optional): The optimizer of the schedulers, by default the first scheduler's.

    Raises:
        ValueError: If there is no scheduler, or one belongs to another optimizer or needs a metric.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_nn.Parameter(tl_core.ones(1))], lr=1.0)
        >>> halved = tl_nn.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> warmed = tl_nn.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
        >>> scheduler = tl_nn.optim.lr_scheduler.ChainedScheduler([halved, warmed])
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     print(scheduler.get_last_lr())
        ...
        [0.05]
        [0.25]
        [0.125]
    """

    _schedulers: list[LRScheduler]

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        _check_schedulers("ChainedScheduler", schedulers, optimizer)
        self._schedulers = list(schedulers)
        self.optimizer = optimizer
        self._last_lr = self._schedulers[-1].get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Start the next epoch. Call it after the optimizer's step."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._schedulers[-1].get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, to be given to `load_state_dict`."""
        return _state_with_schedulers(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of `state_dict`."""
        _load_with_schedulers(self, state_dict)


def _check_schedulers(kind: str, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
    if len(schedulers) < 1:
        raise ValueError(f"{kind} expects at least one scheduler, but got no scheduler.")
    for position, scheduler in enumerate(schedulers):
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{kind} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                f"specified when calling `step`, but got one at index {position} in the given schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{kind} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {position} with another one"
            )


def _reset_rates(optimizer: Optimizer) -> None:
    for group in optimizer.param_groups:
        set_option(group, "lr", group["initial_lr"])


def _begin(scheduler: LRScheduler) -> None:
    """Begin a schedule at epoch 0, from the present learning rates."""
    scheduler.last_epoch = -1
    if not isinstance(scheduler, ChainedScheduler):
        scheduler._initial_step()
        return
    for part in scheduler._schedulers:
        _begin(part)
    scheduler._last_lr = scheduler._schedulers[-1].get_last_lr()


def _begin_at_milestone(scheduler: LRScheduler) -> None:
    """A formula of the epoch begins with its first rate, and a factor goes on from the present one."""
    if isinstance(scheduler, (ChainedScheduler, SequentialLR)):
        _reset_rates(scheduler.optimizer)
        _begin(scheduler)
    else:
        scheduler._update_lr(0)


def _state_with_schedulers(scheduler: SequentialLR | ChainedScheduler) -> dict[str, Any]:
    state = {name: value for name, value in scheduler.__dict__.items() if name != "optimizer"}
    state["_schedulers"] = [part.state_dict() for part in scheduler._schedulers]
    return state


def _load_with_schedulers(scheduler: SequentialLR | ChainedScheduler, state: dict[str, Any]) -> None:
    own = {name: value for name, value in state.items() if name != "_schedulers"}
    scheduler.__dict__.update(own)
    for part, saved_state in zip(scheduler._schedulers, state["_schedulers"], strict=True):
        part.load_state_dict(saved_state)
