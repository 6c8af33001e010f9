# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.intrinsic.qat.modules.conv_fused import *
from tl_quantization.nn.intrinsic.qat.modules.conv_fused import _ConvBn as _ConvBn
