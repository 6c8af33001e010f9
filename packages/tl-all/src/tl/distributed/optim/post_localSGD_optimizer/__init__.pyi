# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.post_localSGD_optimizer import *
