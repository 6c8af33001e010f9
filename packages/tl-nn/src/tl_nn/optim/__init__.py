"""Optimizers: how parameters are changed by their gradients."""

from . import adam as _adam
from . import adamw as _adamw
from . import lr_scheduler, optimizer
from . import sgd as _sgd
from .adam import Adam
from .adamw import AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
