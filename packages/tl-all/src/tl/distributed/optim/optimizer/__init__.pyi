# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.optimizer import *
from tl_distributed.optim.optimizer import _LocalOptimizer as _LocalOptimizer
