# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.named_optimizer import _NamedOptimizer as _NamedOptimizer
