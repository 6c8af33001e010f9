# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.intrinsic.modules.fused import LinearBn1d as __Float_
from tl_quantization.nn.intrinsic.qat.modules.linear_fused import *

_Float = __Float_
