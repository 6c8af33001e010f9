# Written by `python -m tools.facade_stubs --write`.
from tl_nn.attention import *

from . import bias as bias
from . import experimental as experimental
from . import flex_attention as flex_attention
