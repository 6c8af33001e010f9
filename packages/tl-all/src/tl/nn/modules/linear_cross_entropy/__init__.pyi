# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.base_loss import _WeightedLoss as _WeightedLoss
from tl_nn.modules.linear_cross_entropy import *
