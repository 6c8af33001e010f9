# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.intrinsic.qat.modules import *

from . import conv_fused as conv_fused
from . import linear_fused as linear_fused
from . import linear_relu as linear_relu
