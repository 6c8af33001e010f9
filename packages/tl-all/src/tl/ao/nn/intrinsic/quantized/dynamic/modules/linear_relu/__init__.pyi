# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.intrinsic.quantized.dynamic.modules.linear_relu import *
