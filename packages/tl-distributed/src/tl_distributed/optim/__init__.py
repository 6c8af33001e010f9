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
    named_optimizer,
    optimizer,
    utils,
)
from .apply_optimizer_in_backward import apply_optimizer_in_backward
from .named_optimizer import _NamedOptimizer
from .optimizer import DistributedOptimizer
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

_apply_optimizer_in_backward = apply_optimizer_in_backward  # the name in PyTorch

__all__ = [
    "DistributedOptimizer",
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
    "_NamedOptimizer",
    "_apply_optimizer_in_backward",
    "apply_optimizer_in_backward",
    "functional_adadelta",
    "functional_adagrad",
    "functional_adam",
    "functional_adamax",
    "functional_adamw",
    "functional_rmsprop",
    "functional_rprop",
    "functional_sgd",
    "named_optimizer",
    "optimizer",
    "utils",
]
