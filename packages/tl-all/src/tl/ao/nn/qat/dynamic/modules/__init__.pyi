# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.qat.dynamic.modules import *

from . import linear as linear
