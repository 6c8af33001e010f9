# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.base_loss import _Loss as _Loss
from tl_nn.modules.base_loss import _WeightedLoss as _WeightedLoss
from tl_nn.modules.distance import PairwiseDistance as PairwiseDistance
from tl_nn.modules.loss import *
from tl_nn.modules.module import Module as Module
