# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.parallel.replicate import *
from tl_distributed.parallel.replicate import _ReplicateState as _ReplicateState
