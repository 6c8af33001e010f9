# Written by `python -m tools.facade_stubs --write`.
from tl_checkpoint.distributed.stateful import *
