# What type checkers and editors see of tl: the names that the finder serves when they are first touched.

from collections.abc import Callable
from types import ModuleType
from typing import Any

import tl_autograd as _autograd
import tl_backends.accelerator as _accelerator
import tl_backends.backends as _backends
import tl_backends.compiler as _compiler
import tl_backends.cpu as _cpu
import tl_backends.cuda as _cuda
import tl_backends.jit as _jit
import tl_backends.mps as _mps
import tl_backends.mtia as _mtia
import tl_backends.xpu as _xpu
import tl_checkpoint.serialization as _serialization
import tl_nn as _nn
import tl_nn.optim as _optim
from tl import examples as examples
from tl import torch as torch
from tl import version as version
from tl.version import __version__ as __version__
from tl_backends.compiler import compile as compile  # noqa: A004
from tl_checkpoint import load as load
from tl_checkpoint import save as save
from tl_core import *  # noqa: F403

accelerator = _accelerator
autograd = _autograd
backends = _backends
compiler = _compiler
cpu = _cpu
cuda = _cuda
jit = _jit
mps = _mps
mtia = _mtia
nn = _nn
optim = _optim
serialization = _serialization
xpu = _xpu
func: ModuleType
utils: ModuleType
vmap: Callable[..., Any]
