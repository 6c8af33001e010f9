# Written by `python -m tools.facade_stubs --write`.
from tl_checkpoint.distributed.format_utils import *
