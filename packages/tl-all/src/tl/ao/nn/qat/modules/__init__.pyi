# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.qat.modules import *

from . import conv as conv
from . import embedding_ops as embedding_ops
from . import linear as linear
