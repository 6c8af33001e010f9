# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.zero_redundancy_optimizer import *
from tl_distributed.optim.zero_redundancy_optimizer import _Steps as _Steps
