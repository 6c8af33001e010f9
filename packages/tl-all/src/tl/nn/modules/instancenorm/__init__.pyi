# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.batchnorm import _LazyNormBase as _LazyNormBase
from tl_nn.modules.batchnorm import _NormBase as _NormBase
from tl_nn.modules.instancenorm import *
from tl_nn.modules.instancenorm import _InstanceNorm as _InstanceNorm
from tl_nn.modules.instancenorm import _LazyInstanceNorm as _LazyInstanceNorm
