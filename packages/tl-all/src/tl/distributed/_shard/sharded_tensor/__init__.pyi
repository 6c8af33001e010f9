# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.base.remote_device import _remote_device as _remote_device
from tl_distributed.compat.shard.sharded_tensor import *

from . import api as api
from . import metadata as metadata
from . import shard as shard
