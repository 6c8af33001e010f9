# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.intrinsic.quantized.modules import *

from . import bn_relu as bn_relu
from . import conv_add as conv_add
from . import conv_relu as conv_relu
from . import linear_relu as linear_relu
