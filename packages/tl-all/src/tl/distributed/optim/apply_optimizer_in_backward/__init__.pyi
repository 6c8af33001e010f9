# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.apply_optimizer_in_backward import *
