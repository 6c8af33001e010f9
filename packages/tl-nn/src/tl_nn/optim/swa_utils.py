"""Averages of a model's parameters over the steps of its training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from itertools import chain
from math import cos, pi
from typing import Any

import tl_core
from tl_core import Tensor, no_grad

from ..modules.batchnorm import _BatchNorm
from ..modules.module import Module
from .lr_scheduler.base import LRScheduler, copy_option, warn_outside_step
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """A function that updates lists of averages in place: exponential moving averages.

    Args:
        decay (float): The weight of the past, from 0 to 1.

    Raises:
        ValueError: If `decay` is out of range.

    Example:
        >>> import tl_core, tl_nn
        >>> averages = [tl_core.zeros(2)]
        >>> tl_nn.optim.swa_utils.get_ema_multi_avg_fn(0.9)(averages, [tl_core.ones(2)], 1)
        >>> averages
        [tensor([0.1000, 0.1000])]
    """
    _check_decay(decay)

    @no_grad()
    def update(averages: list[Tensor], current: list[Tensor], _: Any) -> None:
        if averages[0].is_floating_point() or averages[0].is_complex():
            tl_core._foreach_lerp_(averages, current, 1 - decay)
        else:
            for average, value in zip(averages, current, strict=True):
                average.copy_(average * decay + value * (1 - decay))

    return update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """A function that updates lists of averages in place: equal weights.

    Example:
        >>> import tl_core
        >>> averages = [tl_core.tensor(1.0), tl_core.tensor(0.0)]
        >>> get_swa_multi_avg_fn()(averages, [tl_core.tensor(4.0), tl_core.tensor(3.0)], 2)
        >>> averages
        [tensor(2.), tensor(1.)]
    """

    @no_grad()
    def update(averages: list[Tensor], current: list[Tensor], num_averaged: Any) -> None:
        weight = 1 / (int(num_averaged) + 1)
        if averages[0].is_floating_point() or averages[0].is_complex():
            tl_core._foreach_lerp_(averages, current, weight)
        else:
            for average, value in zip(averages, current, strict=True):
                average.copy_(average + (value - average) * weight)

    return update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """A function that gives the new average of one parameter: an exponential moving average.

    Example:
        >>> import tl_core
        >>> average = get_ema_avg_fn(decay=0.9)
        >>> average(tl_core.tensor(1.0), tl_core.tensor(2.0), 1)
        tensor(1.1000)
    """
    _check_decay(decay)

    @no_grad()
    def average(averaged: Tensor, current: Tensor, _: Any) -> Tensor:
        return decay * averaged + (1 - decay) * current

    return average


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """A function that gives the new average of one parameter: equal weights.

    Example:
        >>> import tl_core
        >>> average = get_swa_avg_fn()
        >>> average(tl_core.tensor(1.0), tl_core.tensor(4.0), 2)
        tensor(2.)
    """

    @no_grad()
    def average(averaged: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        return averaged + (current - averaged) / (num_averaged + 1)

    return average


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


class AveragedModel(Module):
    """A copy of a model whose parameters are averages: SWA, of Izmailov et al., 2018, or EMA, of Polyak.

    Args:
        model (Module): The model to average.
        device (optional): Where the averages are kept.
        avg_fn (callable, optional): `avg_fn(average, parameter, number of averaged)` gives a parameter's new
            average. By default, all have equal weights.
        multi_avg_fn (callable, optional): `avg_fn` for lists of parameters, in place. Only one of the two is allowed.
        use_buffers (bool): Whether buffers are averaged too, instead of copy_option from the model.

    Attributes:
        module (Module): The copy.
        n_averaged (Tensor): The number of models in the average.

    Raises:
        AssertionError: If both functions are given.

    Example:
        >>> import tl_core, tl_nn
        >>> model = tl_nn.Linear(2, 1)
        >>> averaged = tl_nn.optim.swa_utils.AveragedModel(model)
        >>> averaged.update_parameters(model)
        >>> averaged.n_averaged
        tensor(1)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tl_core.tensor(0, dtype=tl_core.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The averaged model's result."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Let the parameters of the model enter the averages."""
        averages = [value.detach() for value in _values(self.module, self.use_buffers)]
        current = [value.detach() for value in _values(model, self.use_buffers)]
        current = [value.to(average.device) for average, value in zip(averages, current, strict=True)]
        if int(self.n_averaged) == 0:
            _copy(averages, current)
        elif self.avg_fn is None:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            for indices in _by_kind(averages):
                update([averages[i] for i in indices], [current[i] for i in indices], self.n_averaged)
        else:
            count = self.n_averaged
            _copy(averages, [self.avg_fn(a, c, count) for a, c in zip(averages, current, strict=True)])
        if not self.use_buffers:
            _copy([*self.module.buffers()], [*model.buffers()])
        self.n_averaged.add_(1)


def _values(model: Module, with_buffers: bool) -> Iterable[Tensor]:
    return chain(model.parameters(), model.buffers()) if with_buffers else model.parameters()


def _by_kind(tensors: list[Tensor]) -> Iterable[list[int]]:
    """The indices of tensors of each type and device."""
    indices: dict[Any, list[int]] = {}
    for index, tensor in enumerate(tensors):
        indices.setdefault((tensor.dtype, str(tensor.device)), []).append(index)
    return indices.values()


@no_grad()
def _copy(targets: list[Tensor], sources: list[Tensor]) -> None:
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of batch normalization anew, in one pass over data.

    Args:
        loader (iterable): Of tensors, or of lists and tuples whose first element is a tensor: what the model is
            called with.
        model (Module): The model. Its parameters stay unchanged.
        device (optional): Where the data are moved first.

    Example:
        >>> import tl_core, tl_nn
        >>> model = tl_nn.BatchNorm1d(1)
        >>> update_bn([tl_core.tensor([[1.0], [3.0]]), tl_core.tensor([[5.0], [7.0]])], model)
        >>> model.running_mean
        tensor([4.])
    """
    with _gathering(model) as layers:
        for batch in loader if layers else ():
            data = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(data if device is None else data.to(device))


@contextmanager
def _gathering(model: Module) -> Iterator[list[Any]]:
    """Let the normalization layers gather plain means, and leave everything else as it was."""
    layers: list[Any] = [layer for layer in model.modules() if isinstance(layer, _BatchNorm)]
    momenta, training = [layer.momentum for layer in layers], model.training
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None
    model.train()
    try:
        yield layers
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """Moves the learning rate to a fixed value, and keeps it there.

    Args:
        optimizer (Optimizer): Whose learning rates to change.
        swa_lr (float or list of float): The value, for all groups or for each.
        anneal_epochs (int): The number of epochs it takes.
        anneal_strategy (str): "cos" or "linear".
        last_epoch (int): The last epoch. -1 starts a new schedule.

    Raises:
        ValueError: If there are another number of values than groups, the strategy has another name, or
            `anneal_epochs` is negative.

    Example:
        >>> import tl_core, tl_nn
        >>> optimizer = tl_nn.optim.SGD([tl_core.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = tl_nn.optim.swa_utils.SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
        >>> for _ in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     print(scheduler.get_last_lr())
        [0.75]
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must by one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for group, rate in zip(optimizer.param_groups, _rates(swa_lr, optimizer), strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of the groups at the present step. `step` calls it."""
        warn_outside_step(self)
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (_part(self, number) for number in (step - 1, step))
        rates = []
        for group in self.optimizer.param_groups:
            first = (
                group["swa_lr"] if before == 1 else (group["lr"] - before * group["swa_lr"]) / (1 - before)
            )
            rates.append(group["swa_lr"] * now + first * (1 - now))
        return rates


def _rates(swa_lr: Any, optimizer: Optimizer) -> list[Any]:
    count = len(optimizer.param_groups)
    if not isinstance(swa_lr, (list, tuple)):
        return [copy_option(swa_lr) for _ in range(count)]
    if len(swa_lr) != count:
        raise ValueError(
            f"swa_lr must have the same length as optimizer.param_groups: swa_lr has {len(swa_lr)}, "
            f"optimizer.param_groups has {count}"
        )
    return [copy_option(rate) for rate in swa_lr]


def _part(scheduler: SWALR, step: int) -> float:
    """The share of the way to the fixed value after a number of steps."""
    share = max(0.0, min(1.0, step / max(1, scheduler.anneal_epochs)))
    return share if scheduler._anneal_strategy == "linear" else (1 - cos(pi * share)) / 2
