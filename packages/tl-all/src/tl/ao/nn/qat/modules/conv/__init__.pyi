# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.qat.modules.conv import *
from tl_quantization.nn.qat.modules.conv import _Rounding as _Rounding
