# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.quantized.modules import *

from . import activation as activation
from . import batchnorm as batchnorm
from . import conv as conv
from . import dropout as dropout
from . import embedding_ops as embedding_ops
from . import functional_modules as functional_modules
from . import linear as linear
from . import normalization as normalization
from . import rnn as rnn
from . import utils as utils
