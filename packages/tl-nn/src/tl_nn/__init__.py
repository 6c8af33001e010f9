"""Neural network modules, their functional forms, initialisation and optimizers."""

from . import functional, init, modules, optim, parameter, utils
from .modules import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .version import __version__ as __version__

__all__ = [
    "Buffer",
    "DataParallel",
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
