"""Schedules that multiply the learning rate by a factor."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from tl_core.base.public_names import name_constructor

from ..optimizer import Optimizer
from .base import LRScheduler, present_rates, warn_outside_step

__all__ = [
    "ConstantLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "StepLR",
]

_Factor = Callable[[int], float]


class _ByFunction(LRScheduler):
    """A schedule given by functions of the epoch, one for all groups or one for each."""

    lr_lambdas: list[_Factor]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        name_constructor(cls)

    def __init__(
        self, optimizer: Optimizer, lr_lambda: _Factor | list[_Factor], last_epoch: int = -1
    ) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer. Functions become the attributes of callable objects, or None."""
        state = {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}
        state["lr_lambdas"] = [
            None if isinstance(function, FunctionType) else function.__dict__.copy()
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of `state_dict`. Functions stay, callable objects are updated."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if state is not None:
                function.__dict__.update(state)


class LambdaLR(_ByFunction):
    """The first learning rate times a function of the epoch.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        lr_lambda (callable or list of them): Called as `lr_lambda(epoch)`. A list has one for each group.
        last_epoch (int): The last epoch. -1 starts a new schedule.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_core.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = tl_nn.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
        >>> optimizer.step(), scheduler.step()
        (None, None)
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def get_lr(self) -> list[Any]:
        """The learning rates at `last_epoch`."""
        warn_outside_step(self)
        epoch = self.last_epoch
        return [rate * factor(epoch) for rate, factor in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_ByFunction):
    """The learning rate of the epoch before times a function of the epoch. See `LambdaLR` for the arguments.

    Args:
        optimizer: the optimizer whose learning rates change.
        lr_lambda: the factor as a function of the epoch, or a list with one for each group.
        last_epoch: the last epoch. -1 starts a new schedule.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_nn.Parameter(tl_core.ones(1))], lr=1.0)
        >>> scheduler = tl_nn.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 1 / (epoch + 1))
        >>> for _ in range(3):
        ...     print(scheduler.get_last_lr())
        ...     optimizer.step()
        ...     scheduler.step()
        ...
        [1.0]
        [0.5]
        [0.16666666666666666]
    """

    def get_lr(self) -> list[Any]:
        """The learning rates at `last_epoch`."""
        warn_outside_step(self)
        if self._is_initial:
            return present_rates(self)
        epoch = self.last_epoch
        return [
            rate * factor(epoch) for rate, factor in zip(present_rates(self), self.lr_lambdas, strict=True)
        ]


class StepLR(LRScheduler):
    """The learning rate times `gamma` every `step_size` epochs.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        step_size (int): The number of epochs between changes.
        gamma (float): The factor.
        last_epoch (int): The last epoch. -1 starts a new schedule.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_core.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = tl_nn.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> for _ in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates at `last_epoch`."""
        warn_outside_step(self)
        due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return present_rates(self, self.gamma if due else 1.0)

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * self.gamma ** (self.last_epoch // self.step_size) for rate in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The learning rate times `gamma` at each of the given epochs.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        milestones (iterable of int): The epochs.
        gamma (float): The factor.
        last_epoch (int): The last epoch. -1 starts a new schedule.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_nn.Parameter(tl_core.ones(1))], lr=1.0)
        >>> scheduler = tl_nn.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
        >>> for _ in range(4):
        ...     print(scheduler.get_last_lr())
        ...     optimizer.step()
        ...     scheduler.step()
        ...
        [1.0]
        [0.5]
        [0.5]
        [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates at `last_epoch`."""
        warn_outside_step(self)
        return present_rates(self, self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [rate * self.gamma**passed for rate in self.base_lrs]


class ConstantLR(LRScheduler):
    """The learning rate times `factor` for the first `total_iters` epochs.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        factor (float): From 0 to 1.
        total_iters (int): The number of epochs.
        last_epoch (int): The last epoch. -1 starts a new schedule.

    Raises:
        ValueError: If `factor` isn't from 0 to 1.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_nn.Parameter(tl_core.ones(1))], lr=1.0)
        >>> scheduler = tl_nn.optim.lr_scheduler.ConstantLR(optimizer, factor=0.25, total_iters=2)
        >>> for _ in range(3):
        ...     print(scheduler.get_last_lr())
        ...     optimizer.step()
        ...     scheduler.step()
        ...
        [0.25]
        [0.25]
        [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError(f"Constant multiplicative factor expected to be between 0 and 1, got {factor}.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates at `last_epoch`."""
        warn_outside_step(self)
        if self.last_epoch == 0:
            return present_rates(self, self.factor)
        return present_rates(self, 1.0 / self.factor if self.last_epoch == self.total_iters else 1.0)

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.factor if self.last_epoch < self.total_iters else 1.0
        return [rate * factor for rate in self.base_lrs]


class LinearLR(LRScheduler):
    """The learning rate times a factor that changes evenly over `total_iters` epochs.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        start_factor (float): The factor at first: above 0, up to 1.
        end_factor (float): The factor at the end: from 0 to 1.
        total_iters (int): The number of epochs.
        last_epoch (int): The last epoch. -1 starts a new schedule.

    Raises:
        ValueError: If a factor is out of range.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_nn.Parameter(tl_core.ones(1))], lr=1.0)
        >>> scheduler = tl_nn.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> for _ in range(3):
        ...     print(scheduler.get_last_lr())
        ...     optimizer.step()
        ...     scheduler.step()
        ...
        [0.5]
        [0.75]
        [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1, "
                f"got {start_factor}."
            )
        if not 0 <= end_factor <= 1.0:
            raise ValueError(
                f"Ending multiplicative factor expected to be between 0 and 1, got {end_factor}."
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates at `last_epoch`."""
        warn_outside_step(self)
        if self.last_epoch == 0:
            return present_rates(self, self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return present_rates(self)
        return present_rates(
            self, _linear_factor(self, self.last_epoch) / _linear_factor(self, self.last_epoch - 1)
        )

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * _linear_factor(self, self.last_epoch) for rate in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The learning rate times `gamma` every epoch.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        gamma (float): The factor.
        last_epoch (int): The last epoch. -1 starts a new schedule.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_nn.Parameter(tl_core.ones(1))], lr=1.0)
        >>> scheduler = tl_nn.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> for _ in range(3):
        ...     print(scheduler.get_last_lr())
        ...     optimizer.step()
        ...     scheduler.step()
        ...
        [1.0]
        [0.5]
        [0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates at `last_epoch`."""
        warn_outside_step(self)
        return present_rates(self) if self._is_initial else present_rates(self, self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * self.gamma**self.last_epoch for rate in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The learning rate times `(1 - epoch / total_iters) ** power`, 0 from `total_iters` on.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        total_iters (int): The number of epochs.
        power (float): The exponent.
        last_epoch (int): The last epoch. -1 starts a new schedule.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_nn.Parameter(tl_core.ones(1))], lr=1.0)
        >>> scheduler = tl_nn.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2.0)
        >>> for _ in range(3):
        ...     print(scheduler.get_last_lr())
        ...     optimizer.step()
        ...     scheduler.step()
        ...
        [1.0]
        [0.5625]
        [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates at `last_epoch`."""
        warn_outside_step(self)
        if self._is_initial or self.last_epoch > self.total_iters:
            return present_rates(self)
        return present_rates(
            self, (_part_left(self, self.last_epoch) / _part_left(self, self.last_epoch - 1)) ** self.power
        )

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * _part_left(self, self.last_epoch) ** self.power for rate in self.base_lrs]


def _linear_factor(scheduler: LinearLR, epoch: int) -> float:
    share = min(epoch, scheduler.total_iters) / scheduler.total_iters
    return scheduler.start_factor + (scheduler.end_factor - scheduler.start_factor) * share


def _part_left(scheduler: PolynomialLR, epoch: int) -> float:
    return 1.0 - min(epoch, scheduler.total_iters) / scheduler.total_iters
