"""Schedules that go up and down, and the momentum with them the other way."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, floor, pi
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, copy_option, set_option, warn_outside_step

__all__ = ["CyclicLR", "OneCycleLR"]


class CyclicLR(LRScheduler):
    """Between two learning rates, up and down in straight lines, again and again: Smith, 2015.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        base_lr, max_lr (float or list of float): The lower and the upper rate, for all groups or for each.
        step_size_up (int): The number of steps upwards.
        step_size_down (int, optional): The number of steps downwards, by default as many as upwards.
        mode (str): "triangular" with the same height in each cycle, "triangular2" with half the height of the
            cycle before, "exp_range" with a height of `gamma ** step`.
        gamma (float): For "exp_range".
        scale_fn (callable, optional): Gives the height, instead of `mode`, from the number of the cycle or of the
            step.
        scale_mode (str): The argument of `scale_fn`: "cycle" or "iterations".
        cycle_momentum (bool): Whether the momentum goes down while the rate goes up.
        base_momentum, max_momentum (float or list of float): The lower and the upper momentum.
        last_epoch (int): The last step. -1 starts a new schedule.

    Raises:
        ValueError: If a list doesn't fit the groups, the mode isn't known, or the optimizer has no momentum.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_core.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = tl_nn.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, 2, cycle_momentum=False)
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     print(scheduler.get_last_lr())
        [0.5]
        [1.0]
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        base_lrs = _each(optimizer, "base_lr", base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_option(group, "lr", rate)
        self.max_lrs = _each(optimizer, "max_lr", max_lr)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        if mode not in _HEIGHTS and scale_fn is None:
            raise ValueError(f"mode is invalid and scale_fn is None: {mode}")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_beta1(optimizer)
            self.base_momentums = _each(optimizer, "base_momentum", base_momentum)
            self.max_momentums = _each(optimizer, "max_momentum", max_momentum)
            if last_epoch == -1:
                _store_momenta(self, self.base_momentums, self.max_momentums)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle: a factor of the difference between the two rates."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return _HEIGHTS[self.mode](x, self.gamma)

    def get_lr(self) -> list[Any]:
        """The learning rates at `last_epoch`. Also sets the momentum."""
        warn_outside_step(self)
        cycle = floor(1 + self.last_epoch / self.total_size)
        part = 1.0 + self.last_epoch / self.total_size - cycle
        rise = part / self.step_ratio if part <= self.step_ratio else (part - 1) / (self.step_ratio - 1)
        height = rise * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            _set_momenta(self, [high - (high - low) * height for low, high in bounds])
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer. `scale_fn` becomes the attributes of a callable object, or None."""
        state = super().state_dict()
        custom = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = getattr(custom, "__dict__", {}).copy() or None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of `state_dict`. A function stays, a callable object is updated."""
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


_HEIGHTS: dict[str, Callable[[float, float], float]] = {
    "triangular": lambda cycle, gamma: 1.0,
    "triangular2": lambda cycle, gamma: 1 / (2.0 ** (cycle - 1)),
    "exp_range": lambda step, gamma: gamma**step,
}


class OneCycleLR(LRScheduler):
    """Up to a large learning rate and down to a very small one, once: Smith and Topin, 2018.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        max_lr (float or list of float): The largest rate, for all groups or for each.
        total_steps (int, optional): The number of steps, by default `epochs` times `steps_per_epoch`.
        epochs, steps_per_epoch (int, optional): Instead of `total_steps`.
        pct_start (float): The part of the steps that go upwards.
        anneal_strategy (str): "cos" or "linear".
        cycle_momentum (bool): Whether the momentum goes down while the rate goes up.
        base_momentum, max_momentum (float or list of float): The lower and the upper momentum.
        div_factor (float): The first rate is `max_lr / div_factor`.
        final_div_factor (float): The last rate is the first one divided by this.
        three_phase (bool): Whether the way down first ends at the first rate, as steep as the way up.
        last_epoch (int): The last step. -1 starts a new schedule.

    Raises:
        ValueError: If an option is out of range, the optimizer has no momentum, or there are more steps than
            told.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_core.ones(1, requires_grad=True)], momentum=0.9)
        >>> scheduler = tl_nn.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
        >>> [round(lr, 6) for lr in scheduler.get_last_lr()]
        [0.04]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in _ANNEALERS:
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        peaks = _each(optimizer, "max_lr", max_lr)
        if last_epoch == -1:
            for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                group["initial_lr"] = peak / div_factor
                group["max_lr"] = peak
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self.use_beta1 = _uses_beta1(optimizer)
            if last_epoch == -1:
                _store_momenta(self, base_momentum, max_momentum)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates at `last_epoch`. Also sets the momentum."""
        warn_outside_step(self)
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. "
                f"The specified number of total steps is {self.total_steps}"
            )
        phase, part = _point(self._schedule_phases, self.last_epoch)
        anneal = _ANNEALERS[self._anneal_func_type]
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            start, end = phase["start_momentum"], phase["end_momentum"]
            _set_momenta(self, [anneal(group[start], group[end], part) for group in groups])
        return [anneal(group[phase["start_lr"]], group[phase["end_lr"]], part) for group in groups]


def _total(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        return _positive("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)


def _positive(option: str, value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {option}, but got {value}")
    return value


def _phases(steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """The end of each phase, and the options of a group between which it interpolates."""
    peak = pct_start * steps - 1
    up = _phase(peak, ("initial_lr", "max_lr"), ("max_momentum", "base_momentum"))
    if not three_phase:
        return [up, _phase(steps - 1, ("max_lr", "min_lr"), ("base_momentum", "max_momentum"))]
    return [
        up,
        _phase(2 * pct_start * steps - 2, ("max_lr", "initial_lr"), ("base_momentum", "max_momentum")),
        _phase(steps - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum")),
    ]


def _phase(end: float, rates: tuple[str, str], momenta: tuple[str, str]) -> dict[str, Any]:
    return {
        "end_step": float(end),
        "start_lr": rates[0],
        "end_lr": rates[1],
        "start_momentum": momenta[0],
        "end_momentum": momenta[1],
    }


def _point(phases: list[dict[str, Any]], step: int) -> tuple[dict[str, Any], float]:
    """The phase of a step, and how far the step is in it, from 0 to 1."""
    start = 0.0
    for phase in phases[:-1]:
        if step <= phase["end_step"]:
            return phase, (step - start) / (phase["end_step"] - start)
        start = phase["end_step"]
    return phases[-1], (step - start) / (phases[-1]["end_step"] - start)


_ANNEALERS: dict[str, Callable[[float, float, float], float]] = {
    "cos": lambda start, end, part: end + (start - end) / 2.0 * (cos(pi * part) + 1),
    "linear": lambda start, end, part: (end - start) * part + start,
}


def _each(optimizer: Optimizer, option: str, value: Any) -> list[float]:
    """An option of each group, given once or as a list."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copy_option(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{option} must have the same length as optimizer.param_groups. "
            f"{option} has {len(value)} values, param_groups has {count}."
        )
    return [copy_option(v) for v in value]


def _uses_beta1(optimizer: Optimizer) -> bool:
    """Whether the momentum of an optimizer is the first of its betas."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def _store_momenta(scheduler: CyclicLR | OneCycleLR, base_momentum: Any, max_momentum: Any) -> None:
    """Keep the two bounds in the groups, where a resumed schedule finds them."""
    optimizer = scheduler.optimizer
    highest = _each(optimizer, "max_momentum", max_momentum)
    lowest = _each(optimizer, "base_momentum", base_momentum)
    for group, low, high in zip(optimizer.param_groups, lowest, highest, strict=True):
        group["max_momentum"], group["base_momentum"] = high, low
    _set_momenta(scheduler, highest)


def _set_momenta(scheduler: CyclicLR | OneCycleLR, momenta: list[float]) -> None:
    for group, momentum in zip(scheduler.optimizer.param_groups, momenta, strict=True):
        if scheduler.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum
