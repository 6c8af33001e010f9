# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.quantized.dynamic.modules import *

from . import conv as conv
from . import linear as linear
from . import rnn as rnn
