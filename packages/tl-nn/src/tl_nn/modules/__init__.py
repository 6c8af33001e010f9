"""The modules, one file a family."""

# Each file lists its public names itself.

from . import (
    activation,
    batchnorm,
    container,
    conv,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear,
    loss,
    normalization,
)
from . import lazy as lazy
from . import module as module
from . import utils as utils
from .activation import *
from .batchnorm import *
from .container import *
from .conv import *
from .dropout import *
from .flatten import *
from .fold import *
from .instancenorm import *
from .linear import *
from .loss import *
from .module import Module
from .normalization import *

__all__ = [
    "Module",
    *activation.__all__,
    *batchnorm.__all__,
    *container.__all__,
    *conv.__all__,
    *dropout.__all__,
    *flatten.__all__,
    *fold.__all__,
    *instancenorm.__all__,
    *linear.__all__,
    *loss.__all__,
    *normalization.__all__,
]
