# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.compat.shard import *

from . import sharded_tensor as sharded_tensor
from . import sharding_spec as sharding_spec
