# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.batchnorm import *
from tl_nn.modules.batchnorm import _BatchNorm as _BatchNorm
from tl_nn.modules.batchnorm import _LazyNormBase as _LazyNormBase
from tl_nn.modules.batchnorm import _NormBase as _NormBase
