"""The base class of all learning rate schedulers."""

from __future__ import annotations

import warnings
from typing import Any

from tl_core import Tensor

from ..optimizer import Optimizer

__all__ = ["LRScheduler"]


def warn_of_epoch() -> None:
    """Warn the caller of `step` that the argument `epoch` is deprecated."""
    warnings.warn(
        "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please "
        "use `scheduler.step()` to step the scheduler.",
        stacklevel=3,
    )


class LRScheduler:
    """Changes the learning rates of an optimizer from one epoch to the next.

    A subclass defines `get_lr`. Schedulers of one optimizer can be chained: each changes the rates
    the others have left.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        last_epoch (int): The last epoch. -1 starts a new schedule.

    Attributes:
        base_lrs (list): The learning rates of the groups at the beginning.
        last_epoch (int): The number of steps so far.

    Raises:
        TypeError: If `optimizer` isn't one.
        KeyError: If a group has no "initial_lr" to go on from.

    Example:
        >>> import tl_core, tl_nn
        >>> class Halving(tl_nn.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [lr * 0.5**self.last_epoch for lr in self.base_lrs]
        >>> optimizer = tl_nn.optim.SGD([tl_core.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = Halving(optimizer)
        >>> optimizer.step(), scheduler.step()
        (None, None)
        >>> scheduler.get_last_lr()
        [0.5]
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _step_count: int
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copy_option(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] "
                    f"when resuming scheduler with last_epoch >= 0, got {last_epoch}. Load the state of the optimizer "
                    "before you construct the scheduler, or start a new run with last_epoch=-1."
                )
        self.base_lrs = [copy_option(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[Any]:
        """The learning rates of the groups at `last_epoch`. `step` calls it."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define get_lr()")

    def get_last_lr(self) -> list[Any]:
        """The learning rates this scheduler set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Start the next epoch. Call it after the optimizer's step.

        Args:
            epoch (int, optional): The epoch to go to, an older use that isn't recommended.
        """
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. "
                "Call them in the opposite order: otherwise the first value of the schedule is skipped. "
                "See https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warn_of_epoch()
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = getattr(self, "_get_closed_form_lr", self.get_lr)()
        finally:
            self._get_lr_called_within_step = False
        set_rates(self, rates)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, to be given to `load_state_dict`."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of `state_dict`."""
        self.__dict__.update(state_dict)


def set_rates(scheduler: LRScheduler, rates: list[Any]) -> None:
    """Give the groups of the optimizer these learning rates."""
    groups = scheduler.optimizer.param_groups
    for group, rate in zip(groups, rates, strict=False):
        set_option(group, "lr", rate)
    scheduler._last_lr = [copy_option(group["lr"]) for group in groups]


def present_rates(scheduler: LRScheduler, factor: float = 1.0) -> list[Any]:
    """The present learning rates of the groups, times a factor."""
    return [group["lr"] * factor for group in scheduler.optimizer.param_groups]


def warn_outside_step(scheduler: LRScheduler) -> None:
    """Warn a caller of `get_lr` that it computes the rates of the next epoch."""
    if not scheduler._get_lr_called_within_step:
        warnings.warn(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
            stacklevel=3,
        )


def set_option(group: dict[str, Any], option: str, value: Any) -> None:
    """Set an option of a group. A tensor is changed in place, because programs may reference it."""
    if isinstance(group[option], Tensor):
        group[option].fill_(float(value))
    else:
        group[option] = copy_option(value)


def copy_option(value: Any) -> Any:
    """A hyperparameter that later changes of a tensor of the program do not reach."""
    return value.clone() if isinstance(value, Tensor) else value


# The name before 2.0, which programs still derive from and check against.
class _LRScheduler(LRScheduler):
    pass
