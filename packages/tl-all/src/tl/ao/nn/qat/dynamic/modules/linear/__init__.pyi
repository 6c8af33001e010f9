# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.qat.dynamic.modules.linear import *
from tl_quantization.nn.qat.modules.linear import Linear as __Linear_

_Linear = __Linear_
