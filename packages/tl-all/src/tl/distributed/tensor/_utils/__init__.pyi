# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.tensor.layout import *
from tl_distributed.tensor.placement_types import _StridedShard as _StridedShard
