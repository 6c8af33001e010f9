# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.quantizable.modules import *

from . import activation as activation
from . import rnn as rnn
