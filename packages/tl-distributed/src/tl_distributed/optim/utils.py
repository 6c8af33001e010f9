"""From an optimizer to its form that is handed gradients."""

from __future__ import annotations

from typing import Any

from tl_nn.optim import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, Optimizer, RMSprop, Rprop

from .functional_adadelta import _FunctionalAdadelta
from .functional_adagrad import _FunctionalAdagrad
from .functional_adam import _FunctionalAdam
from .functional_adamax import _FunctionalAdamax
from .functional_adamw import _FunctionalAdamW
from .functional_optimizer import FunctionalOptimizer
from .functional_rmsprop import _FunctionalRMSprop
from .functional_rprop import _FunctionalRprop
from .functional_sgd import _FunctionalSGD

functional_optim_map: dict[type[Optimizer], Any] = {
    Adagrad: _FunctionalAdagrad,
    Adam: _FunctionalAdam,
    AdamW: _FunctionalAdamW,
    SGD: _FunctionalSGD,
    Adadelta: _FunctionalAdadelta,
    RMSprop: _FunctionalRMSprop,
    Rprop: _FunctionalRprop,
    Adamax: _FunctionalAdamax,
}


def register_functional_optim(key: Any, optim: Any) -> None:
    """Makes the form of an optimizer known that is handed gradients.

    Args:
        key: the optimizer.
        optim: its other form.
    """
    functional_optim_map.setdefault(key, optim)


def as_functional_optim(optim_cls: type[Optimizer], *args: Any, **kwargs: Any) -> FunctionalOptimizer:
    """The form of an optimizer that is handed gradients.

    Args:
        optim_cls: the optimizer.
        args: its arguments, parameters first.
        kwargs: its other arguments.
    """
    if optim_cls not in functional_optim_map:
        raise ValueError(f"Optimizer {optim_cls} does not have a functional counterpart!")
    optimizer: FunctionalOptimizer = functional_optim_map[optim_cls](*args, **kwargs)
    return optimizer
