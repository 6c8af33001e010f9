"""Neural network modules, their functional forms, initialisation and optimizers."""

import sys
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tl_core.base import operator_hooks
from tl_core.base.public_names import listed_names
from tl_core.dispatch import overridable

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


overridable.add_modules("torch", "tl_nn.functional.numbered_reductions")
overridable.add_modules("torch.nn.functional", "tl_nn.functional")
overridable.add_modules("torch.nn.init", "tl_nn.init")
operator_hooks.add_python_operators("tl_nn.composite_operators")


def _as_operator(name: str, *args: Any, **kwargs: Any) -> Any:
    return import_module("tl_nn.whole_operators").call(name, args, kwargs)  # only handlers load it


for _name in (
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "glu",
    "huber_loss",
    "mse_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
):
    getattr(functional, _name).__as_operator__ = partial(_as_operator, _name)


def __getattr__(name: str) -> Any:
    if name == "optim":  # when somebody trains: a sixth of the time that the package takes to load
        return import_module("tl_nn.optim")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return listed_names(sys.modules[__name__], ("optim",))
