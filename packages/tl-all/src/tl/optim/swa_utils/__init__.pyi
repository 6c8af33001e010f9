# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.batchnorm import _BatchNorm as _BatchNorm
from tl_nn.optim.swa_utils import *
