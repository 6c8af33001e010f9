# Written by `python -m tools.facade_stubs --write`.
from tl_nn.parallel.parallel_apply import *
