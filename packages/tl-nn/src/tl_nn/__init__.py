"""Neural network modules, their functional forms, initialisation and optimizers."""

from . import functional, init, modules, optim, parameter, utils
from .modules import Module
from .modules.activation import *
from .modules.container import *
from .modules.dropout import *
from .modules.flatten import *
from .modules.linear import *
from .modules.loss import *
from .parameter import Buffer, Parameter
from .version import __version__ as __version__

__all__ = [
    "Buffer",
    "Parameter",
    "functional",
    "init",
    "modules",
    "optim",
    "parameter",
    "utils",
    *modules.__all__,
]
