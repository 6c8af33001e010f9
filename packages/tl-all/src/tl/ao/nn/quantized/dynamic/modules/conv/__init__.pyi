# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.quantized.dynamic.modules.conv import *
from tl_quantization.nn.quantized.dynamic.modules.conv import _Dynamic as _Dynamic
