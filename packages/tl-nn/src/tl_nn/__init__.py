"""Neural network modules, their functional forms, initialisation and optimizers."""

from . import functional, init, modules, optim, parameter, utils
from .modules import *
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .version import __version__ as __version__

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "functional",
    "init",
    "modules",
    "optim",
    "parameter",
    "utils",
    *modules.__all__,
]
