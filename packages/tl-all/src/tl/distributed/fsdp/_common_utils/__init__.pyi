# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.compat.wrapper_names import *
