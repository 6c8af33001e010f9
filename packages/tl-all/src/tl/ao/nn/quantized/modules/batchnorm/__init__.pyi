# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.quantized.modules.batchnorm import *
from tl_quantization.nn.quantized.modules.batchnorm import _Norm as _Norm
