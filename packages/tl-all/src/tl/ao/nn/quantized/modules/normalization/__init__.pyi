# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.quantized.modules.normalization import *
from tl_quantization.nn.quantized.modules.normalization import _InstanceNorm as _InstanceNorm
