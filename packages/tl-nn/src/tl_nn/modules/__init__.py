"""The modules, one file a family."""

# Each file lists its public names itself.

from . import (
    activation,
    container,
    conv,
    dropout,
    flatten,
    fold,
    linear,
    loss,
)
from . import lazy as lazy
from . import module as module
from . import utils as utils
from .activation import *
from .container import *
from .conv import *
from .dropout import *
from .flatten import *
from .fold import *
from .linear import *
from .loss import *
from .module import Module

__all__ = [
    "Module",
    *activation.__all__,
    *container.__all__,
    *conv.__all__,
    *dropout.__all__,
    *flatten.__all__,
    *fold.__all__,
    *linear.__all__,
    *loss.__all__,
]
