# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.utils.distributed import *
