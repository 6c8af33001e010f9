# Written by `python -m tools.facade_stubs --write`.
from tl_nn.parallel.scatter_gather import *
