# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.intrinsic.quantized.modules.conv_relu import *
