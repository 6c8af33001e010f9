# Written by `python -m tools.facade_stubs --write`.
from tl_checkpoint.distributed.dist_wrapper import _DistWrapper as _DistWrapper
from tl_checkpoint.distributed.utils import *
