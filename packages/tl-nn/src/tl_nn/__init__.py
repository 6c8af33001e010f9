"""Neural network modules, their functional forms, initialisation and optimizers."""

from typing import TYPE_CHECKING, Any

from tl_core import operator_hooks

from . import functional, init, modules, parameter, utils
from .factory import factory_kwargs
from .modules import Module
from .modules.activation import *
from .modules.adaptive import *
from .modules.batchnorm import *
from .modules.channelshuffle import *
from .modules.container import *
from .modules.conv import *
from .modules.distance import *
from .modules.dropout import *
from .modules.flatten import *
from .modules.fold import *
from .modules.instancenorm import *
from .modules.linear import *
from .modules.linear_cross_entropy import *
from .modules.loss import *
from .modules.multihead_attention import *
from .modules.normalization import *
from .modules.padding import *
from .modules.pixelshuffle import *
from .modules.pooling import *
from .modules.rnn import *
from .modules.sparse import *
from .modules.transformer import *
from .modules.upsampling import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .version import __version__ as __version__

if TYPE_CHECKING:
    from . import optim

__all__ = [
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "factory_kwargs",
    "functional",
    "init",
    "modules",
    "optim",
    "parameter",
    "utils",
]
__all__ += modules.__all__


def __getattr__(name: str) -> Any:
    if name == "optim":  # when somebody trains: a sixth of the time that the package takes to load
        from importlib import import_module

        return import_module("tl_nn.optim")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
