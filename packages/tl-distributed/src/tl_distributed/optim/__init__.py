"""Optimizers for several processes; needs the extra `nn`."""

from . import (
    functional_adadelta,
    functional_adagrad,
    functional_adam,
    functional_adamax,
    functional_adamw,
    functional_rmsprop,
    functional_rprop,
    functional_sgd,
    utils,
)
from .apply_optimizer_in_backward import apply_optimizer_in_backward
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = [
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
    "apply_optimizer_in_backward",
    "functional_adadelta",
    "functional_adagrad",
    "functional_adam",
    "functional_adamax",
    "functional_adamw",
    "functional_rmsprop",
    "functional_rprop",
    "functional_sgd",
    "utils",
]
