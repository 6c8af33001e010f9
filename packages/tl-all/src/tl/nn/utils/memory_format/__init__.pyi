# Written by `python -m tools.facade_stubs --write`.
from tl_nn.utils.memory_format import *
