# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.intrinsic.quantized.dynamic.modules import *

from . import linear_relu as linear_relu
