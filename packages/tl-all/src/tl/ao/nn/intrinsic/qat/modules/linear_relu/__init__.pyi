# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.intrinsic.modules.fused import LinearReLU as __Float_
from tl_quantization.nn.intrinsic.qat.modules.linear_relu import *

_Float = __Float_
