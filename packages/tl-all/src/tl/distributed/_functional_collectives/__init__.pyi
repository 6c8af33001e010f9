# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.nn.functional_collectives import *
