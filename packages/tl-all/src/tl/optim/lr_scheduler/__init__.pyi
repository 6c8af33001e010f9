# Written by `python -m tools.facade_stubs --write`.
from tl_nn.optim.lr_scheduler import *
from tl_nn.optim.lr_scheduler.base import _LRScheduler as _LRScheduler
