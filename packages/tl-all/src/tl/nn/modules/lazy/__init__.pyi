# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.lazy import *
