# Written by `python -m tools.facade_stubs --write`.
from tl_nn.utils.expanded_weights import *
