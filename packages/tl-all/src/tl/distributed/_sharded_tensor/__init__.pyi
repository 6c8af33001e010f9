# Written by `python -m tools.facade_stubs --write`.
from ...distributed._shard.sharded_tensor import *
