# Written by `python -m tools.facade_stubs --write`.
from tl_nn.make_functional import *
