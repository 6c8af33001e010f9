"""The modules, one file a family."""

# Each file lists its public names itself.

from . import activation, container, dropout, flatten, linear, loss
from . import module as module
from . import utils as utils
from .activation import *
from .container import *
from .dropout import *
from .flatten import *
from .linear import *
from .loss import *
from .module import Module

__all__ = [
    "Module",
    *activation.__all__,
    *container.__all__,
    *dropout.__all__,
    *flatten.__all__,
    *linear.__all__,
    *loss.__all__,
]
