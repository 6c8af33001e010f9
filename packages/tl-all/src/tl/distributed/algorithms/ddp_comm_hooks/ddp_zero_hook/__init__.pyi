# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.algorithms.ddp_comm_hooks.ddp_zero_hook import *
