"""Neural network modules, their functional forms, initialisation and optimizers."""

from . import functional, init, modules, optim, parameter, utils
from .modules import *
from .parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "optim", "parameter", "utils", *modules.__all__]
__version__ = "0.1.0"
