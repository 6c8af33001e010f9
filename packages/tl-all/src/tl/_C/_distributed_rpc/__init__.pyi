# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.rpc.native_names import *
