"""Neural network modules, their functional forms, initialisation and optimizers."""

from .modules import *
from .modules import __all__ as _modules
from .parameter import Buffer, Parameter
